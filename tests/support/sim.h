/* A model with its state, stepped in place: what the tests of the step share. Everything fails the running cmocka test
 * when it should not have happened. */
#ifndef TG_TEST_SIM_H
#define TG_TEST_SIM_H

#include "tangere/tangere.h"

typedef struct sim
{
    tg_model *m;
    tg_work *w;
    tg_sizes n;
    tg_options options; /* energy is on */
    double *q, *v, *act;
    double *u, *tau, *wrench;          /* of the next step, zero at the start */
    const tg_given_contacts *contacts; /* of the next step; NULL (at the start): it finds them itself */
    tg_cache cache;
    tg_info info; /* of the last step */

    /* over all steps so far */
    double residual;    /* the largest */
    double penetration; /* the largest */
    double growth;      /* J: the largest gain of kinetic plus potential energy in one step */
    double excess;      /* J: the largest work of impulses in one step, less what pushing out overlaps may do */
} sim;

/* From an MJCF text, at the model's default configuration and at rest. */
sim *sim_open(const char *mjcf);
sim *sim_open_model(tg_model *m);
void sim_close(sim *s);

/* Default configuration, rest, no controls, empty cache. */
void sim_reset(sim *s);

/* One step; the residual must be within the tolerance. */
void sim_step(sim *s);
void sim_run(sim *s, int steps);

/* One step, whatever its status in s->info. */
void sim_try_step(sim *s);

/* kinetic plus potential energy of the state */
double sim_energy(sim *s);

/* Contacts of the last step. */
enum
{
    SIM_CONTACTS = 512
};
int sim_contacts(sim *s, tg_step_contact contact[SIM_CONTACTS]);

/* Places of a joint's numbers in q and v. */
int sim_q(const sim *s, const char *joint);
int sim_v(const sim *s, const char *joint);

#endif
