/* Contacts and limits (touch.h). */
#include "cartesian/touch.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

static const double apart = -1e-12; /* m, rad: rounding of sums and differences of coordinates near 1 to 1000 */
static const double turn = 6.28;    /* of the rim's mesh, as in the data that are compared with (not 2 pi) */

/* ---- finding ---- */

/* Completes an orthonormal basis whose first vector is given. In 2 dimensions e_t = (-n_y, n_x). */
static void complete_basis(int dim, double axis[3][3])
{
    const double *n = axis[0];
    if (dim == 2)
    {
        axis[1][0] = -n[1];
        axis[1][1] = n[0];
        return;
    }
    int least = fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2) : (fabs(n[1]) <= fabs(n[2]) ? 1 : 2);
    double length = sqrt(1 - n[least] * n[least]);
    for (int a = 0; a < 3; a++)
        axis[1][a] = ((a == least) - n[least] * n[a]) / length;
    for (int a = 0; a < 3; a++)
        axis[2][a] = n[(a + 1) % 3] * axis[1][(a + 2) % 3] - n[(a + 2) % 3] * axis[1][(a + 1) % 3];
}

/* Adds the points of a body with the weights of the point x_0 + sum c_k e_k, times sign. */
static void add_body(const tg_cartesian *c, tg_touch *t, int body, double sign, const double *coordinate)
{
    int first = t->points, points = c->body[body].points;
    for (int k = 0; k < points; k++)
    {
        t->point[first + k] = c->first[body] + k;
        t->weight[first + k] = k == 0 ? sign : sign * coordinate[k - 1];
        if (k > 0)
            t->weight[first] -= sign * coordinate[k - 1];
    }
    t->points += points;
}

/* c_k = radius e_n . (x_k - x_0) */
static void on_surface(const tg_cartesian *c, int body, const double *x, const double *n, double radius,
                       double *coordinate)
{
    int d = c->dim;
    const double *x0 = x + c->first[body] * d;
    for (int k = 1; k < c->body[body].points; k++)
    {
        coordinate[k - 1] = 0;
        for (int a = 0; a < d; a++)
            coordinate[k - 1] += radius * n[a] * (x0[k * d + a] - x0[a]);
    }
}

static void weights_to_rows(int dim, tg_touch *t)
{
    t->rows = dim;
    for (int r = 0; r < dim; r++)
        for (int p = 0; p < t->points; p++)
            for (int a = 0; a < dim; a++)
                t->coefficient[r][p][a] = t->weight[p] * t->axis[r][a];
}

static bool find_pair(const tg_cartesian *c, const tg_cartesian_contact *s, const double *x, tg_touch *t)
{
    int d = c->dim;
    const double *xa = x + c->first[s->i] * d, *xb = x + c->first[s->j] * d;
    double sum = 0, coordinate[3], reach = s->radius + s->other;
    for (int a = 0; a < d; a++)
        sum += (xb[a] - xa[a]) * (xb[a] - xa[a]);
    t->distance = sqrt(sum) - reach;
    if (!(t->distance < apart))
        return false;
    for (int a = 0; a < d; a++)
        t->axis[0][a] = (xb[a] - xa[a]) / sqrt(sum);
    complete_basis(d, t->axis);
    on_surface(c, s->i, x, t->axis[0], s->radius, coordinate);
    add_body(c, t, s->i, -1, coordinate);
    on_surface(c, s->j, x, t->axis[0], -s->other, coordinate);
    add_body(c, t, s->j, 1, coordinate);
    weights_to_rows(d, t);
    return true;
}

static void wall_axes(const tg_cartesian *c, const tg_cartesian_contact *s, tg_touch *t)
{
    for (int a = 0; a < c->dim; a++)
        t->axis[0][a] = -s->normal[a];
    complete_basis(c->dim, t->axis);
}

static bool find_wall(const tg_cartesian *c, const tg_cartesian_contact *s, const double *x, tg_touch *t)
{
    double coordinate[3];
    t->distance = tg_dot(c->dim, s->normal, x + c->first[s->i] * c->dim) + s->offset - s->radius;
    if (!(t->distance < apart))
        return false;
    wall_axes(c, s, t);
    on_surface(c, s->i, x, t->axis[0], s->radius, coordinate);
    add_body(c, t, s->i, -1, coordinate);
    weights_to_rows(c->dim, t);
    return true;
}

static void rim_point(const tg_cartesian_contact *s, int k, double coordinate[3])
{
    double angle = turn * k / s->mesh;
    coordinate[0] = s->radius * cos(angle);
    coordinate[1] = s->radius * sin(angle);
    coordinate[2] = s->other;
}

static bool find_rim(const tg_cartesian *c, const tg_cartesian_contact *s, const double *x, tg_touch *t)
{
    int d = c->dim;
    const double *x0 = x + c->first[s->i] * d;
    double coordinate[3], height[4];
    for (int k = 0; k <= d; k++)
        height[k] = tg_dot(d, s->normal, x0 + k * d);
    t->distance = INFINITY;
    for (int k = 0; k < s->mesh; k++)
    {
        rim_point(s, k, coordinate);
        double sum = height[0] + s->offset;
        for (int a = 0; a < d; a++)
            sum += coordinate[a] * (height[a + 1] - height[0]);
        if (sum < t->distance)
        {
            t->distance = sum;
            t->which = k;
        }
    }
    if (!(t->distance < apart))
        return false;
    wall_axes(c, s, t);
    rim_point(s, t->which, coordinate);
    add_body(c, t, s->i, -1, coordinate);
    weights_to_rows(d, t);
    return true;
}

/* ---- limits: one row, links between points or from an anchor ---- */

static double link(const tg_cartesian *c, const tg_cartesian_contact *s, int from, int to, const double *x, double *u)
{
    int d = c->dim;
    double sum = 0;
    for (int a = 0; a < d; a++)
    {
        u[a] = x[to * d + a] - (from >= 0 ? x[from * d + a] : s->anchor[a]);
        sum += u[a] * u[a];
    }
    return sqrt(sum);
}

static void limit_points(tg_touch *t, int count, const int *point)
{
    t->rows = 1;
    t->points = 0;
    for (int k = 0; k < count; k++)
        if (point[k] >= 0)
            t->point[t->points++] = point[k];
}

/* q = atan2(u_x, -u_y), dq/du = (-u_y, u_x) / l^2 */
static bool find_bend(const tg_cartesian *c, const tg_cartesian_contact *s, const double *x, tg_touch *t)
{
    double a[3], b[3], la = link(c, s, s->i, s->j, x, a), lb = link(c, s, s->j, s->k, x, b);
    /* the angle between the links, in (-pi, pi] */
    double angle = atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]);
    t->which = angle > 0 ? 1 : -1;
    t->distance = s->high - fabs(angle);
    if (!(t->distance < apart))
        return false;
    limit_points(t, 3, (int[]){s->i, s->j, s->k});
    double sign = -t->which, ua[2] = {-a[1] / (la * la), a[0] / (la * la)},
           ub[2] = {-b[1] / (lb * lb), b[0] / (lb * lb)};
    int p = 0;
    for (int e = 0; e < 2; e++)
    {
        p = 0;
        if (s->i >= 0)
            t->coefficient[0][p++][e] = sign * ua[e];
        t->coefficient[0][p++][e] = -sign * (ua[e] + ub[e]);
        t->coefficient[0][p++][e] = sign * ub[e];
    }
    return true;
}

static bool find_stretch(const tg_cartesian *c, const tg_cartesian_contact *s, const double *x, tg_touch *t)
{
    double u[3], l = link(c, s, s->i, s->j, x, u), upper = s->high - l, lower = l - s->low;
    t->which = upper < lower ? 1 : -1;
    t->distance = fmin(upper, lower);
    if (!(t->distance < apart))
        return false;
    limit_points(t, 2, (int[]){s->i, s->j});
    for (int a = 0; a < c->dim; a++)
    {
        int p = 0;
        if (s->i >= 0)
            t->coefficient[0][p++][a] = t->which * u[a] / l;
        t->coefficient[0][p][a] = -t->which * u[a] / l;
    }
    return true;
}

tg_status tg_touch_find(tg_cartesian_lane *lane, const double *x)
{
    const tg_cartesian *c = lane->c;
    lane->touches = lane->rows = 0;
    for (int i = 0; i < c->contacts; i++)
    {
        const tg_cartesian_contact *s = &c->contact[i];
        bool (*find)(const tg_cartesian *, const tg_cartesian_contact *, const double *, tg_touch *) =
            s->kind == TG_CARTESIAN_PAIR   ? find_pair
            : s->kind == TG_CARTESIAN_WALL ? find_wall
            : s->kind == TG_CARTESIAN_RIM  ? find_rim
            : s->kind == TG_CARTESIAN_BEND ? find_bend
                                           : find_stretch;
        tg_touch *t = &lane->touch[lane->touches];
        t->slot = i;
        t->points = 0;
        t->row = lane->rows;
        if (!find(c, s, x, t))
            continue;
        if (lane->rows + t->rows > lane->room)
            return tg_fail(&lane->error, TG_ERR_CAPACITY, "%s: more than %d rows of contacts (options.rows)", c->name,
                           lane->room);
        lane->rows += t->rows;
        lane->touches++;
    }
    return TG_OK;
}

/* ---- products ---- */

void tg_touch_product(const tg_cartesian_lane *lane, const tg_touch *touch, const double *z, double *y)
{
    int d = lane->c->dim;
    for (int i = 0; i < lane->touches; i++)
        for (int r = 0; r < touch[i].rows; r++)
        {
            double sum = 0;
            for (int p = 0; p < touch[i].points; p++)
                sum += tg_dot(d, touch[i].coefficient[r][p], z + touch[i].point[p] * d);
            y[touch[i].row + r] = sum;
        }
}

void tg_touch_product_t(const tg_cartesian_lane *lane, const tg_touch *touch, double factor, const double *f, double *y)
{
    int d = lane->c->dim;
    for (int i = 0; i < lane->touches; i++)
        for (int r = 0; r < touch[i].rows; r++)
        {
            double impulse = factor * f[touch[i].row + r];
            for (int p = 0; p < touch[i].points && impulse != 0; p++)
                for (int a = 0; a < d; a++)
                    y[touch[i].point[p] * d + a] += impulse * touch[i].coefficient[r][p][a];
        }
}

/* ---- changes along dx ---- */

/* what a side of a contact adds to d weight: c_k = radius e_n . (x_k - x_0) */
static void side_change(const tg_cartesian *c, int body, double sign, double radius, const tg_touch *t,
                        const double *dn, const double *x, const double *dx, double *weight)
{
    int d = c->dim, first = c->first[body] * d;
    weight[0] = 0;
    for (int k = 1; k < c->body[body].points; k++)
    {
        double sum = 0;
        for (int a = 0; a < d; a++)
            sum +=
                dn[a] * (x[first + k * d + a] - x[first + a]) + t->axis[0][a] * (dx[first + k * d + a] - dx[first + a]);
        weight[k] = sign * radius * sum;
        weight[0] -= weight[k];
    }
}

static void surface_change(const tg_cartesian *c, const tg_touch *t, const double *x, const double *dx, tg_touch *out)
{
    const tg_cartesian_contact *s = &c->contact[t->slot];
    int d = c->dim;
    double dn[3] = {0}, weight[TG_TOUCH_POINTS] = {0};
    if (s->kind == TG_CARTESIAN_PAIR)
    {
        double along = 0, length = t->distance + s->radius + s->other, u[3];
        for (int a = 0; a < d; a++)
        {
            u[a] = dx[c->first[s->j] * d + a] - dx[c->first[s->i] * d + a];
            along += u[a] * t->axis[0][a];
        }
        for (int a = 0; a < d; a++)
            dn[a] = (u[a] - along * t->axis[0][a]) / length;
    }
    if (s->kind != TG_CARTESIAN_RIM)
        side_change(c, s->i, -1, s->radius, t, dn, x, dx, weight);
    if (s->kind == TG_CARTESIAN_PAIR)
        side_change(c, s->j, 1, -s->other, t, dn, x, dx, weight + c->body[s->i].points);
    for (int r = 0; r < t->rows; r++)
    {
        double turned = r > 0 ? -tg_dot(d, t->axis[r], dn) : 0; /* de_t = -(e_t . de_n) e_n */
        for (int p = 0; p < t->points; p++)
            for (int a = 0; a < d; a++)
            {
                double direction = r == 0 ? dn[a] : turned * t->axis[0][a];
                out->coefficient[r][p][a] = weight[p] * t->axis[r][a] + t->weight[p] * direction;
            }
    }
}

/* d/du of (u_perp . g) / l^2, u_perp = (-u_y, u_x), along du */
static void angle_change(const double *u, double l, const double *du, double *change)
{
    double along = 2 * (u[0] * du[0] + u[1] * du[1]) / (l * l);
    change[0] = (-du[1] + along * u[1]) / (l * l);
    change[1] = (du[0] - along * u[0]) / (l * l);
}

static void link_change(const tg_cartesian *c, int from, int to, const double *dx, double *du)
{
    for (int a = 0; a < c->dim; a++)
        du[a] = dx[to * c->dim + a] - (from >= 0 ? dx[from * c->dim + a] : 0);
}

static void limit_change(const tg_cartesian *c, const tg_touch *t, const double *x, const double *dx, tg_touch *out)
{
    const tg_cartesian_contact *s = &c->contact[t->slot];
    double u[3] = {0}, du[3] = {0}, ca[3] = {0}, cb[3] = {0}, sign = -t->which;
    double l = link(c, s, s->i, s->j, x, u);
    int p = 0;
    link_change(c, s->i, s->j, dx, du);
    if (s->kind == TG_CARTESIAN_BEND)
    {
        angle_change(u, l, du, ca);
        l = link(c, s, s->j, s->k, x, u);
        link_change(c, s->j, s->k, dx, du);
        angle_change(u, l, du, cb);
        for (int a = 0; a < 2; a++)
        {
            p = 0;
            if (s->i >= 0)
                out->coefficient[0][p++][a] = sign * ca[a];
            out->coefficient[0][p++][a] = -sign * (ca[a] + cb[a]);
            out->coefficient[0][p++][a] = sign * cb[a];
        }
        return;
    }
    double along = tg_dot(c->dim, u, du) / (l * l);
    for (int a = 0; a < c->dim; a++)
    {
        double change = sign * (du[a] - along * u[a]) / l;
        p = 0;
        if (s->i >= 0)
            out->coefficient[0][p++][a] = -change;
        out->coefficient[0][p][a] = change;
    }
}

static bool is_limit(const tg_cartesian *c, const tg_touch *t)
{
    return c->contact[t->slot].kind >= TG_CARTESIAN_BEND;
}

/* The distance of balls and disks is that of their centres, whatever their axes do: its gradient is the row of the
 * normal for points, limits and rims. True: point p of the contact is in the distance, with this sign of e_n. */
static bool in_distance(const tg_cartesian *c, const tg_touch *t, int p, double *sign)
{
    const tg_cartesian_contact *s = &c->contact[t->slot];
    int first = p < c->body[s->i].points ? s->i : s->j;
    *sign = first == s->i ? -1 : 1;
    return t->point[p] == c->first[first];
}

static bool by_centres(const tg_cartesian *c, const tg_touch *t)
{
    return c->contact[t->slot].kind <= TG_CARTESIAN_WALL;
}

static double distance_change(const tg_cartesian *c, const tg_touch *t, const double *dx, double row)
{
    double sum = 0, sign;
    if (!by_centres(c, t))
        return row;
    for (int p = 0; p < t->points; p++)
        if (in_distance(c, t, p, &sign))
            sum += sign * tg_dot(c->dim, t->axis[0], dx + t->point[p] * c->dim);
    return sum;
}

static void distance_gradient(const tg_cartesian *c, const tg_touch *t, double bar, double *x_bar)
{
    int d = c->dim;
    double sign;
    for (int p = 0; p < t->points; p++)
        for (int a = 0; a < d; a++)
            if (!by_centres(c, t))
                x_bar[t->point[p] * d + a] += bar * t->coefficient[0][p][a];
            else if (in_distance(c, t, p, &sign))
                x_bar[t->point[p] * d + a] += bar * sign * t->axis[0][a];
}

void tg_touch_change(tg_cartesian_lane *lane, const double *x, const double *dx, double *distance)
{
    const tg_cartesian *c = lane->c;
    tg_touch_product(lane, lane->touch, dx, distance);
    for (int i = 0; i < lane->touches; i++)
    {
        const tg_touch *t = &lane->touch[i];
        distance[t->row] = distance_change(c, t, dx, distance[t->row]);
        for (int r = 1; r < t->rows; r++)
            distance[t->row + r] = 0;
        tg_touch *out = &lane->change[i];
        out->rows = t->rows;
        out->row = t->row;
        out->points = t->points;
        memcpy(out->point, t->point, sizeof t->point);
        if (is_limit(c, t))
            limit_change(c, t, x, dx, out);
        else
            surface_change(c, t, x, dx, out);
    }
}

/* ---- gradients ---- */

void tg_touch_gradient_clear(tg_cartesian_lane *lane)
{
    for (int i = 0; i < lane->touches; i++)
        memset(lane->change[i].coefficient, 0, sizeof lane->change[i].coefficient);
}

void tg_touch_gradient_add(tg_cartesian_lane *lane, double factor, const double *y, const double *z)
{
    int d = lane->c->dim;
    for (int i = 0; i < lane->touches; i++)
    {
        const tg_touch *t = &lane->touch[i];
        for (int r = 0; r < t->rows; r++)
            for (int p = 0; p < t->points; p++)
                for (int a = 0; a < d; a++)
                    lane->change[i].coefficient[r][p][a] += factor * y[t->row + r] * z[t->point[p] * d + a];
    }
}

/* from gradients of the weights of a side: x_bar, and what is added to that of e_n */
static void side_gradient(const tg_cartesian *c, int body, double sign, double radius, const tg_touch *t,
                          const double *weight_bar, const double *x, double *n_bar, double *x_bar)
{
    int d = c->dim, first = c->first[body] * d;
    for (int k = 1; k < c->body[body].points; k++)
    {
        double g = sign * radius * (weight_bar[k] - weight_bar[0]);
        for (int a = 0; a < d; a++)
        {
            n_bar[a] += g * (x[first + k * d + a] - x[first + a]);
            x_bar[first + k * d + a] += g * t->axis[0][a];
            x_bar[first + a] -= g * t->axis[0][a];
        }
    }
}

static void surface_gradient(const tg_cartesian *c, const tg_touch *t, const tg_touch *bar, const double *x,
                             double *x_bar)
{
    const tg_cartesian_contact *s = &c->contact[t->slot];
    int d = c->dim;
    double n_bar[3] = {0}, weight_bar[TG_TOUCH_POINTS] = {0};
    for (int r = 0; r < t->rows; r++)
    {
        double axis_bar[3] = {0};
        for (int p = 0; p < t->points; p++)
        {
            weight_bar[p] += tg_dot(d, bar->coefficient[r][p], t->axis[r]);
            for (int a = 0; a < d; a++)
                axis_bar[a] += t->weight[p] * bar->coefficient[r][p][a];
        }
        double along = tg_dot(d, axis_bar, t->axis[0]);
        for (int a = 0; a < d; a++)
            n_bar[a] += r == 0 ? axis_bar[a] : -along * t->axis[r][a];
    }
    if (s->kind != TG_CARTESIAN_RIM)
        side_gradient(c, s->i, -1, s->radius, t, weight_bar, x, n_bar, x_bar);
    if (s->kind != TG_CARTESIAN_PAIR)
        return;
    side_gradient(c, s->j, 1, -s->other, t, weight_bar + c->body[s->i].points, x, n_bar, x_bar);
    double along = tg_dot(d, n_bar, t->axis[0]), length = t->distance + s->radius + s->other;
    for (int a = 0; a < d; a++)
    {
        double g = (n_bar[a] - along * t->axis[0][a]) / length;
        x_bar[c->first[s->j] * d + a] += g;
        x_bar[c->first[s->i] * d + a] -= g;
    }
}

static void add_link(const tg_cartesian *c, int from, int to, const double *g, double *x_bar)
{
    for (int a = 0; a < c->dim; a++)
    {
        x_bar[to * c->dim + a] += g[a];
        if (from >= 0)
            x_bar[from * c->dim + a] -= g[a];
    }
}

/* gradient with respect to u of g . (u_perp / l^2) */
static void angle_gradient(const double *u, double l, const double *g, double *out)
{
    double value = (-u[1] * g[0] + u[0] * g[1]) / (l * l);
    out[0] = (g[1] - 2 * value * u[0]) / (l * l);
    out[1] = (-g[0] - 2 * value * u[1]) / (l * l);
}

static void limit_gradient(const tg_cartesian *c, const tg_touch *t, const tg_touch *bar, const double *x,
                           double *x_bar)
{
    const tg_cartesian_contact *s = &c->contact[t->slot];
    double u[3], g[3], out[3] = {0}, sign = -t->which;
    double l = link(c, s, s->i, s->j, x, u);
    const double *start = s->i >= 0 ? bar->coefficient[0][0] : NULL;
    const double *middle = bar->coefficient[0][s->i >= 0 ? 1 : 0], *last = bar->coefficient[0][s->i >= 0 ? 2 : 1];
    for (int a = 0; a < c->dim; a++)
        g[a] = s->kind == TG_CARTESIAN_BEND ? sign * ((start != NULL ? start[a] : 0) - middle[a])
                                            : sign * (middle[a] - (start != NULL ? start[a] : 0));
    if (s->kind == TG_CARTESIAN_STRETCH)
    {
        double along = tg_dot(c->dim, u, g) / (l * l);
        for (int a = 0; a < c->dim; a++)
            out[a] = (g[a] - along * u[a]) / l;
        add_link(c, s->i, s->j, out, x_bar);
        return;
    }
    angle_gradient(u, l, g, out);
    add_link(c, s->i, s->j, out, x_bar);
    l = link(c, s, s->j, s->k, x, u);
    for (int a = 0; a < 2; a++)
        g[a] = sign * (last[a] - middle[a]);
    angle_gradient(u, l, g, out);
    add_link(c, s->j, s->k, out, x_bar);
}

void tg_touch_gradient(tg_cartesian_lane *lane, const double *x, const double *distance_bar, double *x_bar)
{
    const tg_cartesian *c = lane->c;
    for (int i = 0; i < lane->touches; i++)
    {
        const tg_touch *t = &lane->touch[i];
        distance_gradient(c, t, distance_bar[t->row], x_bar);
        if (is_limit(c, t))
            limit_gradient(c, t, &lane->change[i], x, x_bar);
        else
            surface_gradient(c, t, &lane->change[i], x, x_bar);
    }
}
