/* Workspaces of quadratic programs, what is refused, and batches over threads. */
#include "solve/qcqp_batch.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "math/dense.h"

static const uint32_t qcqp_cookie = 0x74675150u;

static const double asymmetry = 1e-12; /* of the largest entry: what another order of summation leaves in J M^-1 J^T */

tg_qcqp_def tg_default_qcqp(void)
{
    return (tg_qcqp_def){.kind = TG_QCQP_BALLS, .blocks = 1, .size = 2, .tolerance = 1e-8, .cookie = qcqp_cookie};
}

/* ---- making ---- */

static tg_status check_def(const tg_qcqp_def *def, tg_qcqp **q, tg_error *error)
{
    if (def == NULL || q == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_qcqp_create: %s is NULL", def == NULL ? "def" : "q");
    if (def->cookie != qcqp_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_qcqp_create: def was not made with tg_default_qcqp()");
    if (def->kind != TG_QCQP_NONNEGATIVE && def->kind != TG_QCQP_BALLS)
        return tg_fail(error, TG_ERR_VALUE, "tg_qcqp_create: kind = %d", (int)def->kind);
    if (def->blocks < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_qcqp_create: blocks = %d; must be at least 1", def->blocks);
    if (def->threads < 0 || def->threads > 1024)
        return tg_fail(error, TG_ERR_VALUE, "tg_qcqp_create: threads = %d; must be 0 .. 1024", def->threads);
    if (!(def->tolerance > 0) || def->tolerance > 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_qcqp_create: tolerance = %g; must be above 0, at most 1",
                       def->tolerance);
    for (int i = 0; def->kind == TG_QCQP_BALLS && i < def->blocks; i++)
    {
        int size = def->sizes != NULL ? def->sizes[i] : def->size;
        if (size < 1 || size > TG_QCQP_SIZE_MAX)
            return tg_fail(error, TG_ERR_VALUE, "tg_qcqp_create: sizes[%d] = %d rows; must be 1 .. %d", i, size,
                           TG_QCQP_SIZE_MAX);
    }
    return TG_OK;
}

static int64_t rows_of(const tg_qcqp_def *def)
{
    int64_t sum = 0;
    for (int i = 0; i < def->blocks; i++)
        sum += def->kind == TG_QCQP_NONNEGATIVE ? 1 : def->sizes != NULL ? def->sizes[i] : def->size;
    return sum;
}

static tg_qcqp *lay_out(tg_arena *arena, const tg_qcqp_def *def, int n, int threads)
{
    tg_qcqp *q = TG_TAKE(arena, tg_qcqp, 1, "qcqp");
    tg_qcqp_block *block = TG_TAKE(arena, tg_qcqp_block, def->blocks, "qcqp block");
    tg_qcqp_lane *lane = TG_TAKE(arena, tg_qcqp_lane, threads, "qcqp lane");
    for (int i = 0; i < threads; i++)
    {
        tg_qcqp_lane counted, *l = lane != NULL ? &lane[i] : &counted;
        l->block = TG_TAKE(arena, tg_qcqp_block, def->blocks, "qcqp block");
        tg_qcqp_work_take(&l->work, n, def->blocks, arena);
    }
    if (q != NULL)
        *q = (tg_qcqp){.def = *def, .n = n, .blocks = def->blocks, .threads = threads, .block = block, .lane = lane};
    return q;
}

static void fill_blocks(tg_qcqp *q, const tg_qcqp_def *def)
{
    int row = 0;
    for (int i = 0; i < q->blocks; i++)
    {
        bool ball = def->kind == TG_QCQP_BALLS;
        int rows = !ball ? 1 : def->sizes != NULL ? def->sizes[i] : def->size;
        q->block[i] = (tg_qcqp_block){ball ? TG_QCQP_SET_BALL : TG_QCQP_SET_POSITIVE, row, rows, 0};
        row += rows;
    }
    q->def.sizes = NULL;
}

tg_status tg_qcqp_create(const tg_qcqp_def *def, tg_qcqp **out, tg_error *error)
{
    TG_TRY(check_def(def, out, error));
    int64_t rows = rows_of(def);
    int threads = def->threads > 0 ? def->threads : tg_processors();
    tg_arena count = {0};
    if (rows <= INT_MAX)
        lay_out(&count, def, (int)rows, threads);
    void *memory = rows > INT_MAX || count.failed ? NULL : tg_alloc(def->allocator, count.used);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_qcqp_create: no memory for %lld rows and %d threads", (long long)rows,
                       threads);
    tg_arena arena = {.base = memory, .capacity = count.used};
    tg_qcqp *q = lay_out(&arena, def, (int)rows, threads);
    q->arena = arena;
    q->allocator = def->allocator != NULL ? *def->allocator : (tg_allocator){0};
    q->def.allocator = def->allocator != NULL ? &q->allocator : NULL;
    fill_blocks(q, def);
    tg_status status = tg_threads_create(threads, q->def.allocator, &q->pool, error);
    if (status != TG_OK)
        tg_qcqp_destroy(q);
    else
        *out = q;
    return status;
}

void tg_qcqp_destroy(tg_qcqp *q)
{
    if (q == NULL)
        return;
    tg_threads_destroy(q->pool);
    tg_allocator allocator = q->allocator;
    bool own = q->def.allocator != NULL;
    tg_arena arena = q->arena;
    tg_arena_close(&arena);
    tg_free(own ? &allocator : NULL, q);
}

int tg_qcqp_rows(const tg_qcqp *q)
{
    return q != NULL ? q->n : 0;
}

int tg_qcqp_blocks(const tg_qcqp *q)
{
    return q != NULL ? q->blocks : 0;
}

const char *tg_qcqp_message(const tg_qcqp *q)
{
    return q != NULL ? q->error.message : "";
}

/* ---- what is refused ---- */

/* the index of the first number that is not finite, or negative where that is forbidden; -1: none */
static ptrdiff_t bad_number(size_t count, const double *a, bool negative)
{
    v4 sum[2] = {v4_zero(), v4_zero()}; /* 0 a is NaN where a is not finite */
    size_t whole = negative ? count / (2 * V4_LANES) * (2 * V4_LANES) : 0;
    for (size_t i = 0; i < whole; i += 2 * V4_LANES)
    {
        sum[0] += 0 * v4_loadu(a + i);
        sum[1] += 0 * v4_loadu(a + i + V4_LANES);
    }
    for (size_t i = v4_sum(sum[0] + sum[1]) == 0 ? whole : 0; i < count; i++)
        if (!isfinite(a[i]) || (!negative && a[i] < 0))
            return (ptrdiff_t)i;
    return -1;
}

/* the largest |G_ij - G_ji|, and where; in tiles, so that columns are read from the cache */
static double worst_asymmetry(int n, const double *G, int *row, int *column)
{
    enum
    {
        TILE = 8
    };
    double worst = 0;
    for (int I = 0; I < n; I += TILE)
        for (int J = 0; J <= I; J += TILE)
            for (int i = I; i < n && i < I + TILE; i++)
                for (int j = J; j < i && j < J + TILE; j++)
                {
                    double difference = fabs(G[(ptrdiff_t)i * n + j] - G[(ptrdiff_t)j * n + i]);
                    if (difference > worst)
                        worst = difference, *row = i, *column = j;
                }
    return worst;
}

/* G + shift has a Cholesky factor: no eigenvalue is below -shift */
static tg_status check_definite(const tg_qcqp *q, tg_qcqp_work *w, const double *G, const char *name, int index,
                                tg_error *error)
{
    int n = q->n, row = 0, column = 0;
    double largest = 0;
    for (int i = 0; i < n; i++)
    {
        double diagonal = G[(ptrdiff_t)i * (n + 1)];
        if (diagonal < 0)
            return tg_fail(error, TG_ERR_VALUE, "%s: G[%d][%d][%d] = %g; G must be positive semidefinite", name, index,
                           i, i, diagonal);
        largest = fmax(largest, diagonal);
    }
    double worst = worst_asymmetry(n, G, &row, &column);
    if (worst > asymmetry * largest)
        return tg_fail(error, TG_ERR_VALUE, "%s: G[%d][%d][%d] = %g and G[%d][%d][%d] = %g; G must be symmetric", name,
                       index, row, column, G[(ptrdiff_t)row * n + column], index, column, row,
                       G[(ptrdiff_t)column * n + row]);
    if (q->def.semidefinite)
        return TG_OK;
    memcpy(w->A, G, sizeof(double) * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++)
        w->A[(ptrdiff_t)i * (n + 1)] += asymmetry * n * (largest > 0 ? largest : 1);
    int bad = tg_chol_upper(n, w->A, n);
    if (bad >= 0)
        return tg_fail(error, TG_ERR_VALUE, "%s: G[%d] is indefinite: its first %d rows have a negative eigenvalue",
                       name, index, bad + 1);
    return TG_OK;
}

static tg_status check_problem(const tg_qcqp *q, tg_qcqp_work *w, const char *name, const tg_qcqp_data *data,
                               const double *x, int index, tg_error *error)
{
    size_t n = (size_t)q->n, blocks = (size_t)q->blocks, at = (size_t)index;
    const double *G = data->G + at * n * n;
    ptrdiff_t bad = bad_number(n * n, G, true);
    if (bad >= 0)
        return tg_fail(error, TG_ERR_VALUE, "%s: G[%d][%d][%d] = %g; must be finite", name, index, (int)(bad / q->n),
                       (int)(bad % q->n), G[bad]);
    struct
    {
        const char *name;
        const double *data;
        size_t count;
        bool negative;
    } field[] = {{"g", data->g, n, true},
                 {"mu", q->def.kind == TG_QCQP_BALLS ? data->mu : NULL, blocks, false},
                 {"l", q->def.kind == TG_QCQP_BALLS ? data->l : NULL, blocks, false},
                 {"x", x, n, true}};
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++)
    {
        const double *a = field[i].data != NULL ? field[i].data + at * field[i].count : NULL;
        bad = a != NULL ? bad_number(field[i].count, a, field[i].negative) : -1;
        if (bad >= 0)
            return tg_fail(error, TG_ERR_VALUE, "%s: %s[%d][%d] = %g; must be finite%s", name, field[i].name, index,
                           (int)bad, a[bad], field[i].negative ? "" : " and not negative");
    }
    return check_definite(q, w, G, name, index, error);
}

/* ---- batches ---- */

typedef struct batch_call
{
    tg_qcqp *q;
    const char *name;
    const tg_qcqp_data *data;
    const double *x;
    tg_qcqp_job *job;
    void *call;
} batch_call;

static void check_items(void *context, int worker, int first, int end)
{
    batch_call *c = context;
    tg_qcqp_lane *lane = &c->q->lane[worker];
    for (int i = first; i < end; i++)
    {
        tg_error error;
        if (check_problem(c->q, &lane->work, c->name, c->data, c->x, i, &error) != TG_OK && i < lane->refused)
        {
            lane->refused = i;
            lane->error = error;
        }
    }
}

static void do_items(void *context, int worker, int first, int end)
{
    batch_call *c = context;
    tg_qcqp_lane *lane = &c->q->lane[worker];
    size_t n = (size_t)c->q->n, blocks = (size_t)c->q->blocks;
    for (int i = first; i < end; i++)
    {
        size_t at = (size_t)i;
        tg_qcqp_problem p = {.n = c->q->n,
                             .blocks = c->q->blocks,
                             .block = lane->block,
                             .G = c->data->G + at * n * n,
                             .g = c->data->g + at * n,
                             .tolerance = c->q->def.tolerance};
        memcpy(lane->block, c->q->block, sizeof *lane->block * blocks);
        for (size_t k = 0; c->q->def.kind == TG_QCQP_BALLS && k < blocks; k++)
            lane->block[k].radius = c->data->mu[at * blocks + k] * c->data->l[at * blocks + k];
        c->job(c->call, lane, &p, i);
    }
}

static tg_status share_out(tg_qcqp *q, int count, tg_threads_job *job, batch_call *call)
{
    if (count > 1 && q->threads > 1)
        return tg_threads_run(q->pool, count, 1, job, call, &q->error);
    job(call, 0, 0, count);
    return TG_OK;
}

tg_status tg_qcqp_run(tg_qcqp *q, const char *name, const tg_qcqp_data *data, const double *x, tg_qcqp_job *job,
                      void *call)
{
    bool balls = q->def.kind == TG_QCQP_BALLS;
    q->error.message[0] = 0;
    if (data == NULL || data->G == NULL || data->g == NULL || (balls && (data->mu == NULL || data->l == NULL)))
        return tg_fail(&q->error, TG_ERR_ARGUMENT, "%s: %s is NULL", name,
                       data == NULL       ? "data"
                       : data->G == NULL  ? "G"
                       : data->g == NULL  ? "g"
                       : data->mu == NULL ? "mu"
                                          : "l");
    if (data->count < 0)
        return tg_fail(&q->error, TG_ERR_VALUE, "%s: count = %d problems; must not be negative", name, data->count);
    batch_call c = {q, name, data, x, job, call};
    for (int i = 0; i < q->threads; i++)
        q->lane[i].refused = INT_MAX;
    TG_TRY(share_out(q, data->count, check_items, &c));
    const tg_qcqp_lane *refused = &q->lane[0];
    for (int i = 1; i < q->threads; i++)
        if (q->lane[i].refused < refused->refused)
            refused = &q->lane[i];
    if (refused->refused < INT_MAX)
    {
        q->error = refused->error;
        return refused->error.status;
    }
    return share_out(q, data->count, do_items, &c);
}

typedef struct solve_call
{
    const double *warm;
    double *x;
    tg_qcqp_info *info;
} solve_call;

static void solve_item(void *call, tg_qcqp_lane *lane, const tg_qcqp_problem *p, int index)
{
    solve_call *c = call;
    tg_qcqp_info info;
    size_t bytes = sizeof(double) * (size_t)p->n;
    ptrdiff_t at = (ptrdiff_t)index * p->n;
    if (c->warm != NULL)
        memcpy(lane->work.x, c->warm + at, bytes);
    else
        memset(lane->work.x, 0, bytes);
    tg_qcqp_solve_one(p, &lane->work, &info);
    memcpy(c->x + at, lane->work.x, bytes);
    if (c->info != NULL)
        c->info[index] = info;
}

tg_status tg_qcqp_solve(tg_qcqp *q, const tg_qcqp_data *data, const double *warm, double *x, tg_qcqp_info *info)
{
    if (q == NULL)
        return TG_ERR_ARGUMENT;
    if (x == NULL)
        return tg_fail(&q->error, TG_ERR_ARGUMENT, "tg_qcqp_solve: x is NULL");
    solve_call call = {warm, x, info};
    return tg_qcqp_run(q, "tg_qcqp_solve", data, warm, solve_item, &call);
}
