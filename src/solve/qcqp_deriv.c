/* Derivatives of the solution, by the equations of its face (docs/qcqp.md).
 *
 * A block on its sphere moves by dx_i = u_i dr_i + T_i dy_i, u_i = x_i / r_i, and s_i + lambda_i x_i = 0 gives
 *     A dy = -T'(dG x + dg + G U dr),   A = T'GT + diag(lambda),   dx = U dr + T dy.
 * With z = T A^-1 T' xbar the adjoint is
 *     gbar = -z,   Gbar = -(z x' + x z') / 2,   rbar_i = u_i . (xbar - G z)_i,   mubar = l rbar,   lbar = mu rbar.
 * A ball without a radius has u_i = -s_i / |s_i|: the side on which it has one. Where A is singular A^-1 is its
 * pseudo-inverse. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/qcqp_batch.h"

enum
{
    REFINEMENTS = 20 /* a well-conditioned system takes one; a singular one loses a factor A / shift each */
};

/* what is nearer to a change of the active set than this, relative, is at it */
#define NEAR 1e-8
/* of the diagonal, where A is singular: rounding moves the null space by DBL_EPSILON / shift */
static const double singular_shift = 1e-7;

static double size_of(int rows, const double *x)
{
    double sum = 0;
    for (int r = 0; r < rows; r++)
        sum += x[r] * x[r];
    return sqrt(sum);
}

/* ---- the face of a solution ---- */

/* touching: pressed against the boundary; the margin of the block, 0 at a change of the active set */
static double touch(const tg_qcqp_block *b, double scale, double size, const double *x, const double *s, bool *touching)
{
    double force = scale > 0 ? size_of(b->rows, s) / scale : 0;
    double gap = 1;
    if (b->set == TG_QCQP_SET_POSITIVE)
    {
        gap = size > 0 ? x[0] / size : 0;
        force = scale > 0 ? s[0] / scale : 0;
    }
    else if (b->radius == 0)
    {
        *touching = true;
        return 0;
    }
    else
        gap = 1 - size_of(b->rows, x) / b->radius;
    *touching = gap <= NEAR && force > NEAR;
    return *touching ? force : fmax(gap, 0);
}

static void face(const tg_qcqp_problem *p, tg_qcqp_work *w, const double *x, tg_qcqp_label *label)
{
    double size = 0;
    memcpy(w->x, x, sizeof(double) * (size_t)p->n);
    tg_qcqp_measure(p, w);
    tg_qcqp_gradient(p, w->x, w->s);
    for (int i = 0; i < p->n; i++)
        size = fmax(size, fabs(x[i]));
    *label = (tg_qcqp_label){.kind = TG_QCQP_EXACT, .margin = INFINITY};
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        double margin = touch(b, w->scale, size, w->x + b->row, w->s + b->row, &w->touching[i]);
        label->margin = fmin(label->margin, margin);
    }
    if (label->margin <= NEAR)
        label->kind = TG_QCQP_ONE_SIDED;
    tg_qcqp_classify(p, w);
    tg_qcqp_factor(p, w, singular_shift);
    if (w->null != 0)
        label->kind = TG_QCQP_REGULARISED;
    double most = 0, least = INFINITY;
    for (int i = 0; i < w->moving; i++)
    {
        double root = w->A[(ptrdiff_t)i * (w->ld + 1)];
        most = fmax(most, root);
        least = fmin(least, root);
    }
    label->condition = w->moving > 0 ? most * most / (least * least) : 1;
}

/* out = A y; trial and ds are scratch */
static void multiply(const tg_qcqp_problem *p, tg_qcqp_work *w, const double *y, double *out)
{
    tg_qcqp_extend(p, w, y, w->trial);
    tg_gemm_nt(p->n, 1, p->n, p->G, p->n, w->trial, p->n, TG_GEMM_SET, w->ds, 1);
    tg_qcqp_restrict(p, w, w->ds, out);
    for (int i = 0; i < p->blocks; i++)
        for (int k = w->first[i]; w->at[i] == TG_QCQP_ON && k < w->first[i + 1]; k++)
            out[k] += w->lambda[i] * y[k];
}

/* y = A^-1 b with refinement, A^+ b where A is singular: (A + shift)^-1 A (A + shift)^-1 leaves out the null space */
static void solve_face(const tg_qcqp_problem *p, tg_qcqp_work *w, const double *b, double *y, tg_qcqp_label *label)
{
    bool singular = label->kind == TG_QCQP_REGULARISED;
    int n = w->moving;
    double size = size_of(n, b), last = INFINITY;
    double *r = w->r, *part = w->best;
    memset(y, 0, sizeof(double) * (size_t)n);
    memcpy(r, b, sizeof(double) * (size_t)n);
    for (int k = 0; k < REFINEMENTS && size > 0; k++)
    {
        tg_chol_upper_solve(n, w->A, w->ld, 1, r, 1);
        if (singular)
        {
            multiply(p, w, r, part);
            memcpy(r, part, sizeof(double) * (size_t)n);
            if (size_of(n, r) <= DBL_EPSILON * size)
                break;
            tg_chol_upper_solve(n, w->A, w->ld, 1, r, 1);
        }
        for (int i = 0; i < n; i++)
            y[i] += r[i];
        multiply(p, w, y, part);
        for (int i = 0; i < n; i++)
            r[i] = b[i] - part[i];
        double residual = size_of(n, r);
        label->residual = fmax(label->residual, singular ? 0 : residual / size);
        if (!singular && (residual <= DBL_EPSILON * size || residual > 0.5 * last))
            break;
        last = residual;
    }
}

/* u_i: how x_i follows its radius; false: it does not */
static bool follows(const tg_qcqp_problem *p, const tg_qcqp_work *w, int i, double *u)
{
    const tg_qcqp_block *b = &p->block[i];
    const double *s = w->s + b->row, *x = w->x + b->row;
    double size = size_of(b->rows, s);
    if (b->set != TG_QCQP_SET_BALL || w->at[i] == TG_QCQP_INSIDE || size == 0)
        return false;
    for (int r = 0; r < b->rows; r++)
        u[r] = w->at[i] == TG_QCQP_ON ? x[r] / b->radius : -s[r] / size;
    return true;
}

/* ---- forward ---- */

/* dx from the change of the gradient at fixed x (in d, changed) and of the radii (blocks; NULL: none) */
static void push(const tg_qcqp_problem *p, tg_qcqp_work *w, const double *dr, double *dx, tg_qcqp_label *label)
{
    memset(w->kept, 0, sizeof(double) * (size_t)p->n);
    for (int i = 0; dr != NULL && i < p->blocks; i++)
    {
        double u[TG_QCQP_SIZE_MAX];
        if (dr[i] != 0 && follows(p, w, i, u))
            for (int r = 0; r < p->block[i].rows; r++)
                w->kept[p->block[i].row + r] = u[r] * dr[i];
    }
    if (dr != NULL)
        tg_gemm_nt(p->n, 1, p->n, p->G, p->n, w->kept, p->n, TG_GEMM_ADD, w->d, 1);
    tg_qcqp_restrict(p, w, w->d, w->y);
    for (int i = 0; i < w->moving; i++)
        w->y[i] = -w->y[i];
    solve_face(p, w, w->y, w->shifted, label);
    tg_qcqp_extend(p, w, w->shifted, dx);
    for (int i = 0; i < p->n; i++)
        dx[i] += w->kept[i];
}

typedef struct deriv_call
{
    const tg_qcqp_data *data;
    const double *x, *cotangent;
    const tg_qcqp_tangent *tangent;
    const tg_qcqp_jacobian *jacobian;
    double *dx;
    tg_qcqp_label *label;
} deriv_call;

static void jvp_item(void *call, tg_qcqp_lane *lane, const tg_qcqp_problem *p, int index)
{
    deriv_call *c = call;
    tg_qcqp_work *w = &lane->work;
    size_t n = (size_t)p->n, blocks = (size_t)p->blocks, at = (size_t)index;
    const tg_qcqp_tangent *in = c->tangent;
    tg_qcqp_label label;
    face(p, w, c->x + at * n, &label);
    memset(w->d, 0, sizeof(double) * n);
    if (in->g != NULL)
        memcpy(w->d, in->g + at * n, sizeof(double) * n);
    for (size_t i = 0; in->G != NULL && i < n; i++)
        for (size_t j = 0; j < n; j++) /* the symmetric part */
            w->d[i] += 0.5 * (in->G[(at * n + i) * n + j] + in->G[(at * n + j) * n + i]) * w->x[j];
    bool radii = c->data->mu != NULL && c->data->l != NULL && (in->mu != NULL || in->l != NULL);
    double *dr = w->c; /* not needed any more */
    for (size_t i = 0; radii && i < blocks; i++)
        dr[i] = (in->mu != NULL ? in->mu[at * blocks + i] * c->data->l[at * blocks + i] : 0) +
                (in->l != NULL ? in->l[at * blocks + i] * c->data->mu[at * blocks + i] : 0);
    push(p, w, radii ? dr : NULL, c->dx + at * n, &label);
    if (c->label != NULL)
        c->label[index] = label;
}

/* ---- reverse ---- */

static void pull_matrix(int n, const double *z, const double *x, double *out)
{
    for (int i = 0; i < n; i++, out += n)
    {
        const double a = -0.5 * z[i], b = -0.5 * x[i];
        for (int j = 0; j < n; j++)
            out[j] = a * x[j] + b * z[j];
    }
}

static void vjp_item(void *call, tg_qcqp_lane *lane, const tg_qcqp_problem *p, int index)
{
    deriv_call *c = call;
    tg_qcqp_work *w = &lane->work;
    size_t n = (size_t)p->n, blocks = (size_t)p->blocks, at = (size_t)index;
    const tg_qcqp_tangent *out = c->tangent;
    const double *bar = c->cotangent + at * n;
    tg_qcqp_label label;
    face(p, w, c->x + at * n, &label);
    tg_qcqp_restrict(p, w, bar, w->y);
    solve_face(p, w, w->y, w->shifted, &label);
    double *z = w->kept;
    tg_qcqp_extend(p, w, w->shifted, z);
    for (size_t i = 0; out->g != NULL && i < n; i++)
        out->g[at * n + i] = -z[i];
    if (out->G != NULL)
        pull_matrix(p->n, z, w->x, out->G + at * n * n);
    if (out->mu != NULL || out->l != NULL)
    {
        tg_gemm_nt(p->n, 1, p->n, p->G, p->n, z, p->n, TG_GEMM_SET, w->ds, 1);
        for (size_t i = 0; i < blocks; i++)
        {
            double u[TG_QCQP_SIZE_MAX], sum = 0;
            bool moved = follows(p, w, (int)i, u);
            for (int r = 0; moved && r < p->block[i].rows; r++)
                sum += u[r] * (bar[p->block[i].row + r] - w->ds[p->block[i].row + r]);
            if (out->mu != NULL)
                out->mu[at * blocks + i] = c->data->l != NULL ? sum * c->data->l[at * blocks + i] : 0;
            if (out->l != NULL)
                out->l[at * blocks + i] = c->data->mu != NULL ? sum * c->data->mu[at * blocks + i] : 0;
        }
    }
    if (c->label != NULL)
        c->label[index] = label;
}

/* ---- dense matrices ---- */

/* dx_dG (n x n x n) from K = -dx_dg in H */
static void by_matrix(int n, const double *K, const double *x, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t k = 0; k < n; k++)
                out[(i * n + j) * n + k] = -0.5 * (K[i * n + j] * x[k] + K[i * n + k] * x[j]);
}

static void by_radii(const deriv_call *c, const tg_qcqp_problem *p, tg_qcqp_work *w, size_t at, tg_qcqp_label *label)
{
    const tg_qcqp_jacobian *out = c->jacobian;
    size_t n = (size_t)p->n, blocks = (size_t)p->blocks;
    double *dr = w->c, *column = w->H;
    memset(dr, 0, sizeof(double) * blocks);
    for (size_t k = 0; k < blocks; k++)
    {
        dr[k] = 1;
        memset(w->d, 0, sizeof(double) * n);
        push(p, w, dr, column, label);
        dr[k] = 0;
        for (size_t i = 0; i < n; i++)
        {
            if (out->dx_dmu != NULL)
                out->dx_dmu[(at * n + i) * blocks + k] =
                    c->data->l != NULL ? column[i] * c->data->l[at * blocks + k] : 0;
            if (out->dx_dl != NULL)
                out->dx_dl[(at * n + i) * blocks + k] =
                    c->data->mu != NULL ? column[i] * c->data->mu[at * blocks + k] : 0;
        }
    }
}

static void jacobian_item(void *call, tg_qcqp_lane *lane, const tg_qcqp_problem *p, int index)
{
    deriv_call *c = call;
    tg_qcqp_work *w = &lane->work;
    const tg_qcqp_jacobian *out = c->jacobian;
    size_t n = (size_t)p->n, at = (size_t)index;
    tg_qcqp_label label;
    face(p, w, c->x + at * n, &label);
    if (out->dx_dg != NULL || out->dx_dG != NULL)
    {
        for (size_t k = 0; k < n; k++) /* K is symmetric: column k is row k */
        {
            memset(w->d, 0, sizeof(double) * n);
            w->d[k] = -1;
            push(p, w, NULL, w->H + k * n, &label);
        }
        for (size_t i = 0; out->dx_dg != NULL && i < n; i++)
            for (size_t k = 0; k < n; k++)
                out->dx_dg[(at * n + i) * n + k] = -0.5 * (w->H[i * n + k] + w->H[k * n + i]);
        if (out->dx_dG != NULL)
            by_matrix(p->n, w->H, w->x, out->dx_dG + at * n * n * n);
    }
    if (out->dx_dmu != NULL || out->dx_dl != NULL)
        by_radii(c, p, w, at, &label);
    if (c->label != NULL)
        c->label[index] = label;
}

/* ---- calls ---- */

static tg_status missing(tg_qcqp *q, const char *name, const char *field)
{
    return tg_fail(&q->error, TG_ERR_ARGUMENT, "%s: %s is NULL", name, field);
}

tg_status tg_qcqp_jvp(tg_qcqp *q, const tg_qcqp_data *data, const double *x, const tg_qcqp_tangent *in, double *dx,
                      tg_qcqp_label *label)
{
    if (q == NULL)
        return TG_ERR_ARGUMENT;
    if (x == NULL || in == NULL || dx == NULL)
        return missing(q, "tg_qcqp_jvp", x == NULL ? "x" : in == NULL ? "in" : "dx");
    deriv_call call = {.data = data, .x = x, .tangent = in, .dx = dx, .label = label};
    return tg_qcqp_run(q, "tg_qcqp_jvp", data, x, jvp_item, &call);
}

tg_status tg_qcqp_vjp(tg_qcqp *q, const tg_qcqp_data *data, const double *x, const double *dx,
                      const tg_qcqp_tangent *out, tg_qcqp_label *label)
{
    if (q == NULL)
        return TG_ERR_ARGUMENT;
    if (x == NULL || dx == NULL || out == NULL)
        return missing(q, "tg_qcqp_vjp", x == NULL ? "x" : dx == NULL ? "dx" : "out");
    deriv_call call = {.data = data, .x = x, .cotangent = dx, .tangent = out, .label = label};
    return tg_qcqp_run(q, "tg_qcqp_vjp", data, x, vjp_item, &call);
}

tg_status tg_qcqp_jacobians(tg_qcqp *q, const tg_qcqp_data *data, const double *x, const tg_qcqp_jacobian *out,
                            tg_qcqp_label *label)
{
    if (q == NULL)
        return TG_ERR_ARGUMENT;
    if (x == NULL || out == NULL)
        return missing(q, "tg_qcqp_jacobians", x == NULL ? "x" : "out");
    deriv_call call = {.data = data, .x = x, .jacobian = out, .label = label};
    return tg_qcqp_run(q, "tg_qcqp_jacobians", data, x, jacobian_item, &call);
}
