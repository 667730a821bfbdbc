#include "check/walk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- memory ---- */

void tg_walk_place(tg_walk *walk, tg_arena *arena)
{
    const tg_sizes *n = &walk->n;
#define X(name, count) walk->name = TG_TAKE(arena, double, count, #name);
    TG_WALK_FIELDS(X)
#undef X
    walk->cache = (tg_cache){.capacity = walk->room, .entry = TG_TAKE(arena, tg_cache_entry, walk->room, "cache")};
    walk->cache_before = walk->cache;
    walk->cache_before.entry = TG_TAKE(arena, tg_cache_entry, walk->room, "cache_before");
    tg_press_place(&walk->press, n, arena);
}

double tg_walk_field(const tg_walk *walk, tg_element element, int index, const char *field, int k, double otherwise)
{
    char name[64];
    int offset = 0, size = 0;
    snprintf(name, sizeof name, "%s.#%d.%s", tg_element_string(element), index, field);
    if (tg_param_find(walk->m, name, &offset, &size, NULL) != TG_OK || k >= size)
        return otherwise;
    double x = tg_params_view(walk->given)[offset + k];
    return isfinite(x) ? x : otherwise;
}

static int dofs_of(tg_joint_type type)
{
    return type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
}

void tg_walk_start(tg_walk *walk)
{
    for (int i = 0; i < walk->n.nu; i++)
    {
        tg_actuator_info info;
        bool limited = tg_actuator_get(walk->m, i, &info, NULL) == TG_OK && info.ctrl_limited;
        double low = limited ? tg_walk_field(walk, TG_ACTUATOR, i, "ctrl_range", 0, -1) : -1;
        double high = limited ? tg_walk_field(walk, TG_ACTUATOR, i, "ctrl_range", 1, 1) : 1;
        walk->middle[i] = 0.5 * (low + high);
        walk->half[i] = 0.5 * (high - low);
    }
    for (int i = 0; i < walk->n.nbody; i++)
        walk->mass[i] = tg_walk_field(walk, TG_BODY, i, "mass", 0, 0);
    for (int j = 0; j < walk->n.njoint; j++)
    {
        tg_joint_info joint;
        if (tg_joint_get(walk->m, j, &joint, NULL) == TG_OK)
            for (int k = joint.dof; k < joint.dof + dofs_of(joint.type); k++)
                walk->loss[k] = tg_walk_field(walk, TG_JOINT, j, "frictionloss", 0, 0);
    }
}

/* ---- parameters off the edges ----
 *
 * Where two coefficients are equal, or a number is at the edge of its domain (no damping, no restitution), the
 * derivative has two sides. Two of three pairs of phases go with parameters that are moved away from there: `nudged`,
 * and, since contacts are then of another kind, `soft`. */

const char *tg_check_params_string(tg_check_params set)
{
    static const char *const name[TG_CHECK_PARAM_SETS] = {"own", "nudged", "soft"};
    return (unsigned)set < TG_CHECK_PARAM_SETS ? name[set] : "?";
}

typedef struct nudge
{
    int set;
    tg_element element;
    const char *field;
    double edge, to;
} nudge;

static const nudge nudges[] = {
    {TG_CHECK_NUDGED, TG_JOINT, "stiffness", 0, 0.1},
    {TG_CHECK_NUDGED, TG_JOINT, "damping", 0, 0.01},
    {TG_CHECK_NUDGED, TG_JOINT, "armature", 0, 1e-4},
    {TG_CHECK_NUDGED, TG_JOINT, "frictionloss", 0, 1e-3},
    {TG_CHECK_NUDGED, TG_TENDON, "stiffness", 0, 1},
    {TG_CHECK_NUDGED, TG_TENDON, "damping", 0, 0.1},
    {TG_CHECK_NUDGED, TG_TENDON, "frictionloss", 0, 0.01},
    {TG_CHECK_NUDGED, TG_GEOM, "kinetic", 1, 0.9},
    {TG_CHECK_NUDGED, TG_GEOM, "restitution", 0, 0.2},
    {TG_CHECK_NUDGED, TG_PAIR, "kinetic", 1, 0.9},
    {TG_CHECK_NUDGED, TG_PAIR, "restitution", 0, 0.2},
    {TG_CHECK_SOFT, TG_GEOM, "compliance", 0, 1}, /* times what gives in by 1 mm under the model's weight */
    {TG_CHECK_SOFT, TG_PAIR, "compliance", 0, 1},
};

/* coefficients of contacts that count by being the larger one: no two geoms have the same */
static bool is_coefficient(const tg_param_slice *slice)
{
    static const char *const field[] = {"friction", "kinetic", "slip_speed", "restitution", "compliance"};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (slice->element == TG_GEOM && strcmp(slice->field, field[i]) == 0)
            return true;
    return false;
}

static void nudge_slice(const tg_walk *walk, int set, const tg_param_slice *slice, double *x)
{
    double soft = 1e-3 / (9.81 * fmax(tg_model_mass(walk->m), 1e-3));
    for (int k = 0; k < slice->size; k++)
    {
        double *at = &x[slice->offset + k];
        for (size_t i = 0; i < sizeof nudges / sizeof *nudges; i++)
            if (nudges[i].set == set && nudges[i].element == slice->element &&
                strcmp(nudges[i].field, slice->field) == 0 && *at == nudges[i].edge)
                *at = nudges[i].to * (set == TG_CHECK_SOFT ? soft : 1);
        if (is_coefficient(slice))
            *at *= 1 - 1e-3 * (slice->index % 97 + 1);
    }
}

static tg_status nudge_params(tg_walk *walk, int set, tg_error *error)
{
    tg_status status = tg_params_create(walk->m, &walk->params[set], error);
    if (status == TG_OK)
        memcpy(tg_params_data(walk->params[set]), tg_params_view(walk->given),
               sizeof(double) * (size_t)walk->n.nparams);
    for (int i = 0; set != TG_CHECK_OWN && i < tg_param_slice_count(walk->m) && status == TG_OK; i++)
    {
        tg_param_slice slice;
        status = tg_param_slice_get(walk->m, i, &slice, error);
        if (status == TG_OK)
            nudge_slice(walk, set, &slice, tg_params_data(walk->params[set]));
    }
    return status == TG_OK ? tg_params_changed(walk->params[set], error) : status;
}

/* ---- */

/* Actuators with damping of their own, which would burst at a model's time step if it were explicit. */
static bool has_damping(const tg_walk *walk)
{
    for (int i = 0; i < walk->n.nu; i++)
        if (tg_walk_field(walk, TG_ACTUATOR, i, "bias", 2, 0) < 0)
            return true;
    return false;
}

tg_status tg_walk_open(tg_walk *walk, const tg_model *m, const tg_check_options *options, int contacts, tg_error *error)
{
    *walk = (tg_walk){.m = m, .n = tg_model_sizes(m), .seed = (uint64_t)options->seed, .share = options->states / 16};
    walk->given = options->params != NULL ? options->params : tg_model_params(m);
    walk->configurations = (uint64_t)(options->seed - 1) << 32;
    walk->options = tg_default_options();
    walk->options.impact = options->impact;
    if (options->law != NULL)
        walk->options.law = options->law;
    walk->options.implicit_actuators = has_damping(walk) ? TG_ON : walk->options.implicit_actuators;
    const tg_sizes *n = &walk->n;
    tg_status status =
        contacts > 0 ? tg_work_create_for(m, contacts, &walk->w, error) : tg_work_create(m, &walk->w, error);
    for (int set = 0; set < TG_CHECK_PARAM_SETS && status == TG_OK; set++)
        status = nudge_params(walk, set, error);
    if (status != TG_OK)
        return status;
    tg_work_contacts(walk->w, &walk->room, NULL);
    walk->room += n->nequality + n->nv + 2 * n->njoint + 3 * n->ntendon;
    return TG_OK;
}

void tg_walk_close(tg_walk *walk)
{
    tg_work_destroy(walk->w);
    for (int set = 0; set < TG_CHECK_PARAM_SETS; set++)
        tg_params_destroy(walk->params[set]);
}

/* ---- phases ---- */

double tg_walk_noise(tg_walk *walk)
{
    walk->seed = walk->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(walk->seed >> 11) / 4503599627370496.0 - 1;
}

static void fill(tg_walk *walk, double *x, int n, double size)
{
    for (int i = 0; i < n; i++)
        x[i] = size * tg_walk_noise(walk);
}

/* How a phase starts and what acts in it. */
typedef struct beginning
{
    bool goes_on;   /* from where the last phase ended; otherwise from a keyframe or the reference */
    bool floats;    /* forces hold the model against gravity */
    bool pressed;   /* it is held against gravity, springs and actuators, slowed down, and two of its geoms brought
                     together */
    double lift;    /* m, of free bodies */
    double speed;   /* of every coordinate */
    double across;  /* m/s, of free bodies, sideways; */
    double rise;    /* upwards */
    double turn;    /* share of the way to a random configuration */
    double push;    /* generalised forces that would accelerate every coordinate by so much */
    double control; /* of the controls' half ranges, new in every step */
    double drive;   /* of the controls' half ranges, held for some time */
} beginning;

enum
{
    LAID,
    DROPPED,
    THROWN,
    DRIVEN,
    STARTS,
    SLID = STARTS,
    RAISED,
    RESTED,
    PRESSED,
    BEGINNINGS
};

static const beginning beginnings[BEGINNINGS] = {
    [LAID] = {.speed = 0.05, .push = 0.3, .control = 0.01},
    [DROPPED] = {.lift = 0.1, .speed = 0.5, .push = 2, .control = 0.05},
    [THROWN] = {.lift = 0.2, .speed = 1, .across = 1, .turn = 0.5, .push = 1},
    [DRIVEN] = {.speed = 0.3, .push = 1, .control = 0.02, .drive = 0.6},
    [SLID] = {.goes_on = true, .speed = 0.5, .across = 2, .push = 2, .control = 0.02},
    [RAISED] = {.goes_on = true, .floats = true, .speed = 0.02, .rise = 0.03, .push = 0.5},
    [RESTED] = {.goes_on = true},
    [PRESSED] = {.pressed = true, .speed = 0.3, .push = 0.3, .control = 0.01},
};

/* free bodies are lifted, and pushed sideways and upwards, all of them into the same direction */
static tg_status lift(tg_walk *walk, const beginning *b, double more, tg_error *error)
{
    double angle = 3.14159265358979 * tg_walk_noise(walk);
    for (int j = 0; j < walk->n.njoint; j++)
    {
        tg_joint_info joint;
        tg_status status = tg_joint_get(walk->m, j, &joint, error);
        if (status != TG_OK)
            return status;
        if (joint.type != TG_JOINT_FREE)
            continue;
        walk->q[joint.q + 2] += b->lift + more;
        walk->v[joint.dof] += b->across * cos(angle);
        walk->v[joint.dof + 1] += b->across * sin(angle);
        walk->v[joint.dof + 2] += b->rise;
    }
    return TG_OK;
}

tg_status tg_walk_way(tg_walk *walk, uint64_t number, double *way)
{
    const tg_sizes *n = &walk->n;
    tg_error error;
    tg_status status = tg_random_state(walk->m, walk->configurations + number, walk->scratch, NULL, &error);
    if (status == TG_OK)
        status = tg_difference(walk->m, walk->q, walk->scratch, way, &error);
    for (int j = 0; j < n->njoint && status == TG_OK; j++)
    {
        tg_joint_info joint;
        status = tg_joint_get(walk->m, j, &joint, &error);
        for (int k = 0; k < 3 && status == TG_OK && joint.type == TG_JOINT_FREE; k++)
            way[joint.dof + k] = 0;
    }
    return status;
}

/* q (+) share of the way to a random configuration */
static tg_status turn(tg_walk *walk, double share, tg_error *error)
{
    double *way = walk->press.tangent;
    tg_status status = tg_walk_way(walk, (uint64_t)walk->phase, way);
    for (int k = 0; k < walk->n.nv; k++)
        way[k] *= share;
    return status == TG_OK ? tg_integrate(walk->m, walk->q, way, walk->q, error) : status;
}

static bool is_fixed(const tg_walk *walk)
{
    tg_joint_info joint;
    for (int j = 0; j < walk->n.njoint; j++)
        if (tg_joint_get(walk->m, j, &joint, NULL) == TG_OK && joint.type == TG_JOINT_FREE)
            return false;
    return true;
}

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

/* Phases come in threes, with the same parameters: a long one from a start, one that continues from its end, and one in
 * which two geoms are brought together. The latter are for the mode of contacts that is rare. (What has no free body
 * does not fall on anything: it is brought there instead.) */
static void choose_phase(tg_walk *walk, int rare, bool touching)
{
    static const int made_for[TG_CONTACT_MODES] = {
        [TG_CONTACT_BREAKING] = RAISED, [TG_CONTACT_STICKING] = RESTED, [TG_CONTACT_SLIDING] = SLID};
    int three = walk->phase / 3, part = walk->phase % 3;
    bool presses = touching && (part == 2 || (part == 1 && rare >= 0 && is_fixed(walk)));
    walk->aim = presses && rare < 0 ? three % TG_CONTACT_MODES : part > 0 && touching ? rare : -1;
    walk->start = part == 0        ? three % STARTS
                  : presses        ? PRESSED
                  : walk->aim >= 0 ? made_for[walk->aim]
                  : three % 2 == 0 ? SLID
                                   : RAISED;
    walk->set = (tg_check_params)(three % TG_CHECK_PARAM_SETS);
    double dt = tg_model_timestep(walk->m), fall = 0.3; /* s: long enough to land */
    walk->most = clamp(walk->share, 4, 25);
    walk->every = part == 0 ? clamp((int)(fall / (dt * walk->most)), 16, 150) : walk->aim < 0 ? 4 : 3;
    walk->length = presses ? clamp((int)(1 / dt), 100, 2000) : walk->every * walk->most;
    walk->taken = walk->last = walk->acting = 0;
}

/* the start of a phase that does not continue the last one: two times in three at a keyframe, if there are any */
static tg_status place(tg_walk *walk, tg_error *error)
{
    const tg_sizes *n = &walk->n;
    int three = walk->phase / 3, part = walk->phase % 3;
    bool at_key = n->nkey > 0 && (three / TG_CHECK_PARAM_SETS + part) % 3 != 2;
    memset(walk->rest_u, 0, sizeof(double) * (size_t)n->nu);
    memset(walk->act, 0, sizeof(double) * (size_t)n->na);
    walk->cache.count = 0;
    return at_key ? tg_key_get(walk->m, walk->phase % n->nkey, NULL, walk->q, walk->v, walk->act, walk->rest_u, error)
                  : tg_default_q(walk->m, walk->q, error);
}

/* something turns or moves by more than 1 rad or 1 m in a step: explicit terms of the dynamics are unstable there */
static bool is_wild(const tg_walk *walk)
{
    for (int k = 0; k < walk->n.nv; k++)
        if (!(fabs(walk->v[k]) * tg_model_timestep(walk->m) < 1))
            return true;
    return false;
}

static tg_status begin_phase(tg_walk *walk, int rare, bool touching)
{
    tg_error error;
    choose_phase(walk, rare, touching);
    const beginning *b = &beginnings[walk->start];
    tg_status status = tg_work_set_params(walk->w, walk->params[walk->set]);
    if (b->goes_on && !is_wild(walk))
        memcpy(walk->rest_u, walk->u, sizeof(double) * (size_t)walk->n.nu);
    else if (status == TG_OK)
        status = place(walk, &error);
    fill(walk, walk->v, walk->n.nv, b->speed);
    bool whole = walk->n.nequality == 0; /* otherwise loops would be torn open */
    if (status == TG_OK && whole && b->turn > 0)
        status = turn(walk, b->turn, &error);
    double high = b->pressed && walk->phase % 2 == 0 ? 1 : 0; /* away from the ground: it can touch itself */
    if (status == TG_OK)
        status = lift(walk, b, high, &error);
    walk->press.geom1 = -1;
    if (status == TG_OK && whole && b->pressed)
        tg_press_touch(walk);
    walk->phase++;
    walk->step = 0;
    return status;
}

/* ---- steps ---- */

/* Every target of a driven phase is held for a quarter of it. */
static void control(tg_walk *walk, const beginning *b)
{
    if (b->drive > 0 && walk->step % (walk->length / 4) == 0)
        fill(walk, walk->drift, walk->n.nu, 1);
    for (int i = 0; i < walk->n.nu; i++)
    {
        double base = b->drive > 0 ? walk->middle[i] + b->drive * walk->half[i] * walk->drift[i] : walk->rest_u[i];
        walk->u[i] = base + b->control * walk->half[i] * tg_walk_noise(walk);
    }
}

/* tau = RNEA(q, v, random) - RNEA(q, v, 0), the last term not where the model floats; forces that would
 * accelerate a body by half as much */
static tg_status force(tg_walk *walk, const beginning *b)
{
    const tg_sizes *n = &walk->n;
    double *acceleration = walk->scratch, *bias = walk->scratch + n->nv;
    fill(walk, acceleration, n->nv, b->push);
    tg_status status = tg_rnea(walk->m, walk->w, walk->q, walk->v, acceleration, walk->tau);
    memset(acceleration, 0, sizeof(double) * (size_t)n->nv);
    if (status == TG_OK)
        status = tg_rnea(walk->m, walk->w, walk->q, walk->v, acceleration, bias);
    for (int k = 0; k < n->nv && !b->floats; k++)
        walk->tau[k] -= bias[k];
    for (int i = 1; i < n->nbody; i++)
        for (int k = 0; k < 3; k++)
            walk->wrench[6 * i + k] = 0.5 * b->push * walk->mass[i] * tg_walk_noise(walk);
    return status;
}

/* tau = RNEA(q, v, random - (v - slow) / 50 ms) - passive - actuators: what is left is what presses. slow: new every 32
 * steps; where all came to rest, joints with dry friction would be at the edge between two modes. */
static tg_status hold(tg_walk *walk, const beginning *b)
{
    const tg_sizes *n = &walk->n;
    double *x = walk->scratch, *slow = walk->press.slow, rate = fmin(20, 0.2 / tg_model_timestep(walk->m));
    if (walk->step % 32 == 0)
        fill(walk, slow, n->nv, 0.05);
    fill(walk, x, n->nv, b->push);
    for (int k = 0; k < n->nv; k++)
        x[k] -= rate * (walk->v[k] - slow[k]);
    tg_status status = tg_rnea(walk->m, walk->w, walk->q, walk->v, x, walk->tau);
    if (status == TG_OK)
        status = tg_passive(walk->m, walk->w, walk->q, walk->v, x);
    for (int k = 0; k < n->nv && status == TG_OK; k++)
        walk->tau[k] -= x[k];
    if (status == TG_OK)
        status = tg_actuation(walk->m, walk->w, walk->q, walk->v, walk->act, walk->u, x, NULL);
    for (int k = 0; k < n->nv && status == TG_OK; k++)
        walk->tau[k] -= x[k];
    memset(walk->wrench, 0, sizeof(double) * 6 * (size_t)n->nbody);
    return status == TG_OK ? tg_press_force(walk) : status;
}

tg_status tg_walk_push(tg_walk *walk, int rare, bool touching)
{
    if (walk->phase == 0 || walk->step >= walk->length || walk->taken >= walk->most || is_wild(walk))
    {
        tg_status status = begin_phase(walk, rare, touching);
        if (status != TG_OK)
            return status;
    }
    const beginning *b = &beginnings[walk->start];
    control(walk, b);
    tg_status status = b->pressed ? hold(walk, b) : force(walk, b);
    walk->step++;
    return status;
}

/* Steps at equal distances, those in which something lands, and, in a phase that is for a mode, only those with it. */
bool tg_walk_due(tg_walk *walk, const int met[TG_CONTACT_MODES])
{
    int acting = met[TG_CONTACT_STICKING] + met[TG_CONTACT_SLIDING];
    bool lands = acting > walk->acting, due = walk->step - walk->last >= walk->every;
    walk->acting = acting;
    if ((!due && !lands) || (walk->aim >= 0 && met[walk->aim] == 0))
        return false;
    walk->last = walk->step;
    walk->taken++;
    return true;
}

tg_status tg_walk_step(tg_walk *walk)
{
    memcpy(walk->q_before, walk->q, sizeof(double) * (size_t)walk->n.nq);
    memcpy(walk->v_before, walk->v, sizeof(double) * (size_t)walk->n.nv);
    memcpy(walk->act_before, walk->act, sizeof(double) * (size_t)walk->n.na);
    walk->cache_before.count = walk->cache.count;
    memcpy(walk->cache_before.entry, walk->cache.entry, sizeof(tg_cache_entry) * (size_t)walk->cache.count);
    tg_state state = {walk->q, walk->v, walk->act, &walk->cache};
    tg_control control = {.u = walk->u, .tau = walk->tau, .wrench = walk->wrench};
    tg_info info = {0};
    tg_status status = tg_step(walk->m, walk->w, &walk->options, &state, &control, &state, &info);
    walk->iterations = info.iterations;
    return status;
}
