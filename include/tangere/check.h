/* Checks of a model: geoms that overlap, parameters without effect, and derivatives of its steps against finite
 * differences. */
#ifndef TANGERE_CHECK_H
#define TANGERE_CHECK_H

#include "tangere/step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- geoms that overlap ---- */

/* A copy of the model in which geoms that overlap by more than 1e-6 m in the reference configuration do not collide.
 * Coarse geoms of neighbouring links often overlap. Only these pairs of geoms are excluded, not their bodies.
 * Planes, height fields and declared pairs still collide. The report gets one line per pair, with the depth.
 * Structure, names, parameters and keyframes are unchanged. */
TG_API tg_status tg_exclude_overlaps(const tg_model *m, tg_model **out, tg_error *error);

/* ---- parameters without effect ---- */

/* A contact uses the larger friction and the larger restitution of its two geoms (or those of the geom with the
 * higher priority, or of the declared pair; kinetic friction goes with the sliding one). by: a parameter that is
 * used instead of this one in every possible contact of its geom; -1: this one is used in some contact, or its geom
 * collides with nothing. params: NULL: the model's. */
TG_API tg_status tg_param_masked(const tg_model *m, const tg_params *params, int index, int *by, tg_error *error);

/* ---- central differences of a step ---- */

typedef struct tg_differences tg_differences;

/* With its own workspace for at most `contacts` contact points (0: chosen from the model). */
TG_API tg_status tg_differences_create(const tg_model *m, int contacts, tg_differences **d, tg_error *error);
TG_API void tg_differences_destroy(tg_differences *d); /* NULL is allowed */
TG_API const char *tg_differences_message(const tg_differences *d);

/* How many numbers were differenced, and why others were not. May be NULL. */
typedef struct tg_differences_count
{
    int taken;
    int switched; /* a mode, a feature or a gate changes within the displacement (tg_step_signature differs), and no
                     side could be used */
    int tied;     /* one of two equal coefficients of a contact: the derivative is one-sided */
    int outside;  /* a displaced parameter is outside its domain, or not finite */
    int kinked;   /* the slopes of the two sides differ, with the same signature */
    int refined;  /* of those taken: with several displacements, because the first two did not agree */
} tg_differences_count;

/* The gradient of out . (q+, v+, act+) with respect to the inputs of a step, by Richardson's combination of central
 * differences with h and h/2: h = 1e-7 for q, 1e-6 for v and act, 1e-6 of the largest (at least 1) for u, tau and
 * wrenches, 1e-5 dt for dt, 1e-6 of a parameter's size (kept in 1e-3 .. 1; 0.1 for zeros) for parameters. Where the two
 * are more than 1e-7 apart, or the rounding error may be as large, 8, 64, 512, 1/8 and 1/64 times h are tried too, and
 * the combination that agrees best with its neighbour is used. Fills the fields of in that are not NULL; NaN where
 * nothing could be differenced. Slow: four steps per number, up to twenty-four. */
typedef struct tg_differences_request
{
    const tg_params *params;   /* those of the workspace; NULL: the model's */
    const tg_options *options; /* NULL: the default */
    const tg_state *state;
    const tg_control *control; /* NULL: none */
    const int *index;          /* nindex parameters to difference; NULL: all */
    int nindex;
    const tg_cotangent *chosen; /* q, v, act, u, tau, wrench and dt: nonzero entries mark what to difference; NULL, or a
                                   NULL field: all */
    const tg_cotangent *spread; /* NULL, or where to write how far the differences of each number are apart */
    /* Derivatives to be compared, or NULL. Where the signature changes within the displacement, or the slopes of both
     * sides differ, differences are then taken on each side. Labelled exact, the side with the signature of the step is
     * used, or both if they agree with each other; labelled otherwise, a side that agrees with the derivative to
     * TG_CHECK_TOLERANCE. */
    const tg_cotangent *judged; /* all fields that in has */
    tg_label_kind label;        /* of the step */
    const tg_label_kind *own;   /* nparams: of every parameter that is differenced; NULL: that of the step */
} tg_differences_request;

/* Fills the fields of in that are not NULL with the gradient of out . (q+, v+, act+) by differences; count may be
 * NULL. */
TG_API tg_status tg_step_differences(const tg_model *m, tg_differences *d, const tg_differences_request *request,
                                     const tg_cotangent *out, tg_cotangent *in, tg_differences_count *count);

/* ---- derivatives of a model's steps against differences ---- */

/* Derivatives pass when every block agrees with differences to the tolerance, forward mode and matrices with reverse
 * mode to the agreement, all are finite, and less than the share of the states, and of the numbers, had to be
 * skipped. */
#define TG_CHECK_TOLERANCE 1e-6
#define TG_CHECK_AGREEMENT 1e-10
#define TG_CHECK_SHARE 0.05

/* The parameters of a sampled state. */
typedef enum tg_check_params
{
    TG_CHECK_OWN,    /* those of the options */
    TG_CHECK_NUDGED, /* moved away from kinks: no two geoms with the same friction, no damping of 0 */
    TG_CHECK_SOFT,   /* contacts with compliance */
    TG_CHECK_PARAM_SETS
} tg_check_params;

TG_API const char *tg_check_params_string(tg_check_params set);

typedef struct tg_check_options
{
    const tg_params *params; /* NULL: the model's; "own" below */
    int states;              /* at which derivatives are compared, 100 */
    int seed;                /* of the trajectory and of the random choices; at least 1 */
    const int *index;        /* nindex parameters from which those to compare are drawn (tg_param_match); NULL: all */
    int nindex;
    tg_impact impact;                                   /* when in a step impacts happen */
    const char *law;                                    /* of contacts (tg_options.law); NULL: the default */
    bool (*progress)(void *user, int done, int states); /* after every state; false ends the check there. NULL: none */
    void *user;
    uint32_t cookie;
} tg_check_options;

TG_API tg_check_options tg_default_check_options(void);

enum
{
    TG_CHECK_LABELS = TG_LABEL_REGULARISED + 1,
    TG_CHECK_GROUPS = 80, /* q, v, act, u, tau, wrench, dt and kinds of parameters */
    TG_CHECK_MASKED = 8
};

/* A group of inputs with a common scale: error = |J - F| / max(1, max |F|), J the derivative and F the differences. */
typedef struct tg_check_group
{
    char name[64];                      /* "q", "v", "act", "u", "tau", "wrench", "dt"; "body.mass", "gravity", ... */
    long compared, skipped, unresolved; /* numbers: judged; not differenced; differences too coarse to judge */
    double error, largest;              /* the worst error; the largest |F| */
    double derivative, differences;     /* the worst entry: J, F */
    char entry[256];                    /* its name: "knee[0]", "body.trunk.mass" */
    int state;                          /* index of its state, counted from 0 */
    tg_check_params params;             /* with which parameters */
    double condition;                   /* of the step's equations there */
} tg_check_group;

typedef struct tg_check_result
{
    bool passed;
    int states;                         /* sampled */
    int labels[TG_CHECK_LABELS];        /* of them: with every tg_label_kind */
    int not_exact[TG_CHECK_PARAM_SETS]; /* without an exact derivative, by parameters */
    int left_out[TG_CHECK_LABELS];      /* skipped, by label: not exact, and differences do not agree */
    int unsolved;                       /* skipped: the step is not solved */
    int refused;                        /* skipped: the library has no derivative */
    double states_skipped;              /* share of the states in the last three */
    int with_mode[TG_CONTACT_MODES];    /* states with a contact in that mode */
    long contacts[TG_CONTACT_MODES];    /* contacts in that mode */
    int rare;                  /* a possible tg_contact_mode that fewer than a tenth of the states have; -1: none */
    long compared, unresolved; /* numbers of all groups */
    long switched, tied, outside, kinked; /* numbers that could not be differenced: see tg_differences_count */
    long refined;                         /* numbers that needed more than one displacement */
    long beside;                          /* numbers of the states in left_out */
    /* share of the numbers that were skipped, including those of states in left_out; without those of two equal
     * coefficients or at the edge of a domain, where derivatives are one-sided */
    double skipped;
    long infinite;        /* derivatives that are not finite */
    double jvp, jacobian; /* forward mode and matrices against reverse mode */
    int apart_state;      /* where these are farthest apart */
    tg_check_params apart_params;
    tg_label_kind apart_label;
    bool implicit_actuators; /* the actuators' own damping acts on v+ */
    int overlaps;   /* pairs of geoms (no planes or height fields) that overlap in the reference configuration */
    double deepest; /* m: by how much */
    bool touching, sliding; /* contacts that the model can have: any, with friction */
    int masked;             /* parameters without effect (tg_param_masked), of those to draw from */
    /* the first of them, and the parameter that is used instead */
    int masked_index[TG_CHECK_MASKED], masked_by[TG_CHECK_MASKED];
    int ngroup;
    tg_check_group group[TG_CHECK_GROUPS]; /* empty ones have compared + skipped + unresolved == 0 */
} tg_check_result;

/* Compares derivatives of steps (reverse mode, forward mode, matrices) with central differences, along a trajectory
 * that lays, drops, throws, drives and presses the model until every contact mode has occurred, for random entries at
 * every state. Returns TG_OK even if they do not agree: see result->passed. options may be NULL. Slow: seconds for a
 * small model. */
TG_API tg_status tg_check(const tg_model *m, const tg_check_options *options, tg_check_result *result, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
