#include "support/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"

sim *sim_open_model(tg_model *m)
{
    tg_error error;
    sim *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->m = m;
    s->n = tg_model_sizes(m);
    if (tg_work_create(m, &s->w, &error) != TG_OK)
        fail_msg("%s", error.message);
    s->options = tg_default_options();
    s->options.energy = true;
    s->q = numbers(s->n.nq);
    s->v = numbers(s->n.nv);
    s->act = numbers(s->n.na);
    s->u = numbers(s->n.nu);
    s->tau = numbers(s->n.nv);
    s->wrench = numbers(6 * s->n.nbody);
    s->cache = (tg_cache){.capacity = SIM_CONTACTS, .entry = calloc(SIM_CONTACTS, sizeof(tg_cache_entry))};
    sim_reset(s);
    return s;
}

sim *sim_open(const char *mjcf)
{
    tg_model *m = NULL;
    tg_error error;
    if (tg_load_string(mjcf, strlen(mjcf), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return sim_open_model(m);
}

void sim_close(sim *s)
{
    double *owned[] = {s->q, s->v, s->act, s->u, s->tau, s->wrench};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    free(s->cache.entry);
    tg_work_destroy(s->w);
    tg_model_destroy(s->m);
    free(s);
}

void sim_reset(sim *s)
{
    assert_int_equal(tg_default_q(s->m, s->q, NULL), TG_OK);
    memset(s->v, 0, sizeof(double) * (size_t)s->n.nv);
    memset(s->act, 0, sizeof(double) * (size_t)s->n.na);
    memset(s->u, 0, sizeof(double) * (size_t)s->n.nu);
    memset(s->tau, 0, sizeof(double) * (size_t)s->n.nv);
    memset(s->wrench, 0, sizeof(double) * (size_t)(6 * s->n.nbody));
    s->cache.count = 0;
    s->residual = s->penetration = 0;
    s->growth = s->excess = -INFINITY;
}

double sim_energy(sim *s)
{
    double kinetic, potential;
    assert_int_equal(tg_energy(s->m, s->w, s->q, s->v, &kinetic, &potential), TG_OK);
    return kinetic + potential;
}

/* What pushing overlaps out may add: the normal impulse of every contact times the speed it is pushed at. */
static double push_work(sim *s)
{
    static tg_step_contact contact[SIM_CONTACTS];
    double dt = s->options.dt > 0 ? s->options.dt : tg_model_timestep(s->m), sum = 0;
    int count = sim_contacts(s, contact);
    for (int i = 0; i < count; i++)
        sum += dt * contact[i].local[0] * fmin(s->options.push_speed, fmax(0, -contact[i].at.distance / dt));
    return sum;
}

void sim_try_step(sim *s)
{
    tg_state state = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = s->u, .tau = s->tau, .wrench = s->wrench, .contacts = s->contacts};
    double before = sim_energy(s);
    if (tg_step(s->m, s->w, &s->options, &state, &control, &state, &s->info) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    s->residual = fmax(s->residual, s->info.residual);
    s->penetration = fmax(s->penetration, s->info.penetration);
    s->excess = fmax(s->excess, s->info.work - (s->info.contacts > 0 ? push_work(s) : 0));
    s->growth = fmax(s->growth, s->info.kinetic + s->info.potential - before);
}

void sim_step(sim *s)
{
    sim_try_step(s);
    if (s->info.status != TG_STEP_SOLVED)
        fail_msg("%s: residual %g", tg_step_status_string(s->info.status), s->info.residual);
}

void sim_run(sim *s, int steps)
{
    for (int i = 0; i < steps; i++)
        sim_step(s);
}

int sim_contacts(sim *s, tg_step_contact contact[SIM_CONTACTS])
{
    int count = 0;
    if (tg_step_contacts(s->m, s->w, contact, SIM_CONTACTS, &count) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    assert_true(count <= SIM_CONTACTS);
    return count;
}

static tg_joint_info joint_of(const sim *s, const char *joint)
{
    tg_joint_info info;
    assert_int_equal(tg_joint_get(s->m, tg_find(s->m, TG_JOINT, joint), &info, NULL), TG_OK);
    return info;
}

int sim_q(const sim *s, const char *joint)
{
    return joint_of(s, joint).q;
}

int sim_v(const sim *s, const char *joint)
{
    return joint_of(s, joint).dof;
}
