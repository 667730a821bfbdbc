/* Numbers that need the finished model: settotalmass, drives, springdamper, dampratio. */
#include <math.h>
#include <string.h>

#include "model/mjcf.h"
#include "model/params.h"

static void scale(double *numbers, int n, double factor)
{
    for (int i = 0; i < n; i++)
        numbers[i] *= factor;
}

/* Masses and inertias are scaled until their sum is settotalmass. */
static void set_total_mass(tg_mjcf *r, tg_model *m)
{
    double wanted = r->compiler.settotalmass, total = 0;
    double *mass = TG_PARAM(m->params, body_mass);
    for (int i = 1; i < m->nbody; i++)
        total += mass[i];
    if (!(wanted > 0) || !(total > 0))
        return;
    scale(mass, m->nbody, wanted / total);
    scale(TG_PARAM(m->params, body_inertia), 6 * m->nbody, wanted / total);
}

/* Armature and damping of a drive act on its joint or tendon through the square of the gear. */
static void add_drive(tg_model *m, const tg_mjcf_tuned *t)
{
    double gear = TG_PARAM(m->params, actuator_gear)[6 * t->id], square = gear * gear;
    int target = m->actuator_target[t->id];
    if (m->actuator_transmission[t->id] == TG_TRANSMISSION_TENDON)
    {
        TG_PARAM(m->params, tendon_damping)[target] += square * t->damping;
        return;
    }
    TG_PARAM(m->params, joint_damping)[target] += square * t->damping;
    TG_PARAM(m->params, joint_armature)[target] += square * t->armature;
}

tg_status tg_mjcf_tune(tg_mjcf *r, tg_model *m)
{
    tg_params_data(m->params);
    set_total_mass(r, m);
    for (int i = 0; i < r->servo.count; i++)
        add_drive(m, (const tg_mjcf_tuned *)r->servo.data + i);
    tg_error inner = {0};
    tg_status status = tg_params_changed(m->params, &inner);
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, r->root, "%.350s", inner.message);
    return TG_OK;
}
