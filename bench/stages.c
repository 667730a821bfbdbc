/* Where Tangere's time goes: the stages that its functions are made of, called one by one in the order in which the
 * derivatives of forward dynamics need them, each with its own clock. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"
#include "dynamics/rnea_deriv.h"
#include "dynamics/work.h"
#include "math/ltl.h"
#include "tangere/step.h"

typedef struct stage_data
{
    const tg_model *model;
    tg_work *work;
    const double *q, *v, *a;
    double *force;            /* nv */
    double *dq, *dv, *square; /* nv x nv */
} stage_data;

static void empty(stage_data *d)
{
    (void)d;
}

static void check_inputs(stage_data *d)
{
    if (tg_check_state(d->model, d->work, d->q, d->v) != TG_OK ||
        tg_check_vector(d->work, "a", d->a, d->model->nv) != TG_OK)
        bench_die("tangere: %s", tg_work_message(d->work));
}

static void place(stage_data *d)
{
    tg_place(d->model, d->work, d->q);
}

static void subspaces(stage_data *d)
{
    tg_subspaces(d->model, d->work);
}

static void inertias(stage_data *d)
{
    tg_inertias(d->model, d->work);
}

static void composites(stage_data *d)
{
    tg_composites(d->model, d->work);
}

static void mass_rows(stage_data *d)
{
    tg_mass_rows(d->model, d->work);
}

static void export_mass(stage_data *d)
{
    tg_export_mass(d->model, d->work, d->square);
}

static void factor(stage_data *d)
{
    const tg_model *m = d->model;
    for (int t = 0; t < m->ntree; t++)
        tg_ltl_factor(&m->tree_ltl[t], d->work->M + m->tree_matrix[t], d->work->dinv + m->tree_dof[t]);
}

static void twists(stage_data *d)
{
    tg_node_twists(d->model, d->work, d->v, d->work->V);
}

static void accelerations(stage_data *d)
{
    tg_node_accelerations(d->model, d->work, d->a);
}

static void node_forces(stage_data *d)
{
    tg_node_forces(d->model, d->work);
}

static void sum_forces(stage_data *d)
{
    tg_sum_forces(d->model, d->work, d->force);
}

static void passive(stage_data *d)
{
    tg_passive_force(d->model, d->work, d->q, d->v, 0, d->force);
}

static void derivatives(stage_data *d)
{
    tg_newton_euler_derivatives(d->model, d->work, 1, d->dq, d->dv);
}

static void solve(stage_data *d)
{
    const tg_model *m = d->model;
    size_t nv = (size_t)m->nv;
    for (int t = 0; t < m->ntree; t++)
    {
        size_t first = (size_t)m->tree_dof[t] * (nv + 1);
        const double *L = d->work->M + m->tree_matrix[t], *dinv = d->work->dinv + m->tree_dof[t];
        tg_ltl_solve_many(&m->tree_ltl[t], L, dinv, m->tree_ndof[t], d->dq + first, m->nv);
        tg_ltl_solve_many(&m->tree_ltl[t], L, dinv, m->tree_ndof[t], d->dv + first, m->nv);
    }
}

static void invert(stage_data *d)
{
    const tg_model *m = d->model;
    for (int t = 0; t < m->ntree; t++)
        tg_ltl_inverse(&m->tree_ltl[t], d->work->M + m->tree_matrix[t], d->work->dinv + m->tree_dof[t],
                       d->square + (size_t)m->tree_dof[t] * ((size_t)m->nv + 1), m->nv);
}

/* used_by: see stage_legend in report.c */
static const struct
{
    const char *name, *used_by;
    void (*run)(stage_data *d);
} stages[] = {
    {"clock", "", empty},
    {"check the inputs", "k kv t m T a A", check_inputs},
    {"poses", "k kv t m T a A", place},
    {"motion subspaces", "kv t m T a A", subspaces},
    {"inertias, world axes", "t m T a A", inertias},
    {"composite inertias", "m T a A", composites},
    {"rows of M", "m T a A", mass_rows},
    {"dense M", "m T", export_mass},
    {"factors of M", "a A", factor},
    {"twists", "kv t T a A", twists},
    {"accelerations", "t T a A (twice)", accelerations},
    {"forces", "t T a A (twice)", node_forces},
    {"sum of forces", "t T a A (twice)", sum_forces},
    {"springs and dampers", "a A", passive},
    {"dtau/dq, dtau/dv", "T A", derivatives},
    {"two solves with M", "A", solve},
    {"inverse of M", "A", invert},
};

enum
{
    NSTAGE = sizeof stages / sizeof stages[0]
};
_Static_assert(NSTAGE - 1 <= BENCH_STAGES_MAX, "bench_stage_times is too small");

static double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)(t.tv_sec % 1000000) + (double)t.tv_nsec;
}

static void run_state(stage_data *d, double *smallest, size_t stride)
{
    for (size_t s = 0; s < NSTAGE; s++)
    {
        double start = nanoseconds();
        stages[s].run(d);
        double time = nanoseconds() - start;
        if (time < smallest[s * stride])
            smallest[s * stride] = time;
    }
}

void bench_measure_stages(const tg_model *model, const bench_states *states, int repetitions, bench_stage_times *times)
{
    size_t n = (size_t)states->n, nv = (size_t)states->nv, nq = (size_t)states->nq;
    stage_data d = {.model = model};
    tg_error error;
    if (tg_work_create(model, &d.work, &error) != TG_OK)
        bench_die("tangere: %s", error.message);
    d.force = bench_alloc(nv, sizeof(double));
    d.dq = bench_alloc(3 * nv * nv, sizeof(double));
    d.dv = d.dq + nv * nv;
    d.square = d.dv + nv * nv;
    double *smallest = bench_alloc(n * NSTAGE, sizeof(double));
    for (size_t i = 0; i < n * NSTAGE; i++)
        smallest[i] = 1e18;
    for (int r = 0; r < repetitions; r++)
        for (size_t i = 0; i < n; i++)
        {
            d.q = states->q + i * nq;
            d.v = states->v + i * nv;
            d.a = states->a + i * nv;
            run_state(&d, smallest + i, n);
        }
    double clock = bench_median(smallest, n);
    times->n = NSTAGE - 1;
    for (size_t s = 1; s < NSTAGE; s++)
    {
        times->name[s - 1] = stages[s].name;
        times->used_by[s - 1] = stages[s].used_by;
        times->quiet[s - 1] = 1e-3 * (bench_median(smallest + s * n, n) - clock);
    }
    tg_work_destroy(d.work);
    free(d.force);
    free(d.dq);
    free(smallest);
}
