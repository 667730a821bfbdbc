/* Four rows at a time, one a lane: covectors of twists, and where they go. */
#ifndef TG_CONTACT_ROWS_LANES_H
#define TG_CONTACT_ROWS_LANES_H

#include "contact/rows.h"

/* three numbers of four rows: the columns of a matrix */
typedef mat3 tg_lanes3;

/* wrenches of four rows */
typedef struct tg_row_lanes
{
    tg_lanes3 lin, ang;
} tg_row_lanes;

/* of four 3-vectors, which are used up */
static inline tg_lanes3 tg_lanes3_of(v4 a[V4_LANES])
{
    v4_transpose_rows(a);
    return (tg_lanes3){{a[0], a[1], a[2]}};
}

/* x x a of every row */
static inline tg_lanes3 tg_lanes3_cross(v4 x, tg_lanes3 a)
{
    v4 x0 = v4_splat(x[0]), x1 = v4_splat(x[1]), x2 = v4_splat(x[2]);
    return (tg_lanes3){{x1 * a.c[2] - x2 * a.c[1], x2 * a.c[0] - x0 * a.c[2], x0 * a.c[1] - x1 * a.c[0]}};
}

static inline tg_lanes3 tg_lanes3_scale(tg_lanes3 a, double s)
{
    v4 x = v4_splat(s);
    return (tg_lanes3){{a.c[0] * x, a.c[1] * x, a.c[2] * x}};
}

static inline tg_row_lanes tg_row_lanes_add(tg_row_lanes a, tg_row_lanes b)
{
    return (tg_row_lanes){mat3_add(a.lin, b.lin), mat3_add(a.ang, b.ang)};
}

static inline tg_row_lanes tg_row_lanes_scale(tg_row_lanes a, double s)
{
    return (tg_row_lanes){tg_lanes3_scale(a.lin, s), tg_lanes3_scale(a.ang, s)};
}

/* V x* of every row */
static inline tg_row_lanes tg_row_lanes_cross(spatial V, tg_row_lanes f)
{
    return (tg_row_lanes){tg_lanes3_cross(V.ang, f.lin),
                          mat3_add(tg_lanes3_cross(V.ang, f.ang), tg_lanes3_cross(V.lin, f.lin))};
}

/* wrenches at a point r as wrenches at the origin */
static inline tg_row_lanes tg_row_lanes_shift(tg_row_lanes f, v4 r)
{
    f.ang = mat3_add(f.ang, tg_lanes3_cross(r, f.lin));
    return f;
}

/* the power of every row along a twist in memory */
static inline v4 tg_row_lanes_power(const tg_row_lanes *f, const double *x)
{
    const double *y = x + V4_LANES;
    return f->lin.c[0] * v4_splat(x[0]) + f->lin.c[1] * v4_splat(x[1]) + f->lin.c[2] * v4_splat(x[2]) +
           f->ang.c[0] * v4_splat(y[0]) + f->ang.c[1] * v4_splat(y[1]) + f->ang.c[2] * v4_splat(y[2]);
}

/* the last dof that moves a node; the others are its parents (dof_parent) */
static inline int tg_last_dof(const tg_model *m, int node)
{
    return m->node_dof[node] + m->node_ndof[node] - 1;
}

/* out (one row of ld numbers a dof) += power of the rows along x (a twist a dof), for all dofs that move the node */
static inline void tg_add_row_lanes(const tg_model *m, int node, const tg_row_lanes *f, const double *x, double *out,
                                    ptrdiff_t ld)
{
    for (int k = tg_last_dof(m, node); k >= 0; k = m->dof_parent[k])
        v4_storeu(out + k * ld, v4_loadu(out + k * ld) + tg_row_lanes_power(f, x + (ptrdiff_t)SPATIAL_SIZE * k));
}

#endif
