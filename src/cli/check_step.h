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

/* A model that is laid down, lifted, dropped, slid, thrown and driven in turn, with its own parameters and with others. */
typedef struct tg_cli_walk
{
    const tg_model *m;
    tg_sizes n;
    tg_work *w;
    int room;                                      /* constraints that a step may have */
    double *q, *v, *act, *u, *tau, *wrench;        /* the state and what acts on it in the next step */
    double *rest_u, *middle, *half, *mass, *drift; /* controls to return to, their ranges; of bodies; held noise */
    double *scratch;                               /* nq + nv */
    tg_cache cache;
    double *q_before, *v_before, *act_before; /* of the last step */
    tg_cache cache_before;
    tg_options options; /* implicit_actuators where they have damping */
    tg_params *params[TG_CLI_WALK_SETS];
    int set; /* of this phase */
    uint64_t seed;
    int phase, start, step;   /* how many have begun; the kind of the last one, and how many steps of it were taken */
    int length, every, share; /* steps of the phase; from one sample to the next; samples of a phase as there is room */
} tg_cli_walk;

/* contacts: room for them in a step; 0: chosen by the model. A message if it cannot. */
int tg_cli_walk_open(tg_cli_walk *walk, const tg_model *m, int contacts, int samples);
void tg_cli_walk_close(tg_cli_walk *walk);

/* Chooses what acts in the next step. When the last phase is over a new one begins; every second one is made for the mode of
 * contacts that is `rare`, if it is not negative. */
tg_status tg_cli_walk_push(tg_cli_walk *walk, int rare);
bool tg_cli_walk_due(const tg_cli_walk *walk); /* the next step is a sample */
tg_status tg_cli_walk_step(tg_cli_walk *walk);

/* in -1 .. 1 */
double tg_cli_walk_noise(tg_cli_walk *walk);

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
    int refused;                     /* whose derivatives the library does not have */
    int loose[TG_CLI_WALK_SETS];     /* without an exact derivative, by parameters */
    int loose_agreeing;              /* states that are not exact where differences agree all the same */
    int with_mode[TG_CONTACT_MODES]; /* states with a contact in that mode */
    long contacts[TG_CONTACT_MODES]; /* contacts in that mode */
    long switched, tied, outside;    /* numbers that could not be differenced */
    long refined;                    /* numbers that needed more than one displacement */
    long infinite;                   /* derivatives that are not finite */
    double jvp, jacobian;            /* forward mode and matrices against reverse mode */
    int apart_state, apart_set;      /* where these are farthest apart */
    tg_label_kind apart_label;
    bool touching, sliding, grounded; /* contacts that the model can have: any, with friction, with something fixed */
} tg_cli_gradient_check;

extern const double tg_cli_check_tolerance, tg_cli_check_agreement, tg_cli_check_share;

/* Share of the states that have no exact derivative, and of the numbers of the others that could not be compared. */
double tg_cli_check_loose(const tg_cli_gradient_check *r);
double tg_cli_check_skipped(const tg_cli_gradient_check *r);

/* Of the modes that the model can have and that fewer than this share of the states have met, the rarest; -1: none */
int tg_cli_check_rare(const tg_cli_gradient_check *r, double share);

bool tg_cli_check_passes(const tg_cli_gradient_check *r);
void tg_cli_check_print(const tg_cli_output *out, const tg_cli_model *model, const tg_cli_gradient_check *r);
void tg_cli_check_json(FILE *file, const tg_cli_model *model, const tg_cli_gradient_check *r);

#endif
