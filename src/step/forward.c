/* Forward mode of a step, as matrices: forward.h has the equations.
 *
 * Trees that constraints couple form a group, with dense matrices of its own. Tendons may couple any trees: one group
 * then. */
#include "step/step.h"
#include "step/unrolled.h"

#include "base/arena.h"
#include "dynamics/actuation.h"
#include "dynamics/factors.h"
#include "math/dense.h"
#include "math/lanes.h"
#include "math/ltl.h"

enum
{
    MOST_DOFS = 256, /* beyond, the matrices come row by row (jacobian.c) */
    MOST_ROWS = TG_DENSE_ROWS
};

/* ---- memory ---- */

void tg_forward_place(tg_forward *f, const tg_model *m, const tg_capacity *capacity, tg_arena *arena)
{
    if (m->nv > MOST_DOFS)
        return;
    int most = capacity->rows < MOST_ROWS ? capacity->rows : MOST_ROWS;
    size_t n = (size_t)v4_pad(m->nv), rows = (size_t)v4_pad(most) + V4_LANES, nodes = (size_t)m->nnode;
    size_t inputs = (size_t)(m->nu > m->na ? m->nu : m->na);
#define X(name, count) f->name = TG_TAKE(arena, double, count, #name);
    TG_FORWARD_ARRAYS(X)
#undef X
    f->stiffness = TG_TAKE(arena, tg_node_stiffness, nodes, "stiffness");
    f->slipping = TG_TAKE(arena, bool, rows, "slipping");
    f->dof = TG_TAKE(arena, int, n, "dofs");
}

bool tg_forward_fits(const tg_model *m, const tg_work *w)
{
    bool fits = m->nv <= MOST_DOFS && w->rows->nrow <= MOST_ROWS;
    fits = fits && w->step->options.implicit_gyroscopic != TG_ON && !tg_detaches(w) && !w->rows->explicit_law;
    fits = fits && !tg_unrolls(w);
    for (int i = 0; i < w->rows->nisland && fits; i++)
        fits = w->step->implicit[i].form != TG_IMPLICIT_LARGE && !w->rows->island[i].restituted;
    return fits;
}

bool tg_matrices_fit(const tg_model *m, const tg_work *w)
{
    return tg_forward_fits(m, w) && !w->step->within;
}

/* ---- groups ---- */

/* Some trees; their dofs are in f->dof. Its own matrices have leading dimension ld; R and v+'s derivatives are the
 * model's where it has all dofs. */
typedef struct group
{
    int n, ld;
    int tree;   /* the only one, -1: several */
    int island; /* the only one, -1: none, -2: all */
    bool whole; /* all dofs of the model, in their order */
    bool kept;  /* K and Z are valid (tg_forward_keep) */
    double *R_q, *R_v, *next_q, *next_v;
    int ldr; /* of these */
} group;

static void add_tree(const tg_forward *f, group *g, int tree)
{
    g->tree = g->n == 0 ? tree : -1;
    for (int k = 0; k < f->m->tree_ndof[tree]; k++)
        f->dof[g->n++] = f->m->tree_dof[tree] + k;
    g->ld = v4_pad(g->n);
    g->whole = g->n == f->m->nv;
}

/* the trees of an island, or all (-2) */
static group group_of(const tg_forward *f, int island)
{
    const tg_rows *r = f->w->rows;
    group g = {.island = island};
    for (int t = 0; t < f->m->ntree; t++)
        if (island < 0 || r->tree_island[t] == island)
            add_tree(f, &g, t);
    g.kept = r->nisland > 0 && f->s->implicit[island < 0 ? 0 : island].kept;
    return g;
}

static void gather_square(const tg_forward *f, const group *g, const double *from, double *to)
{
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->n; k++)
            to[(ptrdiff_t)i * g->ld + k] = from[(ptrdiff_t)f->dof[i] * f->m->nv + f->dof[k]];
}

static void scatter_square(const tg_forward *f, const group *g, const double *from, int ld, double *to)
{
    for (int i = 0; i < g->n && to != NULL && from != to; i++)
    {
        const double *row = from + (ptrdiff_t)i * ld;
        double *out = to + (ptrdiff_t)f->dof[i] * f->m->nv;
        if (g->whole)
            memcpy(out, row, sizeof(double) * (size_t)g->n);
        else
            for (int k = 0; k < g->n; k++)
                out[f->dof[k]] = row[k];
    }
}

static void place_squares(const tg_forward *f, group *g, const tg_jacobian *j)
{
    g->ldr = g->whole ? f->m->nv : g->ld;
    g->R_q = g->whole ? f->force_q : f->R_q;
    g->R_v = g->whole ? f->force_v : f->R_v;
    g->next_q = g->whole && j->dv_dq != NULL ? j->dv_dq : f->next_q;
    g->next_v = g->whole && j->dv_dv != NULL ? j->dv_dv : f->next_v;
    if (g->whole)
        return;
    gather_square(f, g, f->force_q, g->R_q);
    gather_square(f, g, f->force_v, g->R_v);
}

/* Rows of four columns: to (a column a dof, leading dimension ld) from the columns' numbers; room for four rows more.
 */
TG_INLINE void transpose_columns(const double *const column[V4_LANES], int rows, double *to, ptrdiff_t ld)
{
    for (int r = 0; r < rows; r += V4_LANES)
    {
        v4 x[V4_LANES] = {v4_loadu(column[0] + r), v4_loadu(column[1] + r), v4_loadu(column[2] + r),
                          v4_loadu(column[V4_LANES - 1] + r)};
        v4_transpose_rows(x);
        for (int i = 0; i < V4_LANES; i++)
            v4_storeu(to + (r + i) * ld, x[i]);
    }
}

/* rows x n (leading dimension ld) from one row per dof, one column per row, from row `first`; memory for 4 rows more */
static void gather_rows(const tg_forward *f, const group *g, int first, int rows, const double *from, double *to)
{
    for (int k = 0; k < g->ld; k += V4_LANES)
    {
        const double *column[V4_LANES];
        for (int i = 0; i < V4_LANES; i++) /* what is past the last dof does not matter */
            column[i] = from + (ptrdiff_t)f->dof[k + i < g->n ? k + i : k] * f->ldr + first;
        transpose_columns(column, rows, to + k, g->ld);
    }
}

/* the same for J, where one tree is all of group and island */
static void transpose_jacobian(const tg_forward *f, const group *g, int rows, double *to)
{
    const tg_rows *r = f->w->rows;
    const double *J = r->J + r->tree_start[g->tree];
    for (int k = 0; k < g->ld; k += V4_LANES)
    {
        const double *column[V4_LANES];
        for (int i = 0; i < V4_LANES; i++)
            column[i] = J + (ptrdiff_t)(k + i < g->n ? k + i : k) * v4_pad(rows);
        transpose_columns(column, rows, to + k, g->ld);
    }
}

/* J of an island's rows: rows x n */
static void gather_jacobian(const tg_forward *f, const group *g, const tg_rows_island *island, double *to)
{
    const tg_rows *r = f->w->rows;
    if (g->tree >= 0 && g->tree == island->tree)
    {
        transpose_jacobian(f, g, island->rows, to);
        return;
    }
    tg_clear(to, island->rows, g->ld);
    for (int first = 0; first < g->n;)
    {
        int tree = f->m->node_tree[f->m->dof_node[f->dof[first]]], n = f->m->tree_ndof[tree];
        int columns = r->tree_columns[tree], ld = v4_pad(columns);
        const double *J = r->J + r->tree_start[tree];
        const int *row = r->column_row + r->tree_column[tree];
        bool mine = columns > 0 && &r->island[r->tree_island[tree]] == island;
        for (int k = 0; k < n && mine; k++)
            for (int j = 0; j < columns; j++)
                to[(ptrdiff_t)(row[j] - island->row) * g->ld + first + k] = J[(ptrdiff_t)k * ld + j];
        first += n;
    }
}

/* of a group of trees whose matrix is one: they are all in g */
static void invert_group(const tg_forward *f, const group *g, int index, double *out)
{
    const tg_model *m = f->m;
    int n = m->group_ndof[index], ld = v4_pad(n);
    double *inverse = f->next_q; /* not needed yet */
    tg_group_inverse(m, f->w, index, inverse, ld);
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->n; k++)
        {
            int a = f->dof[i], b = f->dof[k];
            if (m->tree_group[m->node_tree[m->dof_node[a]]] == index &&
                m->tree_group[m->node_tree[m->dof_node[b]]] == index)
                out[(ptrdiff_t)i * g->ld + k] = inverse[(ptrdiff_t)f->w->place[a] * ld + f->w->place[b]];
        }
}

static void invert_mass(const tg_forward *f, const group *g, double *out)
{
    const tg_model *m = f->m;
    if (g->tree < 0 || f->w->grouped)
        tg_clear(out, g->n, g->ld);
    for (int first = 0; first < g->n;)
    {
        int tree = m->node_tree[m->dof_node[f->dof[first]]];
        if (tg_tree_leads(m, f->w, tree))
            invert_group(f, g, m->tree_group[tree], out);
        if (tg_tree_is_alone(m, f->w, tree))
            tg_ltl_inverse(&m->tree_ltl[tree], f->w->M + m->tree_matrix[tree], f->w->dinv + m->tree_dof[tree],
                           out + (ptrdiff_t)first * (g->ld + 1), g->ld);
        first += m->tree_ndof[tree];
    }
}

/* ---- impulses that move at frozen equations ---- */

/* R += J^T l / dt for l (rows x n), and S += compliance l */
static void add_impulses(const tg_forward *f, const group *g, const tg_rows_island *island, const double *l, double *R,
                         double *S)
{
    const tg_rows *r = f->w->rows;
    double scale = 1 / f->dt;
    for (int i = 0; i < island->rows; i++)
        for (int k = 0; k < g->n; k++)
        {
            double entry = f->J[(ptrdiff_t)i * g->ld + k] * scale;
            for (int c = 0; c < g->n && entry != 0; c++)
                R[(ptrdiff_t)k * g->ldr + c] += entry * l[(ptrdiff_t)i * g->ld + c];
        }
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        double compliance =
            c->source == TG_SOURCE_CONTACT ? tg_law_compliance(f->w->params, &r->touch[c->index].law) : 0;
        int row = c->row - island->row;
        for (int k = 0; k < g->n && compliance > 0; k++)
            S[(ptrdiff_t)row * g->ld + k] += compliance * scale * scale * l[(ptrdiff_t)row * g->ld + k];
    }
}

/* impulses of redundant rows follow a change of J p */
static void add_turned(tg_forward *f, const group *g, const tg_rows_island *island, const tg_implicit *implicit)
{
    const double *from[2] = {f->spread_q, f->spread_v};
    double *R[2] = {g->R_q, g->R_v}, *S[2] = {f->S_q, f->S_v};
    for (int i = 0; i < 2; i++)
    {
        gather_rows(f, g, island->row, island->rows, from[i], f->BS);
        tg_implicit_turned(implicit, g->n, f->BS, g->ld, f->work, f->turned, g->ld);
        add_impulses(f, g, island, f->turned, R[i], S[i]);
    }
}

/* friction that follows the slip: l = (d L_T / d mu) dmu, and the slip's own change of scale */
static void add_friction(tg_forward *f, const group *g, const tg_rows_island *island, const tg_implicit *implicit)
{
    const tg_rows *r = f->w->rows;
    double *R[2] = {g->R_q, g->R_v}, *S[2] = {f->S_q, f->S_v};
    for (int b = 0; b < island->blocks; b++)
        for (int axis = 0; axis < 2 && f->slipping[island->block + b]; axis++)
            for (int i = 0; i < 2; i++)
            {
                const double *dmu = f->friction + (ptrdiff_t)(2 * (island->block + b) + i) * f->m->nv;
                int row = r->block[island->block + b].row + 1 + axis;
                double impulse = tg_implicit_unit_impulse(implicit, b, axis);
                double slip = tg_implicit_slip_change(implicit, b, axis);
                double normal = tg_implicit_normal_change(implicit, b, axis);
                tg_clear(f->turned, island->rows, g->ld);
                for (int k = 0; k < g->n; k++)
                {
                    f->turned[(ptrdiff_t)row * g->ld + k] = impulse * dmu[f->dof[k]];
                    S[i][(ptrdiff_t)row * g->ld + k] += slip * dmu[f->dof[k]];
                    S[i][(ptrdiff_t)(row - 1 - axis) * g->ld + k] += normal * dmu[f->dof[k]];
                }
                add_impulses(f, g, island, f->turned, R[i], S[i]);
            }
}

/* ---- one group ---- */

/* B J, B J A^-1, and T = -A^-1 J^T C^T E^-1, transposed. Where nothing slides, C = B and E is symmetric. */
static void fill_responses(tg_forward *f, const group *g, const tg_implicit *implicit)
{
    int n = g->n, ld = g->ld, unknowns = implicit->unknowns;
    tg_implicit_times(implicit, TG_IMPLICIT_VELOCITIES, n, f->J, ld, f->work, f->BJ, ld);
    tg_gemm_nn(unknowns, n, n, f->BJ, ld, f->K, ld, TG_GEMM_SET, f->BJA, ld);
    if (tg_implicit_is_symmetric(implicit))
        memcpy(f->T, f->BJA, sizeof(double) * (size_t)unknowns * (size_t)ld);
    else
    {
        tg_implicit_times(implicit, TG_IMPLICIT_IMPULSES, n, f->J, ld, f->work, f->BS, ld);
        tg_gemm_nn(unknowns, n, n, f->BS, ld, f->K, ld, TG_GEMM_SET, f->T, ld);
    }
    tg_implicit_solve(implicit, true, n, f->T, ld);
}

static bool any_slipping(const tg_forward *f, const tg_rows_island *island)
{
    for (int b = island->block; b < island->block + island->blocks; b++)
        if (f->slipping[b])
            return true;
    return false;
}

/* S of an island, in columns of q and v: J is among the latter. More: that is not all of it. */
static void fill_velocities(tg_forward *f, const group *g, int index)
{
    const tg_rows_island *island = &f->w->rows->island[index];
    const tg_implicit *implicit = &f->s->implicit[index];
    gather_jacobian(f, g, island, f->J);
    gather_rows(f, g, island->row, island->rows, f->sigma_q, f->S_q);
    bool slipping = any_slipping(f, island);
    f->more = f->starts || implicit->turns || slipping;
    if (f->starts)
        gather_rows(f, g, island->row, island->rows, f->sigma_v, f->S_v);
    else if (f->more)
        tg_clear(f->S_v, island->rows, g->ld);
    if (implicit->turns)
        add_turned(f, g, island, implicit);
    if (slipping)
        add_friction(f, g, island, implicit);
    for (ptrdiff_t i = 0; f->more && i < (ptrdiff_t)island->rows * g->ld; i++)
        f->S_v[i] += f->J[i];
}

/* T B S to the derivatives of v+ (mode: added or written), and T B J A^-1 to K */
static void add_island(tg_forward *f, const group *g, int index, tg_gemm_mode mode)
{
    const tg_implicit *implicit = &f->s->implicit[index];
    int n = g->n, ld = g->ld, unknowns = implicit->unknowns;
    fill_velocities(f, g, index);
    fill_responses(f, g, implicit);
    tg_implicit_times(implicit, TG_IMPLICIT_VELOCITIES, n, f->S_q, ld, f->work, f->BS, ld);
    tg_gemm_tn(n, n, unknowns, f->T, ld, f->BS, ld, mode, g->next_q, g->ldr);
    if (f->more)
        tg_implicit_times(implicit, TG_IMPLICIT_VELOCITIES, n, f->S_v, ld, f->work, f->BS, ld);
    tg_gemm_tn(n, n, unknowns, f->T, ld, f->more ? f->BS : f->BJ, ld, mode, g->next_v, g->ldr);
    tg_gemm_tn(n, n, unknowns, f->T, ld, f->BJA, ld, TG_GEMM_ADD, f->K, ld);
    f->answers = g->whole && f->w->rows->nisland == 1;
}

/* where K and Z of a group are kept, with its leading dimension: those of the islands before are no larger */
static double *kept_square(const tg_forward *f, const group *g)
{
    const tg_rows *r = f->w->rows;
    ptrdiff_t before = 0;
    for (int t = 0; t < f->m->ntree; t++)
        before += r->tree_island[t] >= 0 && r->tree_island[t] < g->island ? f->m->tree_ndof[t] : 0;
    return f->kept_K + before * v4_pad(f->m->nv);
}

static double *kept_rows(const tg_forward *f, const tg_rows_island *island)
{
    return f->kept_Z + (ptrdiff_t)island->row * v4_pad(f->m->nv);
}

/* the same with Z = B^T T^T, which is valid if K is */
static void add_kept_island(tg_forward *f, const group *g, int index, tg_gemm_mode mode)
{
    const tg_rows_island *island = &f->w->rows->island[index];
    const double *Z = kept_rows(f, island);
    fill_velocities(f, g, index);
    tg_gemm_tn(g->n, g->n, island->rows, Z, g->ld, f->S_q, g->ld, mode, g->next_q, g->ldr);
    tg_gemm_tn(g->n, g->n, island->rows, Z, g->ld, f->more ? f->S_v : f->J, g->ld, mode, g->next_v, g->ldr);
}

/* whether there are any */
static bool add_islands(tg_forward *f, const group *g)
{
    int first = g->island == -2 ? 0 : g->island, last = g->island == -2 ? f->w->rows->nisland - 1 : g->island;
    for (int i = first; i <= last && i >= 0; i++)
        (g->kept ? add_kept_island : add_island)(f, g, i, i == first ? TG_GEMM_SET : TG_GEMM_ADD);
    return first >= 0 && first <= last;
}

/* Whether controls act on few dofs each: products with these alone, one by one, are less work than all in tiles. */
static bool controls_are_few(const tg_model *m)
{
    int sum = 0;
    for (int i = 0; i < m->nu; i++)
        sum += tg_actuator_span(m, i).last - tg_actuator_span(m, i).first;
    return sum * V4_LANES <= m->nv * m->nu;
}

/* next (nv x nu) = K dt R for controls that act on few dofs each, of a group with all dofs */
static void few_controls(const tg_forward *f, const group *g, double *out)
{
    int columns = f->m->nu;
    for (int c = 0; c < columns; c++)
    {
        tg_span at = tg_actuator_span(f->m, c);
        for (int k = at.first; k < at.last; k++)
        {
            double force = f->force_u[(ptrdiff_t)k * columns + c];
            for (int i = 0; i < g->n; i++)
            {
                double *to = &out[(ptrdiff_t)i * columns + c], product = f->K[(ptrdiff_t)i * g->ld + k] * force;
                *to = k == at.first ? product : *to + product;
            }
        }
    }
}

/* next (nv x columns) = K dt R for the inputs, whose force is nv x columns */
static void input_columns(tg_forward *f, const group *g, const double *force, int columns, double *out)
{
    if (out == NULL || columns == 0)
        return;
    if (g->whole)
    {
        tg_gemm_nn(g->n, columns, g->n, f->K, g->ld, force, columns, TG_GEMM_SET, out, columns);
        return;
    }
    for (int i = 0; i < g->n; i++)
        memcpy(f->R_u + (ptrdiff_t)i * columns, force + (ptrdiff_t)f->dof[i] * columns,
               sizeof(double) * (size_t)columns);
    tg_gemm_nn(g->n, columns, g->n, f->K, g->ld, f->R_u, columns, TG_GEMM_SET, f->next_u, columns);
    for (int i = 0; i < g->n; i++)
        memcpy(out + (ptrdiff_t)f->dof[i] * columns, f->next_u + (ptrdiff_t)i * columns,
               sizeof(double) * (size_t)columns);
}

/* dt K, and the columns of q and v */
static void fill_squares(tg_forward *f, group *g, const tg_jacobian *j)
{
    int n = g->n, ld = g->ld;
    place_squares(f, g, j);
    if (g->kept)
        memcpy(f->K, kept_square(f, g), sizeof(double) * (size_t)n * (size_t)ld);
    else
        invert_mass(f, g, f->K);
    tg_gemm_mode mode = add_islands(f, g) ? TG_GEMM_ADD : TG_GEMM_SET;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * ld; i++)
        f->K[i] *= f->dt;
    tg_gemm_nn(n, n, n, f->K, ld, g->R_q, g->ldr, mode, g->next_q, g->ldr);
    tg_gemm_nn(n, n, n, f->K, ld, g->R_v, g->ldr, mode, g->next_v, g->ldr);
    for (int k = 0; k < n; k++)
        g->next_v[(ptrdiff_t)k * (g->ldr + 1)] += 1;
}

static void solve_group(tg_forward *f, group *g, const tg_jacobian *j)
{
    fill_squares(f, g, j);
    scatter_square(f, g, g->next_q, g->ldr, j->dv_dq);
    scatter_square(f, g, g->next_v, g->ldr, j->dv_dv);
    scatter_square(f, g, f->K, g->ld, j->dv_dtau);
    if (j->dv_du != NULL && g->whole && controls_are_few(f->m))
        few_controls(f, g, j->dv_du);
    else
        input_columns(f, g, f->force_u, f->m->nu, j->dv_du);
    input_columns(f, g, f->force_act, f->m->na, j->dv_dact);
}

/* the trees of an island, or one tree without */
static void solve_separately(tg_forward *f, const tg_jacobian *j)
{
    const tg_rows *r = f->w->rows;
    for (int i = 0; i < r->nisland; i++)
    {
        group g = group_of(f, i);
        solve_group(f, &g, j);
    }
    for (int t = 0; t < f->m->ntree; t++)
    {
        group g = {.island = -1};
        if (r->nisland > 0 && r->tree_island[t] >= 0)
            continue;
        add_tree(f, &g, t);
        solve_group(f, &g, j);
    }
}

static void solve_together(tg_forward *f, const tg_jacobian *j)
{
    group g = group_of(f, -2);
    solve_group(f, &g, j);
}

/* ---- all ---- */

/* what couples no group stays zero */
static void clear_output(const tg_model *m, double *x)
{
    if (x != NULL && m->ntree > 1)
        tg_clear(x, m->nv, m->nv);
}

static tg_forward *of_step(const tg_model *m, tg_work *w)
{
    tg_forward *f = &w->step->matrices;
    f->m = m;
    f->w = w;
    f->s = w->step;
    f->dt = w->step->options.dt;
    return f;
}

void tg_forward_begin(const tg_model *m, tg_work *w, bool by_u, bool by_act)
{
    tg_forward *f = of_step(m, w);
    if (f->ready && (f->by_u || !by_u) && (f->by_act || !by_act))
        return;
    f->by_u = by_u;
    f->by_act = by_act;
    tg_forward_forces(f);
    f->ready = true;
}

void tg_forward_matrices(const tg_model *m, tg_work *w, const tg_jacobian *j)
{
    tg_forward_begin(m, w, j->dv_du != NULL, j->dv_dact != NULL);
    tg_forward *f = of_step(m, w);
    f->ready = f->answers = false; /* what turns and slips is added in place */
    clear_output(m, j->dv_dq);
    clear_output(m, j->dv_dv);
    clear_output(m, j->dv_dtau);
    if (m->ntendon > 0)
        solve_together(f, j);
    else
        solve_separately(f, j);
}

/* ---- kept matrices ---- */

/* the islands of a group, first to last */
static void keep_group(tg_forward *f, const group *g, int first, int last)
{
    invert_mass(f, g, f->K);
    for (int i = first; i <= last; i++)
    {
        const tg_rows_island *island = &f->w->rows->island[i];
        const tg_implicit *implicit = &f->s->implicit[i];
        double *Z = kept_rows(f, island);
        gather_jacobian(f, g, island, f->J);
        fill_responses(f, g, implicit);
        tg_implicit_combine(implicit, TG_IMPLICIT_VELOCITIES, g->n, f->T, g->ld, f->work, Z, g->ld);
        for (int k = 0; k < implicit->idles; k++)
            tg_clear(Z + (ptrdiff_t)implicit->idle[k] * g->ld, 1, g->n);
        tg_gemm_tn(g->n, g->n, implicit->unknowns, f->T, g->ld, f->BJA, g->ld, TG_GEMM_ADD, f->K, g->ld);
    }
    memcpy(kept_square(f, g), f->K, sizeof(double) * (size_t)g->n * (size_t)g->ld);
}

void tg_forward_keep(const tg_model *m, tg_work *w, int island)
{
    tg_forward *f = of_step(m, w);
    bool together = m->ntendon > 0;
    group g = group_of(f, together ? -2 : island);
    for (int i = 0; i < w->rows->nisland; i++)
        w->step->implicit[i].kept = together || i == island || w->step->implicit[i].kept;
    keep_group(f, &g, together ? 0 : island, together ? w->rows->nisland - 1 : island);
}

void tg_forward_kept_transpose(tg_work *w, int island, const double *vbar, double *z, double *y)
{
    const tg_forward *f = &w->step->matrices;
    const tg_rows_island *at = &w->rows->island[island];
    group g = group_of(f, f->m->ntendon > 0 ? -2 : island);
    double *own = f->R_q, *out = f->R_v;
    for (int i = 0; i < g.n; i++)
        own[i] = vbar[f->dof[i]];
    tg_gemm_nt(at->rows, 1, g.n, kept_rows(f, at), g.ld, own, g.n, TG_GEMM_SET, z + at->row, 1);
    tg_gemm_nn(1, g.n, g.n, own, g.n, kept_square(f, &g), g.ld, TG_GEMM_SET, out, g.n);
    for (int i = 0; i < g.n; i++)
        y[f->dof[i]] = out[i];
}

/* ---- one direction ---- */

/* sum += A x, A (rows x columns); x NULL: zero */
static void add_product(int rows, int columns, const double *A, const double *x, double *sum)
{
    for (int i = 0; i < rows && x != NULL; i++)
    {
        const double *row = A + (ptrdiff_t)i * columns;
        v4 lanes = v4_zero();
        int k = 0;
        for (; k + V4_LANES <= columns; k += V4_LANES)
            lanes += v4_loadu(row + k) * v4_loadu(x + k);
        double rest = v4_sum(lanes);
        for (; k < columns; k++)
            rest += row[k] * x[k];
        sum[i] += rest;
    }
}

/* sum (rows of the problem) += A^T x, A (nv x ldr) */
static void add_rows(const tg_forward *f, const double *A, const double *x, double *sum)
{
    int rows = f->w->rows->nrow;
    for (int k = 0; k < f->m->nv && x != NULL; k++)
    {
        const double *row = A + (ptrdiff_t)k * f->ldr;
        int i = 0;
        for (; i + V4_LANES <= rows; i += V4_LANES)
            v4_storeu(sum + i, v4_loadu(sum + i) + v4_loadu(row + i) * v4_splat(x[k]));
        for (; i < rows; i++)
            sum[i] += row[i] * x[k];
    }
}

/* Rows of the problem, one vector each. */
typedef struct row_changes
{
    double *S, *n; /* of sigma and of J p at frozen v+ and L */
    double *l;     /* of impulses at frozen equations */
    double *w, *dL;
    bool frozen; /* l is not zero */
} row_changes;

/* b of contacts that meet within the step follows J v_free */
static void add_free(const tg_forward *f, double *S)
{
    const tg_rows *r = f->w->rows;
    for (int i = 0; i < r->nisland; i++)
        for (int b = r->island[i].block; b < r->island[i].block + r->island[i].blocks; b++)
        {
            const tg_constraint *c = &r->constraint[r->order[b]];
            if (!tg_meets(r, &r->island[i], c))
                continue;
            tg_bias_slope slope =
                tg_contact_bias_slope(f->w->params, &f->s->settings, &r->island[i], &r->touch[c->index], r->problem);
            S[c->row] += slope.free * f->free[c->row];
        }
}

/* rows by q and v; S and n hold what other things do to them (along), or are zero */
static void rows_along(const tg_forward *f, const tg_cotangent *in, bool along, const row_changes *c)
{
    size_t bytes = sizeof(double) * (size_t)f->w->rows->nrow;
    if (!along)
    {
        memset(c->S, 0, bytes);
        memset(c->n, 0, bytes);
    }
    add_rows(f, f->sigma_q, in->q, c->S);
    add_rows(f, f->sigma_v, f->starts ? in->v : NULL, c->S);
    if (f->free != NULL)
        add_free(f, c->S);
    if (!f->spreads)
        return;
    add_rows(f, f->spread_q, in->q, c->n);
    add_rows(f, f->spread_v, in->v, c->n);
}

/* friction coefficients of a block: L = S x moves at frozen equations, and the slip's own scale */
static void friction_along(const tg_forward *f, int index, int b, const tg_cotangent *in, bool along, row_changes *c)
{
    const tg_rows_island *island = &f->w->rows->island[index];
    const tg_implicit *implicit = &f->s->implicit[index];
    const tg_block *block = &f->w->rows->block[island->block + b];
    const double *by = f->friction + 2 * (ptrdiff_t)(island->block + b) * f->m->nv;
    double slip = 0;
    if (f->slipping[island->block + b])
    {
        add_product(1, f->m->nv, by, in->q, &slip);
        add_product(1, f->m->nv, by + f->m->nv, in->v, &slip);
    }
    for (int axis = 0; axis < block->rows - 1; axis++)
    {
        double dmu = (along ? f->s->block_gradient[TG_AXES * (island->block + b) + axis] : 0) + (axis < 2 ? slip : 0);
        int row = island->row + block->row + 1 + axis;
        if (dmu == 0)
            continue;
        c->l[row] += tg_implicit_unit_impulse(implicit, b, axis) * dmu;
        c->S[row] += tg_implicit_slip_change(implicit, b, axis) * dmu;
        c->S[row - 1 - axis] += tg_implicit_normal_change(implicit, b, axis) * dmu;
        c->frozen = true;
    }
}

/* impulses of an island that move at frozen equations: friction, its bounds, and redundant rows that turn */
static void frozen_along(tg_forward *f, int index, const tg_cotangent *in, bool along, row_changes *c)
{
    const tg_rows *r = f->w->rows;
    const tg_rows_island *island = &r->island[index];
    const tg_implicit *implicit = &f->s->implicit[index];
    const double *bound = f->s->block_gradient + TG_AXES * r->nblock;
    memset(c->l + island->row, 0, sizeof(double) * (size_t)island->rows);
    if (implicit->turns)
    {
        tg_implicit_turned(implicit, 1, c->n + island->row, 1, f->work, c->l + island->row, 1);
        c->frozen = true;
    }
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_constraint *k = &r->constraint[r->order[island->block + b]];
        if (k->source == TG_SOURCE_CONTACT)
            friction_along(f, index, b, in, along, c);
        else if (r->block[island->block + b].kind == TG_BLOCK_FRICTION && along && bound[island->block + b] != 0)
        {
            c->l[k->row] += tg_implicit_bound_impulse(implicit, b) * bound[island->block + b];
            c->frozen = true;
        }
    }
    for (int b = island->block; b < island->block + island->blocks && c->frozen; b++)
    {
        const tg_constraint *k = &r->constraint[r->order[b]];
        if (k->source == TG_SOURCE_CONTACT)
            c->S[k->row] += tg_law_compliance(f->w->params, &r->touch[k->index].law) / (f->dt * f->dt) * c->l[k->row];
    }
}

/* dv = A^-1 J^T dL, and y += A^-1 J^T l */
static void impulse_change(tg_forward *f, const row_changes *c, double *y, double *dv)
{
    const tg_rows *r = f->w->rows;
    if (c->frozen)
    {
        tg_rows_response(f->m, f->w, c->l, dv);
        for (int k = 0; k < f->m->nv; k++)
            y[k] += dv[k];
    }
    tg_rows_velocity(f->m, f->w, y, c->w);
    for (int i = 0; i < r->nrow; i++)
        c->w[i] += c->S[i];
    for (int i = 0; i < r->nisland; i++)
    {
        int row = r->island[i].row;
        for (int k = 0; k < f->s->implicit[i].idles; k++)
            c->w[row + f->s->implicit[i].idle[k]] = 0;
        tg_implicit_forward(&f->s->implicit[i], c->w + row, c->dL + row);
    }
    tg_rows_response(f->m, f->w, c->dL, dv);
}

/* dv of a group whose matrices are kept: v + K (rhs + J^T l) + Z^T (S + J v) */
static void kept_change(tg_forward *f, const group *g, const tg_cotangent *in, const double *rhs, const row_changes *c,
                        double *dv)
{
    const tg_rows *r = f->w->rows;
    int first = g->island == -2 ? 0 : g->island, last = g->island == -2 ? r->nisland - 1 : g->island;
    double *force = f->R_v, *sum = f->R_q;
    for (int i = 0; i < g->n; i++)
    {
        force[i] = rhs[f->dof[i]];
        sum[i] = in->v != NULL ? in->v[f->dof[i]] : 0;
    }
    for (int i = first; i <= last; i++)
    {
        const tg_rows_island *island = &r->island[i];
        const double *Z = kept_rows(f, island);
        gather_jacobian(f, g, island, f->J);
        for (int row = 0; row < island->rows; row++)
        {
            const double *J = f->J + (ptrdiff_t)row * g->ld;
            double l = c->l[island->row + row], S = c->S[island->row + row];
            for (int k = 0; k < g->n; k++)
            {
                force[k] += J[k] * l;
                S += in->v != NULL ? J[k] * in->v[f->dof[k]] : 0;
            }
            for (int k = 0; k < g->n; k++)
                sum[k] += Z[(ptrdiff_t)row * g->ld + k] * S;
        }
    }
    tg_gemm_nt(g->n, 1, g->n, kept_square(f, g), g->ld, force, g->n, TG_GEMM_ADD, sum, 1);
    for (int i = 0; i < g->n; i++)
        dv[f->dof[i]] = sum[i];
}

/* dt R: the change of dt f - A (v+ - v) + J^T L at frozen v+ and L; along: wrenches, dt and parameters are among it */
static void force_along(tg_forward *f, const tg_cotangent *in, bool along, const double *by_dt, double *rhs)
{
    const tg_model *m = f->m;
    const double *own = f->s->change.force;
    for (int k = 0; k < m->nv; k++)
        rhs[k] = (in->tau != NULL ? in->tau[k] : 0) + (along ? own[k] : 0);
    add_product(m->nv, m->nu, f->force_u, in->u, rhs);
    add_product(m->nv, m->na, f->force_act, in->act, rhs);
    add_product(m->nv, m->nv, f->force_q, in->q, rhs);
    add_product(m->nv, m->nv, f->force_v, in->v, rhs);
    for (int k = 0; k < m->nv; k++)
        rhs[k] = f->dt * rhs[k] + (along ? by_dt[k] : 0);
}

static void kept_changes(tg_forward *f, const tg_cotangent *in, const double *rhs, const row_changes *c, double *dv)
{
    bool together = f->m->ntendon > 0;
    for (int i = 0; i < f->w->rows->nisland && (i == 0 || !together); i++)
    {
        if (!f->s->implicit[i].kept)
            continue;
        group g = group_of(f, together ? -2 : i);
        kept_change(f, &g, in, rhs, c, dv);
    }
}

static bool has_change(const tg_cotangent *in)
{
    return in->params != NULL || in->wrench != NULL || in->dt != NULL || in->contact != NULL;
}

/* y = A^-1 dt R + dv */
static void smooth_along(tg_forward *f, const tg_cotangent *in, bool along, const double *by_dt, double *rhs, double *y)
{
    force_along(f, in, along, by_dt, rhs);
    memcpy(y, rhs, sizeof(double) * (size_t)f->m->nv);
    tg_solve_mass(f->m, f->w, y);
    for (int k = 0; k < f->m->nv && in->v != NULL; k++)
        y[k] += in->v[k];
}

void tg_forward_free(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range, double *out)
{
    tg_forward *f = of_step(m, w);
    double *y = f->s->cotangent, *rhs = y + m->nv, *by_dt = y + 2 * m->nv;
    row_changes c = {.S = f->s->row_gradient, .n = f->s->row_gradient + w->rows->capacity.rows};
    bool along = has_change(in);
    if (along)
        tg_forward_change(f, in, range, by_dt, c.S, NULL);
    smooth_along(f, in, along, by_dt, rhs, y);
    rows_along(f, in, along, &c);
    tg_rows_velocity(m, w, y, out);
    for (int i = 0; i < w->rows->nrow; i++)
        out[i] += c.S[i];
}

static row_changes take_rows(const tg_forward *f)
{
    size_t room = (size_t)f->w->rows->capacity.rows;
    double *p = f->s->row_gradient;
    double *S = tg_next(&p, room), *n = tg_next(&p, room), *l = tg_next(&p, room), *dw = tg_next(&p, room);
    return (row_changes){S, n, l, dw, p, false};
}

tg_status tg_forward_product(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range, double *dv)
{
    tg_forward *f = of_step(m, w);
    double *y = f->s->cotangent, *rhs = y + m->nv, *by_dt = y + 2 * m->nv;
    row_changes c = take_rows(f);
    bool along = has_change(in);
    if (along)
        tg_forward_change(f, in, range, by_dt, c.S, f->spreads ? c.n : NULL);
    smooth_along(f, in, along, by_dt, rhs, y);
    tg_clear(dv, 1, m->nv);
    if (w->rows->nrow > 0)
    {
        rows_along(f, in, along, &c);
        for (int i = 0; i < w->rows->nisland; i++)
            frozen_along(f, i, in, along, &c);
        impulse_change(f, &c, y, dv);
    }
    for (int k = 0; k < m->nv; k++)
        dv[k] += y[k];
    kept_changes(f, in, rhs, &c, dv);
    return TG_OK;
}

static bool is_zero(int n, const double *x)
{
    for (int i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

/* dv += Z^T S of an island whose matrices are kept */
static void add_kept_rows(tg_forward *f, int island, const double *S, double *dv)
{
    const tg_rows_island *at = &f->w->rows->island[island];
    group g = group_of(f, f->m->ntendon > 0 ? -2 : island);
    const double *Z = kept_rows(f, at);
    for (int i = 0; i < at->rows; i++)
        for (int k = 0; S[at->row + i] != 0 && k < g.n; k++)
            dv[f->dof[k]] += Z[(ptrdiff_t)i * g.ld + k] * S[at->row + i];
}

/* dv = A^-1 J^T D S, island by island */
static void rows_answer(tg_forward *f, row_changes *c, double *dv)
{
    const tg_rows *r = f->w->rows;
    bool any = false;
    for (int i = 0; i < r->nisland; i++)
    {
        int row = r->island[i].row;
        memset(c->dL + row, 0, sizeof(double) * (size_t)r->island[i].rows);
        if (f->s->implicit[i].kept || is_zero(r->island[i].rows, c->S + row))
            continue;
        any = true;
        tg_implicit_forward(&f->s->implicit[i], c->S + row, c->dL + row);
    }
    if (any)
        tg_rows_response(f->m, f->w, c->dL, dv);
}

/* dv = A^-1 J^T D S: T B S where T is at hand, Z^T S where matrices are kept; force += J^T l / dt */
static void rows_parameter(tg_forward *f, const tg_cotangent *in, row_changes *c, double *force, double *dv)
{
    const tg_rows *r = f->w->rows;
    const tg_implicit *first = f->s->implicit;
    double *motion = f->s->cotangent;
    for (int i = 0; i < r->nisland; i++)
        frozen_along(f, i, in, true, c);
    if (c->frozen)
    {
        tg_consistent_motion(f->m, r, c->l, motion);
        for (int k = 0; k < f->m->nv; k++)
            force[k] += motion[k] / f->dt;
    }
    for (int i = 0; i < r->nisland; i++)
        for (int k = 0; k < f->s->implicit[i].idles; k++)
            c->S[r->island[i].row + f->s->implicit[i].idle[k]] = 0;
    if (f->answers)
    {
        tg_implicit_times(first, TG_IMPLICIT_VELOCITIES, 1, c->S, 1, f->work, c->dL, 1);
        tg_gemm_nn(1, f->m->nv, first->unknowns, c->dL, first->unknowns, f->T, v4_pad(f->m->nv), TG_GEMM_SET, dv,
                   f->m->nv);
    }
    else
        rows_answer(f, c, dv);
    for (int i = 0; i < r->nisland; i++)
        if (f->s->implicit[i].kept)
            add_kept_rows(f, i, c->S, dv);
}

/* dv+ = K (dt f + J^T l) + A^-1 J^T D S: dt K is the matrix of tau */
tg_status tg_forward_parameter(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range,
                               const double *by_tau, double *dv)
{
    tg_forward *f = of_step(m, w);
    const tg_rows *r = w->rows;
    double *by_dt = f->s->cotangent, *force = f->s->change.force;
    row_changes c = take_rows(f);
    tg_forward_change(f, in, range, by_dt, c.S, f->spreads ? c.n : NULL);
    tg_clear(dv, 1, m->nv);
    if (!is_zero(r->nrow, c.S) || !is_zero((TG_AXES + 1) * r->nblock, f->s->block_gradient) ||
        (f->spreads && !is_zero(r->nrow, c.n)))
        rows_parameter(f, in, &c, force, dv);
    if (!is_zero(m->nv, force))
        add_product(m->nv, m->nv, by_tau, force, dv);
    return TG_OK;
}
