/* Tangere as a bench_engine, through its public functions: with their checks of the input and their dense outputs. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tangere/step.h"

/* ---- the tree of a model ---- */

static const double *field(const tg_model *m, const char *element, int index, const char *name)
{
    char parameter[64];
    int offset, size;
    tg_error error;
    if (index < 0)
        snprintf(parameter, sizeof parameter, "%s", element);
    else
        snprintf(parameter, sizeof parameter, "%s.#%d.%s", element, index, name);
    if (tg_param_find(m, parameter, &offset, &size, &error) != TG_OK)
        bench_die("%s: %s", parameter, error.message);
    return tg_params_view(tg_model_params(m)) + offset;
}

static bench_body describe_body(const tg_model *m, int i)
{
    tg_body_info info;
    if (tg_body_get(m, i, &info, NULL) != TG_OK)
        bench_die("no body %d", i);
    bench_body b = {.parent = info.parent, .joint = info.joint, .njoint = info.njoint};
    memcpy(b.pos, field(m, "body", i, "pos"), sizeof b.pos);
    memcpy(b.quat, field(m, "body", i, "quat"), sizeof b.quat);
    b.mass = *field(m, "body", i, "mass");
    memcpy(b.com, field(m, "body", i, "com"), sizeof b.com);
    memcpy(b.inertia, field(m, "body", i, "inertia"), sizeof b.inertia);
    return b;
}

static bench_joint describe_joint(const tg_model *m, int j)
{
    static const bench_joint_type types[TG_JOINT_TYPE_COUNT] = {
        [TG_JOINT_FREE] = BENCH_FREE,
        [TG_JOINT_BALL] = BENCH_BALL,
        [TG_JOINT_SLIDE] = BENCH_SLIDE,
        [TG_JOINT_HINGE] = BENCH_HINGE,
    };
    tg_joint_info info;
    if (tg_joint_get(m, j, &info, NULL) != TG_OK)
        bench_die("no joint %d", j);
    bench_joint b = {.type = types[info.type], .q = info.q, .dof = info.dof};
    memcpy(b.anchor, field(m, "joint", j, "pos"), sizeof b.anchor);
    memcpy(b.axis, field(m, "joint", j, "axis"), sizeof b.axis);
    b.ref = *field(m, "joint", j, "ref");
    b.armature = *field(m, "joint", j, "armature");
    return b;
}

bench_tree bench_describe(const tg_model *m)
{
    tg_sizes s = tg_model_sizes(m);
    bench_tree tree = {.nbody = s.nbody, .njoint = s.njoint, .nq = s.nq, .nv = s.nv};
    tree.body = bench_alloc((size_t)s.nbody, sizeof *tree.body);
    tree.joint = bench_alloc((size_t)s.njoint, sizeof *tree.joint);
    for (int i = 0; i < s.nbody; i++)
        tree.body[i] = describe_body(m, i);
    for (int j = 0; j < s.njoint; j++)
        tree.joint[j] = describe_joint(m, j);
    memcpy(tree.gravity, field(m, "gravity", -1, NULL), sizeof tree.gravity);
    return tree;
}

void bench_tree_free(bench_tree *tree)
{
    free(tree->body);
    free(tree->joint);
}

/* ---- states ---- */

bench_states bench_random_states(const tg_model *m, int n)
{
    tg_sizes s = tg_model_sizes(m);
    size_t nv = (size_t)s.nv, nq = (size_t)s.nq, count = (size_t)n;
    bench_states states = {.n = n, .nq = s.nq, .nv = s.nv};
    states.q = bench_alloc(count * nq, sizeof(double));
    states.v = bench_alloc(count * nv, sizeof(double));
    states.a = bench_alloc(count * nv, sizeof(double));
    states.tau = bench_alloc(count * nv, sizeof(double));
    uint64_t seed = 12345;
    for (size_t i = 0; i < count; i++)
        if (tg_random_state(m, i, states.q + i * nq, states.v + i * nv, NULL) != TG_OK)
            bench_die("no random state of %s", tg_model_name(m));
    for (size_t i = 0; i < count * nv; i++)
    {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        states.a[i] = (double)(int32_t)(seed >> 32) * 0x1p-31;
        states.tau[i] = 10.0 * (double)(int32_t)(uint32_t)(seed >> 16) * 0x1p-31;
    }
    return states;
}

void bench_states_free(bench_states *states)
{
    free(states->q);
    free(states->v);
    free(states->a);
    free(states->tau);
}

/* ---- the engine ---- */

typedef struct engine
{
    const tg_model *model;
    tg_work *work;
    const bench_states *states;
    double *q, *v, *a, *tau; /* the inputs of one state */
    double *force, *out[3];  /* nv; nv x nv */
    tg_status status;        /* the last failure */
} engine;

static void load(void *self, int i)
{
    engine *e = self;
    size_t nq = (size_t)e->states->nq, nv = (size_t)e->states->nv, k = (size_t)i;
    memcpy(e->q, e->states->q + k * nq, nq * sizeof(double));
    memcpy(e->v, e->states->v + k * nv, nv * sizeof(double));
    memcpy(e->a, e->states->a + k * nv, nv * sizeof(double));
    memcpy(e->tau, e->states->tau + k * nv, nv * sizeof(double));
    if (e->status != TG_OK)
        bench_die("tangere: %s", tg_work_message(e->work));
}

static void note(engine *e, tg_status status)
{
    if (status != TG_OK)
        e->status = status;
}

static void run_empty(void *self)
{
    (void)self;
}

static void run_kinematics_q(void *self)
{
    engine *e = self;
    note(e, tg_kinematics(e->model, e->work, e->q, NULL));
}

static void run_kinematics_qv(void *self)
{
    engine *e = self;
    note(e, tg_kinematics(e->model, e->work, e->q, e->v));
}

static void run_rnea(void *self)
{
    engine *e = self;
    note(e, tg_rnea(e->model, e->work, e->q, e->v, e->a, e->force));
}

static void run_mass_matrix(void *self)
{
    engine *e = self;
    note(e, tg_mass_matrix(e->model, e->work, e->q, e->out[0]));
}

static void run_rnea_derivatives(void *self)
{
    engine *e = self;
    note(e, tg_rnea_derivatives(e->model, e->work, e->q, e->v, e->a, e->out[0], e->out[1], e->out[2]));
}

static void run_forward_dynamics(void *self)
{
    engine *e = self;
    note(e, tg_forward_dynamics(e->model, e->work, e->q, e->v, e->tau, e->force));
}

static void run_forward_dynamics_derivatives(void *self)
{
    engine *e = self;
    note(e, tg_forward_dynamics_derivatives(e->model, e->work, e->q, e->v, e->tau, e->out[0], e->out[1], e->out[2]));
}

static void need(engine *e, tg_status status)
{
    if (status != TG_OK)
        bench_die("tangere: %s", tg_work_message(e->work));
}

static void results(void *self, const double *q, const double *v, const double *a, const double *tau, bench_results *r)
{
    engine *e = self;
    need(e, tg_mass_matrix(e->model, e->work, q, r->mass));
    need(e, tg_rnea(e->model, e->work, q, v, a, r->tau));
    need(e, tg_rnea_derivatives(e->model, e->work, q, v, a, r->dtau_dq, r->dtau_dv, NULL));
    need(e, tg_forward_dynamics(e->model, e->work, q, v, tau, r->acceleration));
    need(e, tg_forward_dynamics_derivatives(e->model, e->work, q, v, tau, r->da_dq, r->da_dv, r->da_dtau));
}

void bench_tangere_passive(const bench_engine *tangere, const double *q, const double *v, double *force,
                           double *dforce_dq, double *dforce_dv)
{
    engine *e = tangere->self;
    need(e, tg_passive(e->model, e->work, q, v, force));
    need(e, tg_passive_derivatives(e->model, e->work, q, v, dforce_dq, dforce_dv));
}

static void destroy(void *self)
{
    engine *e = self;
    tg_work_destroy(e->work);
    free(e->q);
    free(e->v);
    free(e->a);
    free(e->tau);
    free(e->force);
    for (int i = 0; i < 3; i++)
        free(e->out[i]);
    free(e);
}

bench_engine bench_tangere_create(const tg_model *model, const bench_states *states)
{
    engine *e = bench_alloc(1, sizeof *e);
    size_t nq = (size_t)states->nq, nv = (size_t)states->nv;
    tg_error error;
    e->model = model;
    e->states = states;
    if (tg_work_create(model, &e->work, &error) != TG_OK)
        bench_die("tangere: %s", error.message);
    e->q = bench_alloc(nq, sizeof(double));
    e->v = bench_alloc(nv, sizeof(double));
    e->a = bench_alloc(nv, sizeof(double));
    e->tau = bench_alloc(nv, sizeof(double));
    e->force = bench_alloc(nv, sizeof(double));
    for (int i = 0; i < 3; i++)
        e->out[i] = bench_alloc(nv * nv, sizeof(double));
    return (bench_engine){
        .setting = "Tangere",
        .self = e,
        .load = load,
        .results = results,
        .destroy = destroy,
        .run = {[BENCH_EMPTY] = run_empty,
                [BENCH_KINEMATICS_Q] = run_kinematics_q,
                [BENCH_KINEMATICS_QV] = run_kinematics_qv,
                [BENCH_RNEA] = run_rnea,
                [BENCH_MASS_MATRIX] = run_mass_matrix,
                [BENCH_RNEA_DERIVATIVES] = run_rnea_derivatives,
                [BENCH_FORWARD_DYNAMICS] = run_forward_dynamics,
                [BENCH_FORWARD_DYNAMICS_DERIVATIVES] = run_forward_dynamics_derivatives},
    };
}
