/* Many environments of one model at once, over threads.
 *
 * A batch owns its threads, a workspace per thread, and the warm start (tg_cache) of each of its n environments.
 * States, controls and results are arrays of the caller, [count, ...], row-major, environment by environment.
 * Results do not depend on the number of threads, on their scheduling, or on the other environments: they are
 * bitwise those of tg_step, tg_rollout and their derivatives for one environment.
 *
 * An environment whose input is refused, or whose step fails, has its own status and message (tg_batch_error). Its
 * rows of the outputs and its cache stay unchanged, and the others continue. The call then returns the status of the
 * first such environment, whose number tg_batch_message names. Other refusals (an array that is missing, another
 * thread that is using the batch) change nothing.
 *
 * Memory comes from the model's allocator, which must be safe to call from several threads. It is allocated when the
 * batch is created; later it grows only where caches, records of contacts or the contact capacity grow. One call at
 * a time. A child process may use a batch after fork: it starts its own threads; it is refused if a call was running
 * during the fork. */
#ifndef TANGERE_BATCH_H
#define TANGERE_BATCH_H

#include "tangere/step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_batch tg_batch;

typedef struct tg_batch_def
{
    int n;            /* environments */
    int threads;      /* 0: as many as the machine has processors */
    int contacts;     /* contact points per workspace; 0: chosen from the model */
    int max_contacts; /* the capacity grows up to here where a step finds more; 100000 */
    tg_options options;
    uint32_t cookie;
} tg_batch_def;

TG_API tg_batch_def tg_default_batch(void);

/* The model, and the name of the solver in the options, must outlive the batch. */
TG_API tg_status tg_batch_create(const tg_model *m, const tg_batch_def *def, tg_batch **b, tg_error *error);
TG_API void tg_batch_destroy(tg_batch *b); /* NULL is allowed */

TG_API int tg_batch_count(const tg_batch *b);    /* n; 0 if b is NULL */
TG_API int tg_batch_threads(const tg_batch *b);  /* 0 if b is NULL */
TG_API size_t tg_batch_bytes(const tg_batch *b); /* memory in use, without tapes */

/* The failure of the last call; "" if there was none. */
TG_API const char *tg_batch_message(const tg_batch *b);
/* Status and message of an environment in the last call; NULL if there is no such environment. status TG_OK: it did
 * not fail. */
TG_API const tg_error *tg_batch_error(const tg_batch *b, int environment);

/* ---- parameters ---- */

/* Sets the parameters of all environments; they must outlive the batch. NULL: the model's. */
TG_API tg_status tg_batch_set_params(tg_batch *b, const tg_params *params);

/* Names k parameters by their positions in the vector (tg_param_find, tg_param_match): each environment can have its
 * own values of these (tg_batch_input.params), and derivatives with respect to parameters are with respect to these.
 * k may be 0. */
TG_API tg_status tg_batch_name(tg_batch *b, const int *index, int k);

/* ---- states ---- */

typedef struct tg_batch_state
{
    double *q, *v, *act; /* [n, nq], [n, nv], [n, na] (NULL if na is 0) */
} tg_batch_state;

/* Resets environments (ids: count of them; NULL: all) to a keyframe (-1: the reference configuration at rest):
 * writes their rows and clears their caches. state may be NULL: caches only. */
TG_API tg_status tg_batch_reset(tg_batch *b, const int *ids, int count, int key, tg_batch_state *state);

/* The warm start of an environment: part of its state. The pointer is valid until the next call; set copies. */
TG_API const tg_cache *tg_batch_cache(const tg_batch *b, int environment);
TG_API tg_status tg_batch_set_cache(tg_batch *b, int environment, const tg_cache *cache);

/* ---- steps ---- */

/* The inputs of a step or a rollout. NULL: zero, unless stated otherwise. */
typedef struct tg_batch_input
{
    int count;                 /* environments: n; with cold any number */
    int steps;                 /* of a rollout; not read by a step */
    int hold;                  /* of a rollout: steps for which a row of u, tau and wrench is held; 0 or 1: one */
    const double *q, *v, *act; /* [count, nq], [count, nv], [count, na]: the start; needed */
    const double *u, *tau;     /* [count, nu], [count, nv]; of a rollout [count, rows, nu], [count, rows, nv] with */
                               /* rows = ceil(steps / hold) */
    const double *wrench;      /* [count, nbody, 6] as in tg_control; of a rollout [count, rows, nbody, 6] */
    const double *params;      /* [count, k] values of the named parameters; NULL: those that all share */
    /* start from empty caches, and do not change the caches or the last step of the batch: a pure function of its
     * arguments */
    bool cold;
    /* refuse the whole call, before any step, if the input of one environment is not finite or not a configuration */
    bool strict;

    /* of a rollout, NULL: none. Called in the caller's thread, at most ten times per second: false cancels:
     * unfinished environments fail with TG_ERR_CANCELLED. */
    bool (*progress)(void *user, int64_t done, int64_t total);
    void *user;
} tg_batch_input;

/* Further results of a step; arrays of the caller, environment by environment. NULL: not wanted. In reverse mode,
 * forward mode and matrices, params are the k named parameters. */
typedef struct tg_batch_request
{
    tg_info *info;            /* [count] */
    tg_step_contact *contact; /* [count, room] */
    int room;
    int *contacts; /* [count]: number of contacts, may exceed room */

    const tg_jacobian
        *jacobian; /* [count, rows, columns] in every field; index, nindex, label and those of contacts are not read */
    const tg_cotangent *vjp_out; /* reverse mode: gradients with respect to q+, v+ [count, nv], act+ [count, na] */
    const tg_cotangent *vjp_in;  /* [count, ...] in every field; params [count, k] */
    double *params_sum;         /* [k]: of vjp_in.params over the environments, pairwise in a tree over their numbers */
    const tg_cotangent *jvp_in; /* forward mode, along [count, ...]; params [count, k] */
    const tg_cotangent *jvp_out; /* q, v [count, nv], act [count, na] */
    tg_label *label;             /* [count] */
} tg_batch_request;

/* One step of each environment. out may be the arrays of in; out and request may be NULL. */
TG_API tg_status tg_batch_step(tg_batch *b, const tg_batch_input *in, const tg_batch_state *out,
                               const tg_batch_request *request);

/* Derivatives and contacts of the last step of the batch that was not cold: repeats it, bitwise, from its recorded
 * input. TG_ERR_STALE if parameters have changed since; params: the current ones, as in tg_batch_input. */
TG_API tg_status tg_batch_derivatives(tg_batch *b, const double *params, const tg_batch_request *request);

/* ---- rollouts ---- */

/* The record of the rollouts of count environments for their derivatives, with controls and parameters. */
typedef struct tg_batch_tape tg_batch_tape;

/* As tg_tape_create, for each of count environments. */
TG_API tg_status tg_batch_tape_create(const tg_batch *b, int count, int steps, bool checkpoints, tg_batch_tape **tape,
                                      tg_error *error);
/* NULL is allowed; the batch may have been destroyed, its model not */
TG_API void tg_batch_tape_destroy(tg_batch_tape *tape);
TG_API size_t tg_batch_tape_bytes(const tg_batch_tape *tape);

/* Derivatives of a rollout; arrays of the caller, environment by environment. NULL: not wanted, or zero. */
typedef struct tg_batch_rollout_request
{
    const tg_trajectory
        *vjp_out; /* gradients with respect to q, v [count, steps + 1, nv], act [count, steps + 1, na] */
    const tg_rollout_gradient *vjp_in; /* [count, ...] in every field; params [count, k] */
    double *params_sum;                /* [k], as in tg_batch_request */
    int directions;                    /* of forward mode, for each environment */
    const tg_rollout_gradient *jvp_in; /* [count, directions, ...] in every field; params [count, directions, k] */
    const tg_trajectory *jvp_out; /* q, v [count, directions, steps + 1, nv], act [count, directions, steps + 1, na] */
    tg_label *label;              /* [count] */
} tg_batch_rollout_request;

/* Rollouts of in.steps steps. tape: records them for tg_batch_rollout_derivatives. out: [count, steps + 1, ...] in
 * every field, residual [count, steps]; last: the states at the end, which may be the arrays of in; request:
 * derivatives in the same call, without a tape. Any of them may be NULL. The caches of the environments are updated
 * unless in.cold. */
TG_API tg_status tg_batch_rollout(tg_batch *b, const tg_batch_input *in, tg_batch_tape *tape, const tg_trajectory *out,
                                  const tg_batch_state *last, const tg_batch_rollout_request *request);

/* Derivatives of the rollouts on a tape. TG_ERR_STALE if the shared parameters have changed since; those of
 * tg_batch_input.params are on the tape. */
TG_API tg_status tg_batch_rollout_derivatives(tg_batch *b, tg_batch_tape *tape,
                                              const tg_batch_rollout_request *request);

#ifdef __cplusplus
}
#endif

#endif
