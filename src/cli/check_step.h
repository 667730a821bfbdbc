/* Parts of `tangere check`: the trajectory, the comparison at one of its states, and what is shown of it. */
#ifndef TG_CLI_CHECK_STEP_H
#define TG_CLI_CHECK_STEP_H

#include <stdbool.h>

#include "cli/cli.h"

/* ---- the trajectory (check_walk.c) ---- */

/* parameters with which it goes */
enum
{
    TG_CLI_WALK_OWN, /* the model's */
    TG_CLI_WALK_NUDGED, /* away from where derivatives have two sides: no two geoms with the same friction, no damping of 0 */
    TG_CLI_WALK_SOFT, /* contacts with compliance */
    TG_CLI_WALK_SETS
};

const char *tg_cli_walk_set(int set); /* its name */

/* Two geoms that are brought together (check_press.c). */
typedef struct tg_cli_press
{
    int geom1, geom2;    /* -1: none */
    double reach;        /* m: how far away they may be */
    double angle, share; /* what acts along the surface: direction, and how much of the friction */
    tg_contact *near;
    double *slow;                                           /* nv: velocities that are wanted beside */
    double *normal, *tangent, *rest, *moved, *jacobian, *q; /* scratch: nv, nv, nv, nv, 6 nv, nq */
} tg_cli_press;

/* A model that is laid down, dropped, thrown and driven in turn, then slid, raised or left at rest, then pressed against what it can
 * touch, with its own parameters and with others. */
typedef struct tg_cli_walk
{
    const tg_model *m;
    tg_sizes n;
    tg_work *w;
    int room;                                      /* constraints that a step may have */
    double *q, *v, *act, *u, *tau, *wrench;        /* the state and what acts on it in the next step */
    double *rest_u, *middle, *half, *mass, *drift; /* controls to return to, their ranges; of bodies; held noise */
    double *loss;                                  /* dry friction of every dof */
    double *scratch;                               /* nq + nv */
    tg_cache cache;
    double *q_before, *v_before, *act_before; /* of the last step */
    tg_cache cache_before;
    tg_options options; /* implicit_actuators where they have damping */
    tg_params *params[TG_CLI_WALK_SETS];
    int set;                       /* of this phase */
    uint64_t seed, configurations; /* of the noise; number of the first random configuration */
    int phase, start, step; /* how many have begun; the kind of the last one, and how many steps of it were taken */
    int length, every;      /* steps of the phase; from one sample to the next */
    int aim;                /* the mode that the phase is for: only steps with it are sampled; -1: none */
    int taken, most, last;  /* samples of the phase, how many there may be, and the step of the last one */
    int acting;             /* contacts of the last step that did not break */
    int iterations;         /* of the last step */
    int share;              /* samples of a phase as there is room */
    tg_cli_press press;
} tg_cli_walk;

/* contacts: room for them in a step; 0: chosen by the model. seed: from 1 on. A message if it cannot. */
int tg_cli_walk_open(tg_cli_walk *walk, const tg_model *m, int contacts, int samples, int seed);
void tg_cli_walk_close(tg_cli_walk *walk);

/* Chooses what acts in the next step. When the last phase is over a new one begins; two of three are made for the mode of
 * contacts that is `rare` (negative: none is), if there are any contacts. */
tg_status tg_cli_walk_push(tg_cli_walk *walk, int rare, bool touching);
tg_status tg_cli_walk_step(tg_cli_walk *walk);

/* Whether the step that was taken is to be a sample. met: its contacts in every mode. */
bool tg_cli_walk_due(tg_cli_walk *walk, const int met[TG_CONTACT_MODES]);

/* in -1 .. 1 */
double tg_cli_walk_noise(tg_cli_walk *walk);

/* From q to a random configuration within the limits (nv); positions of free bodies stay where they are. */
tg_status tg_cli_walk_way(tg_cli_walk *walk, uint64_t number, double *way);

/* ---- contacts that are made (check_press.c) ---- */

void tg_cli_press_open(tg_cli_press *press, const tg_sizes *n);
void tg_cli_press_close(tg_cli_press *press);

/* Brings q to the first contact on the way to a random configuration that has one, if there is such a one. */
void tg_cli_press_touch(tg_cli_walk *walk);

/* Adds to tau what presses two geoms against each other (sticking), pushes them along as well (sliding), or keeps them just
 * apart (breaking). */
tg_status tg_cli_press_force(tg_cli_walk *walk);

/* ---- the result (check_report.c) ---- */

enum
{
    TG_CLI_GROUP_Q,
    TG_CLI_GROUP_V,
    TG_CLI_GROUP_ACT,
    TG_CLI_GROUP_U,
    TG_CLI_GROUP_TAU,
    TG_CLI_GROUP_WRENCH,
    TG_CLI_GROUP_DT,
    TG_CLI_GROUP_PARAMS, /* from here on, one for each kind of parameter: "body.mass", "gravity" */
    TG_CLI_GROUPS = 80
};

/* Numbers with respect to which steps are differentiated, that share a scale: error = |J - F| / max(1, max |F|). */
typedef struct tg_cli_group
{
    char name[64];
    long compared, skipped, unresolved;
    double error, largest;  /* the worst error; the largest |F| */
    double found, expected; /* the worst entry: J, F */
    char entry[256];
    int state;        /* where that was */
    int set;          /* with which parameters */
    double condition; /* of the step's equations there */
} tg_cli_group;

typedef struct tg_cli_gradient_check
{
    tg_cli_group group[TG_CLI_GROUPS];
    int ngroup;
    int states, labels[3];           /* with every label */
    int loose[TG_CLI_WALK_SETS];     /* without an exact derivative, by parameters */
    int left_out[3];                 /* states that are skipped, by label: not exact, and differences do not agree */
    int unsolved;                    /* states that are skipped because the step is not solved */
    int refused;                     /* states that are skipped because the library has no derivative */
    long beside;                     /* numbers of the states in left_out */
    int with_mode[TG_CONTACT_MODES]; /* states with a contact in that mode */
    long contacts[TG_CONTACT_MODES]; /* contacts in that mode */
    long switched, tied, outside, kinked; /* numbers that could not be differenced */
    long refined;                         /* numbers that needed more than one displacement */
    long infinite;                        /* derivatives that are not finite */
    double jvp, jacobian;                 /* forward mode and matrices against reverse mode */
    int apart_state, apart_set;           /* where these are farthest apart */
    tg_label_kind apart_label;
    bool implicit;          /* the actuators' own damping acts on v+ */
    int overlaps;           /* pairs of geoms that overlap in the reference configuration, */
    double deepest;         /* m: and by how much */
    bool touching, sliding; /* contacts that the model can have: any, with friction */
} tg_cli_gradient_check;

extern const double tg_cli_check_tolerance, tg_cli_check_agreement, tg_cli_check_share;

/* States that are skipped as a whole, their share, and the share of numbers that are skipped, those of such states included. */
int tg_cli_check_left_out(const tg_cli_gradient_check *r);
double tg_cli_check_states_skipped(const tg_cli_gradient_check *r);
double tg_cli_check_skipped(const tg_cli_gradient_check *r);

/* Of the modes that the model can have and that fewer than this share of the states have met, the rarest; -1: none */
int tg_cli_check_rare(const tg_cli_gradient_check *r, double share);

bool tg_cli_check_passes(const tg_cli_gradient_check *r);
void tg_cli_check_print(const tg_cli_output *out, const tg_cli_model *model, const tg_cli_gradient_check *r);
void tg_cli_check_json(FILE *file, const tg_cli_model *model, const tg_cli_gradient_check *r);

#endif
