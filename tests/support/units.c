#include "support/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "support/numbers.h"

enum
{
    HOLD = 25, /* steps with the same controls */
    ROOM = 512
};

const unit_scaling unit_scalings[UNIT_SCALINGS] = {
    {"length up", {0x1p10, 1, 1}},  {"length down", {0x1p-10, 1, 1}}, {"mass up", {1, 0x1p10, 1}},
    {"mass down", {1, 0x1p-10, 1}}, {"time up", {1, 1, 0x1p10}},      {"time down", {1, 1, 0x1p-10}},
};

const char *const unit_models[] = {
    TANGERE_ROOT "/models/quadruped.xml",
    TANGERE_SHARED "/robots/gymnasium/half_cheetah.xml",
    TANGERE_SHARED "/robots/gymnasium/ant.xml",
    TANGERE_SHARED "/robots/mujoco_humanoid/humanoid.xml",
    TANGERE_SHARED "/robots/unitree_go1/scene.xml",
    TANGERE_SHARED "/robots/unitree_h1/scene.xml",
    TANGERE_SHARED "/robots/unitree_h1/scene_mesh.xml",
    TANGERE_SHARED "/robots/universal_robots_ur5e/scene_mesh.xml",
    TANGERE_SHARED "/robots/agility_cassie/scene.xml",
    TANGERE_SHARED "/robots/atlas/scene.xml",
    TANGERE_SHARED "/robots/hard/google_barkour_v0_barkour.xml",
    TANGERE_SHARED "/robots/hard/pal_tiago_position.xml",
    TANGERE_SHARED "/robots/hard/robotiq_2f85.xml",
    TANGERE_SHARED "/robots/hard/shadow_hand.xml",
    TANGERE_SHARED "/robots/hard/toddlerbot_2xc_pos.xml",
};

const int unit_model_count = sizeof unit_models / sizeof *unit_models;

tg_model *unit_load(const char *path)
{
    tg_model *m;
    tg_error error;
    if (tg_load(path, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

/* ---- the unit of every parameter ---- */

/* of a generalised coordinate and its force: what turns has no length */
static double coordinate(const units *s, bool turns)
{
    return turns ? 1 : s->length;
}

static double force(const units *s, bool turns)
{
    double linear = s->mass * s->length / (s->time * s->time);
    return turns ? linear * s->length : linear;
}

static bool joint_turns(const tg_model *m, int joint)
{
    return m->joint_type[joint] != TG_JOINT_SLIDE && m->joint_type[joint] != TG_JOINT_FREE;
}

/* a fixed tendon over hinges is measured in rad */
static bool tendon_turns(const tg_model *m, int tendon)
{
    return m->tendon_type[tendon] == TG_TENDON_FIXED;
}

static double joint_unit(const units *s, const char *field, bool turns)
{
    double q = coordinate(s, turns), f = force(s, turns);
    if (strcmp(field, "pos") == 0)
        return s->length;
    if (strcmp(field, "axis") == 0)
        return 1;
    if (strcmp(field, "stiffness") == 0)
        return f / q;
    if (strcmp(field, "damping") == 0)
        return f / q * s->time;
    if (strcmp(field, "armature") == 0)
        return f / q * s->time * s->time;
    return strcmp(field, "frictionloss") == 0 || strcmp(field, "force_range") == 0 ? f : q;
}

static double geom_unit(const units *s, const char *field, int i)
{
    if (strcmp(field, "friction") == 0)
        return i == 0 ? 1 : s->length;
    if (strcmp(field, "slip_speed") == 0)
        return s->length / s->time;
    if (strcmp(field, "compliance") == 0)
        return s->time * s->time / s->mass;
    if (strcmp(field, "damping") == 0)
        return s->mass / s->time;
    bool length = strcmp(field, "pos") == 0 || strcmp(field, "size") == 0 || strcmp(field, "margin") == 0;
    return length ? s->length : 1;
}

static double tendon_unit(const units *s, const char *field, bool turns)
{
    if (strcmp(field, "coef") == 0)
        return 1;
    return joint_unit(s, field, turns); /* rest, range, margin: coordinates */
}

static double actuator_unit(const tg_model *m, const units *s, int actuator, const char *field, int i)
{
    int target = m->actuator_target[actuator];
    tg_transmission kind = (tg_transmission)m->actuator_transmission[actuator];
    bool turns = kind == TG_TRANSMISSION_JOINT    ? joint_turns(m, target)
                 : kind == TG_TRANSMISSION_TENDON ? tendon_turns(m, target)
                                                  : false;
    double q = coordinate(s, turns), f = force(s, turns);
    if (strcmp(field, "gain") == 0 || strcmp(field, "bias") == 0)
        return i == 0 ? f : i == 1 ? f / q : f / q * s->time;
    if (strcmp(field, "gear") == 0)
        return kind == TG_TRANSMISSION_SITE && i >= 3 ? s->length : 1;
    return strcmp(field, "tau") == 0 ? s->time : strcmp(field, "force_range") == 0 ? f : 1;
}

static double equality_unit(const tg_model *m, const units *s, int equality, int i)
{
    int type = m->equality_type[equality];
    if (type == TG_EQUALITY_CONNECT || type == TG_EQUALITY_WELD)
        return i < 6 ? s->length : 1;
    int second = m->equality_obj2[equality];
    bool tendon = type == TG_EQUALITY_TENDON;
    bool turns1 = tendon ? tendon_turns(m, m->equality_obj1[equality]) : joint_turns(m, m->equality_obj1[equality]);
    bool turns2 = second < 0 ? true : tendon ? tendon_turns(m, second) : joint_turns(m, second);
    return i < 5 ? coordinate(s, turns1) / pow(coordinate(s, turns2), i) : 1;
}

static double unit_of(const tg_model *m, const units *s, const tg_param_slice *slice, int i)
{
    const char *field = slice->field;
    switch (slice->element)
    {
    case TG_BODY:
        return strcmp(field, "quat") == 0      ? 1
               : strcmp(field, "mass") == 0    ? s->mass
               : strcmp(field, "inertia") == 0 ? s->mass * s->length * s->length
                                               : s->length;
    case TG_JOINT:
        return joint_unit(s, field, joint_turns(m, slice->index));
    case TG_GEOM:
    case TG_PAIR:
        return geom_unit(s, field, i);
    case TG_SITE:
        return strcmp(field, "pos") == 0 ? s->length : 1;
    case TG_TENDON:
        return tendon_unit(s, field, tendon_turns(m, slice->index));
    case TG_ACTUATOR:
        return actuator_unit(m, s, slice->index, field, i);
    case TG_EQUALITY:
        return equality_unit(m, s, slice->index, i);
    case TG_HFIELD:
        return s->length;
    default:
        return s->length / (s->time * s->time); /* gravity */
    }
}

static tg_params *scaled_params(const tg_model *m, const units *s)
{
    tg_params *params;
    tg_error error;
    assert_int_equal(tg_params_create(m, &params, &error), TG_OK);
    double *value = tg_params_data(params);
    for (int k = 0; k < tg_param_slice_count(m); k++)
    {
        tg_param_slice slice;
        assert_int_equal(tg_param_slice_get(m, k, &slice, &error), TG_OK);
        for (int i = 0; i < slice.size; i++)
            value[slice.offset + i] *= unit_of(m, s, &slice, i);
    }
    if (tg_params_changed(params, &error) != TG_OK)
        fail_msg("%s", error.message);
    return params;
}

/* ---- a run in some units ---- */

static void fill_units(unit_run *r, const units *s)
{
    const tg_model *m = r->m;
    for (int j = 0; j < m->njoint; j++)
    {
        int type = m->joint_type[j], nq = type == TG_JOINT_FREE ? 7 : type == TG_JOINT_BALL ? 4 : 1;
        int nv = type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
        for (int i = 0; i < nq; i++)
            r->q_unit[m->joint_q[j] + i] = type == TG_JOINT_SLIDE || (type == TG_JOINT_FREE && i < 3) ? s->length : 1;
        for (int i = 0; i < nv; i++)
            r->v_unit[m->joint_dof[j] + i] =
                (type == TG_JOINT_SLIDE || (type == TG_JOINT_FREE && i < 3) ? s->length : 1) / s->time;
    }
}

/* the first keyframe, or the reference; lifted a little, and in motion */
static void fill_start(unit_run *r)
{
    const tg_model *m = r->m;
    tg_error error;
    uint64_t seed = 12345;
    if (r->n.nkey > 0)
        assert_int_equal(tg_key_get(m, 0, NULL, r->q, r->v, r->act, r->u, &error), TG_OK);
    else
        assert_int_equal(tg_default_q(m, r->q, &error), TG_OK);
    for (int k = 0; k < m->nv; k++)
    {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        r->v[k] += 0.2 * ((double)(seed >> 11) * 0x1p-53 - 0.5);
    }
    for (int i = 0; i < m->nq; i++)
        r->q[i] *= r->q_unit[i];
    for (int k = 0; k < m->nv; k++)
        r->v[k] *= r->v_unit[k];
}

unit_run unit_run_open(const tg_model *m, const units *s)
{
    unit_run r = {.m = m, .n = tg_model_sizes(m), .options = tg_default_options()};
    tg_error error;
    const double *g = tg_params_view(tg_model_params(m)) + m->offset.gravity_;
    double speed = s->length / s->time, dt = tg_model_timestep(m);
    r.q = numbers(r.n.nq);
    r.v = numbers(r.n.nv);
    r.act = numbers(r.n.na);
    r.u = numbers(r.n.nu);
    r.q_unit = numbers(r.n.nq);
    r.v_unit = numbers(r.n.nv);
    r.cache = (tg_cache){4 * ROOM, 0, calloc(4 * ROOM, sizeof(tg_cache_entry))};
    r.params = scaled_params(m, s);
    assert_int_equal(tg_work_create_for(m, ROOM, &r.w, &error), TG_OK);
    assert_int_equal(tg_work_set_params(r.w, r.params), TG_OK);
    r.options.rest_speed = speed * fmax(2 * dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]), 0.01);
    r.options.dt = dt * s->time;
    r.options.push_speed *= speed;
    r.options.push_rate /= s->time;
    r.options.tolerance *= speed;
    r.options.reach *= s->length;
    r.options.lever *= s->length;
    fill_units(&r, s);
    fill_start(&r);
    return r;
}

void unit_run_close(unit_run *r)
{
    free(r->q);
    free(r->v);
    free(r->act);
    free(r->u);
    free(r->q_unit);
    free(r->v_unit);
    free(r->cache.entry);
    tg_work_destroy(r->w);
    tg_params_destroy(r->params);
}

/* Random controls, held; the same in all units: they are numbers without one here. */
static void draw_controls(unit_run *r, int step)
{
    uint64_t seed = 77 + (uint64_t)step;
    for (int i = 0; i < r->n.nu; i++)
    {
        const double *range = tg_params_view(r->params) + r->m->offset.actuator_ctrl_range + 2 * i;
        bool limited = r->m->actuator_ctrl_limited[i];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double share = (double)(seed >> 11) * 0x1p-53, low = limited ? range[0] : -1, high = limited ? range[1] : 1;
        r->u[i] = low + (high - low) * (0.4 + 0.2 * share);
    }
}

void unit_run_step(unit_run *r, int step)
{
    tg_state state = {r->q, r->v, r->act, &r->cache};
    tg_control control = {.u = r->u};
    tg_info info;
    if (step % HOLD == 0)
        draw_controls(r, step);
    if (tg_step(r->m, r->w, &r->options, &state, &control, &state, &info) != TG_OK)
        fail_msg("step %d: %s", step, tg_work_message(r->w));
}

bool unit_run_contacts_differ(unit_run *plain, unit_run *scaled, double length)
{
    static tg_step_contact a[ROOM], b[ROOM];
    int n = 0, other = 0;
    bool same = true;
    assert_int_equal(tg_step_contacts(plain->m, plain->w, a, ROOM, &n), TG_OK);
    assert_int_equal(tg_step_contacts(scaled->m, scaled->w, b, ROOM, &other), TG_OK);
    for (int i = 0; i < n && n == other; i++)
    {
        same = same && a[i].at.id == b[i].at.id && a[i].at.distance == b[i].at.distance / length;
        for (int k = 0; k < 3; k++)
            same = same && a[i].at.normal[k] == b[i].at.normal[k] && a[i].at.point[k] == b[i].at.point[k] / length;
    }
    return n != other || !same;
}

void unit_run_follow(const unit_run *plain, unit_run *scaled)
{
    for (int i = 0; i < plain->n.nq; i++)
        scaled->q[i] = plain->q[i] * scaled->q_unit[i];
    for (int k = 0; k < plain->n.nv; k++)
        scaled->v[k] = plain->v[k] * scaled->v_unit[k];
    memcpy(scaled->act, plain->act, sizeof(double) * (size_t)plain->n.na);
}
