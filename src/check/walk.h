/* The trajectory along which tg_check looks at steps. */
#ifndef TG_CHECK_WALK_H
#define TG_CHECK_WALK_H

#include <stdbool.h>

#include "base/arena.h"
#include "tangere/check.h"

/* X(name, count): slow: velocities that are wanted beside what presses; the others are scratch. */
#define TG_PRESS_FIELDS(X)                                                                                             \
    X(slow, n->nv)                                                                                                     \
    X(normal, n->nv)                                                                                                   \
    X(tangent, n->nv)                                                                                                  \
    X(rest, n->nv)                                                                                                     \
    X(moved, n->nv)                                                                                                    \
    X(jacobian, 6 * n->nv)                                                                                             \
    X(q, n->nq)

/* Two geoms that are brought together (press.c). */
typedef struct tg_press
{
    int geom1, geom2;    /* -1: none */
    double reach;        /* m: how far away they may be */
    int given_up;        /* pairs that gave no sample in a quarter of a phase */
    int taken;           /* samples of the phase before this quarter */
    double angle, share; /* what acts along the surface: direction, and how much of the friction */
    tg_contact *near;
#define X(name, count) double *name;
    TG_PRESS_FIELDS(X)
#undef X
} tg_press;

/* X(name, count) */
#define TG_WALK_FIELDS(X)                                                                                              \
    /* the state, and what acts on it in the next step */                                                              \
    X(q, n->nq)                                                                                                        \
    X(v, n->nv)                                                                                                        \
    X(act, n->na)                                                                                                      \
    X(u, n->nu)                                                                                                        \
    X(tau, n->nv)                                                                                                      \
    X(wrench, 6 * n->nbody)                                                                                            \
    /* the state before the last step */                                                                               \
    X(q_before, n->nq)                                                                                                 \
    X(v_before, n->nv)                                                                                                 \
    X(act_before, n->na)                                                                                               \
    /* controls to return to, their ranges, noise that is held for some time */                                        \
    X(rest_u, n->nu)                                                                                                   \
    X(middle, n->nu)                                                                                                   \
    X(half, n->nu)                                                                                                     \
    X(drift, n->nu)                                                                                                    \
    /* of bodies; dry friction of every dof */                                                                         \
    X(mass, n->nbody)                                                                                                  \
    X(loss, n->nv)                                                                                                     \
    X(scratch, n->nq + n->nv)

/* A model that is laid down, dropped, thrown and driven in turn, then slid, raised or left at rest, then pressed
 * against what it can touch, with its own parameters and with others. */
typedef struct tg_walk
{
    const tg_model *m;
    const tg_params *given; /* the parameters that are its own */
    tg_sizes n;
    tg_work *w;
    int room; /* constraints that a step may have */
#define X(name, count) double *name;
    TG_WALK_FIELDS(X)
#undef X
    tg_cache cache, cache_before;
    tg_options options; /* implicit_actuators where they have damping */
    tg_params *params[TG_CHECK_PARAM_SETS];
    tg_check_params set;           /* of this phase */
    uint64_t seed, configurations; /* of the noise; number of the first random configuration */
    int phase, start, step; /* how many have begun; the kind of the last one, and how many steps of it were taken */
    int length, every;      /* steps of the phase; from one sample to the next */
    int aim;                /* the mode that the phase is for: only steps with it are sampled; -1: none */
    int taken, most, last;  /* samples of the phase, how many there may be, and the step of the last one */
    int acting;             /* contacts of the last step that did not break */
    int iterations;         /* of the last step */
    int share;              /* samples of a phase as there is room */
    tg_press press;
} tg_walk;

/* Workspace and parameters. contacts: room for them in a step; 0: chosen by the model. Also after a failure it is to be
 * closed. */
tg_status tg_walk_open(tg_walk *walk, const tg_model *m, const tg_check_options *options, int contacts,
                       tg_error *error);
void tg_walk_close(tg_walk *walk);

/* Lays the arrays out; then what the model says is read into them. */
void tg_walk_place(tg_walk *walk, tg_arena *arena);
void tg_walk_start(tg_walk *walk);

/* Chooses what acts in the next step. When the last phase is over a new one begins; two of three are made for the mode
 * of contacts that is `rare` (negative: none is), if there are any contacts. */
tg_status tg_walk_push(tg_walk *walk, int rare, bool touching);
tg_status tg_walk_step(tg_walk *walk);

/* Whether the step that was taken is to be a sample. met: its contacts in every mode. */
bool tg_walk_due(tg_walk *walk, const int met[TG_CONTACT_MODES]);

/* Number k of a field of an element; `otherwise` if there is none, or it is not finite. */
double tg_walk_field(const tg_walk *walk, tg_element element, int index, const char *field, int k, double otherwise);

/* in -1 .. 1 */
double tg_walk_noise(tg_walk *walk);

/* From q to a random configuration within the limits (nv); positions of free bodies stay where they are. */
tg_status tg_walk_way(tg_walk *walk, uint64_t number, double *way);

/* ---- contacts that are made (press.c) ---- */

void tg_press_place(tg_press *press, const tg_sizes *n, tg_arena *arena);

/* Brings q to the first contact on the way to a random configuration that has one, if there is such a one. */
void tg_press_touch(tg_walk *walk);

/* Adds to tau what presses two geoms against each other (sticking), pushes them along as well (sliding), or keeps them
 * just apart (breaking). */
tg_status tg_press_force(tg_walk *walk);

#endif
