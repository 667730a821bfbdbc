/* The table of contact laws, and the equations of a block under each (cone_law.h).
 *
 * At y = x - rho s the projection on the cone says which equations hold:
 *     open     x = 0
 *     sticks   s = 0
 *     ccp slides, u = y_T / |y_T|, t_j across it, b = -u . s_T:
 *              s_N + u . s_T = 0,   t_j . s_T + (b / x_N) t_j . x_T = 0,   x_N - u . x_T = 0
 *     parted   s_N = 0, the normal row's own equation; slides: t_j as above, x_N - u . x_T = 0
 *     box      s_N = 0, and for each tangent row s_i = 0, or x_i = +-x_N
 *     diamond  s_N = 0; rows outside of the support of P(y_T): x_i = 0; on it, with signs e: sum e_i x_i = x_N and e_i
 *         s_i the same for all
 * Equations of impulses are divided by rho, so that all are velocities. */
#include "contact/cone_law.h"

#include <math.h>
#include <string.h>

/* a new law: one line here, where it is a norm and a shift */
static const tg_cone_law table[] = {
    {"ncp", TG_NORM_TWO, true},
    {"ccp", TG_NORM_TWO, false},
    {"lcp-box", TG_NORM_MAX, true},
    {"lcp-diamond", TG_NORM_SUM, true},
};

enum
{
    LAWS = sizeof table / sizeof table[0]
};

const tg_cone_law *tg_cone_law_find(const char *name)
{
    for (int i = 0; i < LAWS; i++)
        if (name == table[i].name || (name != NULL && strcmp(name, table[i].name) == 0))
            return &table[i];
    return NULL;
}

const tg_cone_law *tg_cone_law_at(int index)
{
    return index >= 0 && index < LAWS ? &table[index] : NULL;
}

bool tg_cone_law_takes(const tg_cone_law *law, const char *solver)
{
    return tg_cone_law_is_default(law) || strcmp(solver, "newton") == 0 || strcmp(solver, "admm") == 0;
}

void tg_cone_law_sets(const tg_cone_law *law, const tg_cones *cones, tg_set *set, tg_admm *a)
{
    tg_cones_sets(cones, set, a);
    a->norm = law->norm;
    a->shift = law->shift;
}

/* ---- equations ---- */

static void hold(tg_block_equations *e, int i, const double *s)
{
    e->s[i][i] = 1;
    e->f[i] = s[i];
}

/* x_i = value */
static void fix(tg_block_equations *e, int i, double rho, const double *x, double value)
{
    e->x[i][i] = 1 / rho;
    e->f[i] = (x[i] - value) / rho;
}

/* parted: the normal velocity has no part in it, s_N = 0 */
static void slide_on_cone(tg_block_equations *e, const double *y, double rho, const double *x, const double *s,
                          bool parted)
{
    int m = e->dim - 1;
    double R[(TG_CONE_MAX - 1) * (TG_CONE_MAX - 1)], u[TG_CONE_MAX - 1], length = tg_norm_of(TG_NORM_TWO, m, y + 1);
    double normal = parted ? y[0] : 0.5 * (y[0] + length), b = 0;
    for (int i = 0; i < m; i++)
    {
        u[i] = y[1 + i] / length;
        b -= u[i] * s[1 + i];
    }
    double stiffness = tg_larger(b, 0) / normal;
    tg_cone_frame(m, u, R);
    e->s[0][0] = 1;
    e->x[1][0] = 1 / rho;
    e->f[0] = s[0];
    e->f[1] = x[0] / rho;
    for (int i = 0; i < m; i++)
    {
        e->s[0][1 + i] = parted ? 0 : u[i];
        e->x[1][1 + i] = -u[i] / rho;
        e->f[0] += e->s[0][1 + i] * s[1 + i];
        e->f[1] -= u[i] * x[1 + i] / rho;
        for (int j = 1; j < m; j++)
        {
            double t = R[i * m + j];
            e->s[1 + j][1 + i] = t;
            e->x[1 + j][1 + i] = stiffness * t;
            e->f[1 + j] += t * (s[1 + i] + stiffness * x[1 + i]);
        }
    }
}

static void convex_equations(tg_block_equations *e, const tg_cone *cone, const double *x, const double *s)
{
    double y[TG_CONE_MAX], rho = cone->dim > 1 ? tg_smaller(cone->rho_n, cone->rho_t) : cone->rho_n;
    for (int i = 0; i < e->dim; i++)
        y[i] = x[i] - rho * s[i];
    double tangent = tg_norm_of(TG_NORM_TWO, e->dim - 1, y + 1);
    if (tangent > fabs(y[0]))
        slide_on_cone(e, y, rho, x, s, false);
    else
        for (int i = 0; i < e->dim; i++)
            if (y[0] > 0)
                hold(e, i, s);
            else
                fix(e, i, rho, x, 0);
}

/* Friction of a contact whose normal impulse its own row says: y_N = x_N - rho_N s_N is that impulse. */
static void parted_equations(tg_block_equations *e, const tg_cone *cone, const double *x, const double *s)
{
    double y[TG_CONE_MAX] = {x[0] - cone->rho_n * s[0]};
    for (int i = 1; i < e->dim; i++)
        y[i] = x[i] - cone->rho_t * s[i];
    if (y[0] > 0 && tg_norm_of(TG_NORM_TWO, e->dim - 1, y + 1) > y[0])
        slide_on_cone(e, y, cone->rho_t, x, s, true);
    else
        for (int i = 0; i < e->dim; i++)
            if (y[0] > 0)
                hold(e, i, s);
            else
                fix(e, i, i == 0 ? cone->rho_n : cone->rho_t, x, 0);
}

/* x_i = sign x_N */
static void tie(tg_block_equations *e, int i, double sign, double rho, const double *x)
{
    fix(e, i, rho, x, sign * x[0]);
    e->x[i][0] = -sign / rho;
}

static void box_tangents(tg_block_equations *e, const double *y, double radius, double rho, const double *x,
                         const double *s)
{
    for (int i = 1; i < e->dim; i++)
        if (fabs(y[i]) <= radius)
            hold(e, i, s);
        else
            tie(e, i, y[i] > 0 ? 1 : -1, rho, x);
}

static void diamond_tangents(tg_block_equations *e, const double *y, double radius, double rho, const double *x,
                             const double *s)
{
    double p[TG_CONE_MAX];
    int first = 0;
    memcpy(p, y, sizeof p);
    tg_norm_ball(TG_NORM_SUM, e->dim - 1, radius, p + 1);
    bool slides = tg_norm_of(TG_NORM_SUM, e->dim - 1, y + 1) > radius;
    for (int i = 1; i < e->dim; i++)
    {
        double sign = y[i] > 0 ? 1 : -1;
        if (!slides)
            hold(e, i, s);
        else if (p[i] == 0)
            fix(e, i, rho, x, 0);
        else if (first == 0)
        {
            first = i;
            e->x[i][0] = -1 / rho;
            e->f[i] = -x[0] / rho;
        }
        else
        {
            double other = y[first] > 0 ? 1 : -1;
            e->s[i][i] = sign;
            e->s[i][first] = -other;
            e->f[i] = sign * s[i] - other * s[first];
        }
        if (slides && p[i] != 0)
        {
            e->x[first][i] = sign / rho;
            e->f[first] += sign * x[i] / rho;
        }
    }
}

static void pyramid_equations(const tg_cone_law *law, tg_block_equations *e, const tg_cone *cone, const double *x,
                              const double *s)
{
    double y[TG_CONE_MAX] = {x[0] - cone->rho_n * s[0]};
    for (int i = 1; i < e->dim; i++)
        y[i] = x[i] - cone->rho_t * s[i];
    if (y[0] <= 0)
    {
        for (int i = 0; i < e->dim; i++)
            fix(e, i, i == 0 ? cone->rho_n : cone->rho_t, x, 0);
        return;
    }
    hold(e, 0, s);
    if (e->dim > 1)
        (law->norm == TG_NORM_MAX ? box_tangents : diamond_tangents)(e, y, y[0], cone->rho_t, x, s);
}

tg_block_equations tg_cone_law_equations(const tg_cone_law *law, const tg_cone *cone, const double *x, const double *s)
{
    tg_block_equations e = {.dim = cone->dim};
    x += cone->row;
    s += cone->row;
    double y = x[0] - cone->rho_n * s[0];
    if (cone->kind == TG_CONE_FREE || (cone->kind == TG_CONE_BOX && fabs(y) <= cone->bound))
        hold(&e, 0, s);
    else if (cone->kind == TG_CONE_BOX)
        fix(&e, 0, cone->rho_n, x, y > 0 ? cone->bound : -cone->bound);
    else if (cone->parted)
        parted_equations(&e, cone, x, s);
    else if (law->shift)
        pyramid_equations(law, &e, cone, x, s);
    else
        convex_equations(&e, cone, x, s);
    return e;
}
