/* Contacts from outside, in place of collision.
 *
 * A given contact is a touch whose frame follows nothing: point, normal and gap are numbers that went in, and so are
 * the coefficients of its law. Their gradients are those that the geoms of other touches would pass on (rows_vjp.c,
 * law_vjp.c); their changes are what displaces the frame (rows_change.c). A normal of any length is taken as n / |n|:
 * its gradient is (1 - n n^T) g / |n|. */
#include <float.h>
#include <math.h>

#include "contact/collide.h"
#include "contact/rows.h"
#include "dynamics/kinematics.h"
#include "tangere/contact.h"

/* places of the law's numbers behind TG_GIVEN_LAW */
enum
{
    AT_FRICTION,
    AT_KINETIC = AT_FRICTION + DIM,
    AT_SLIP_SPEED,
    AT_RESTITUTION,
    AT_COMPLIANCE,
    AT_DAMPING
};

static const char *const number_name[TG_GIVEN_NUMBERS] = {
    "point[0]",    "point[1]",    "point[2]", "normal[0]",  "normal[1]",   "normal[2]",  "gap",    "friction[0]",
    "friction[1]", "friction[2]", "kinetic",  "slip_speed", "restitution", "compliance", "damping"};

tg_given_contact tg_default_given_contact(void)
{
    return (tg_given_contact){
        .condim = DIM, .normal = {0, 0, 1}, .friction = {1, 0.005, 0.0001}, .kinetic = 1, .slip_speed = 0.001};
}

static void numbers_of(const tg_given_contact *c, double out[TG_GIVEN_NUMBERS])
{
    memcpy(out, c->point, sizeof c->point);
    memcpy(out + TG_GIVEN_NORMAL, c->normal, sizeof c->normal);
    out[TG_GIVEN_GAP] = c->gap;
    double *law = out + TG_GIVEN_LAW;
    memcpy(law + AT_FRICTION, c->friction, sizeof c->friction);
    law[AT_KINETIC] = c->kinetic;
    law[AT_SLIP_SPEED] = c->slip_speed;
    law[AT_RESTITUTION] = c->restitution;
    law[AT_COMPLIANCE] = c->compliance;
    law[AT_DAMPING] = c->damping;
}

/* ---- checks ---- */

static tg_status check_bodies(const tg_model *m, tg_work *w, int i, const tg_given_contact *c)
{
    const int body[2] = {c->body1, c->body2};
    for (int k = 0; k < 2; k++)
        if (body[k] < 0 || body[k] >= m->nbody)
            return tg_fail(&w->error, TG_ERR_ARGUMENT, "contacts[%d].body%d = %d: the model has bodies 0 .. %d", i,
                           k + 1, body[k], m->nbody - 1);
    if (m->body_node[body[0]] == m->body_node[body[1]])
        return tg_fail(&w->error, TG_ERR_VALUE,
                       "contacts[%d]: body1 = %d and body2 = %d cannot move against each other", i, body[0], body[1]);
    if (!tg_is_condim(c->condim) || c->condim > w->rows->capacity.condim)
        return tg_fail(&w->error, TG_ERR_VALUE, "contacts[%d].condim = %d: must be 1, 3, 4 or 6, and at most %d here",
                       i, c->condim, w->rows->capacity.condim);
    return TG_OK;
}

static tg_status check_numbers(tg_work *w, int i, const tg_given_contact *c)
{
    double x[TG_GIVEN_NUMBERS], *law = x + TG_GIVEN_LAW;
    numbers_of(c, x);
    for (int k = 0; k < TG_GIVEN_NUMBERS; k++)
        if (!isfinite(x[k]))
            return tg_fail(&w->error, TG_ERR_VALUE, "contacts[%d].%s = %g: must be finite", i, number_name[k], x[k]);
    const double *n = c->normal;
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 0) || !isfinite(length))
        return tg_fail(&w->error, TG_ERR_VALUE, "contacts[%d].normal = (%g, %g, %g) has length %g", i, n[0], n[1], n[2],
                       length);
    for (int k = 0; k <= AT_DAMPING; k++)
    {
        bool positive = k == AT_SLIP_SPEED || k == AT_KINETIC, share = k == AT_KINETIC || k == AT_RESTITUTION;
        if (law[k] < 0 || (positive && law[k] == 0) || (share && law[k] > 1))
            return tg_fail(&w->error, TG_ERR_VALUE, "contacts[%d].%s = %g: must be %s", i,
                           number_name[TG_GIVEN_LAW + k], law[k],
                           share      ? (positive ? "in (0, 1]" : "in [0, 1]")
                           : positive ? "> 0"
                                      : ">= 0");
    }
    return TG_OK;
}

tg_status tg_check_given(const tg_model *m, tg_work *w, const tg_given_contacts *given)
{
    if (given->count < 0 || (given->contact == NULL && given->count > 0))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "contacts: %d of them%s", given->count,
                       given->contact == NULL ? " at NULL" : "");
    if (given->count > w->rows->capacity.contacts)
    {
        w->rows->needed = given->count;
        return tg_fail(&w->error, TG_ERR_CAPACITY, "%d contact points, the workspace has room for %d", given->count,
                       w->rows->capacity.contacts);
    }
    for (int i = 0; i < given->count; i++)
    {
        TG_TRY(check_bodies(m, w, i, &given->contact[i]));
        TG_TRY(check_numbers(w, i, &given->contact[i]));
    }
    return TG_OK;
}

/* ---- as touches ---- */

/* a normal of length 1 but for rounding stays as it is */
static void take_numbers(const tg_given_contact *c, tg_given *g)
{
    numbers_of(c, g->number);
    double *n = g->number + TG_GIVEN_NORMAL, square = vec3_dot(n, n);
    g->length = fabs(square - 1) <= 16 * DBL_EPSILON ? 1 : sqrt(square);
    for (int k = 0; k < DIM; k++)
        n[k] /= g->length;
}

void tg_list_given(const tg_model *m, tg_work *w, const tg_given_contacts *given)
{
    tg_rows *r = w->rows;
    const tg_geom_pair none = {-1, -1};
    for (int i = 0; i < given->count; i++)
    {
        const tg_given_contact *c = &given->contact[i];
        tg_given *g = &r->given[i];
        take_numbers(c, g);
        tg_law law = {.given = g,
                      .condim = c->condim,
                      .friction = {AT_FRICTION, AT_FRICTION + 1, AT_FRICTION + 2},
                      .kinetic = AT_KINETIC,
                      .slip_speed = AT_SLIP_SPEED,
                      .restitution = AT_RESTITUTION,
                      .compliance = {AT_COMPLIANCE, -1},
                      .damping = {AT_DAMPING, -1},
                      .margin = {-1, -1}};
        tg_contact_point at;
        tg_init_point(&at, v4_load3(g->number), v4_load3(g->number + TG_GIVEN_NORMAL), g->number[TG_GIVEN_GAP],
                      INFINITY, 0);
        tg_set_touch(&r->touch[i], &at, none, (const int[2]){c->body1, c->body2}, &law, 0);
        tg_add_touch_constraint(m, w, i, c->id != 0 ? c->id : (uint64_t)i + 1);
    }
    r->ntouch = r->needed = r->ngiven = given->count;
}

void tg_return_given(tg_rows *r, const tg_given_contacts *given)
{
    for (int i = 0; i < given->count; i++)
    {
        take_numbers(&given->contact[i], &r->given[i]);
        r->touch[i].law.given = &r->given[i];
    }
}

tg_status tg_give_contact(const tg_model *m, tg_work *w, const tg_contact *contact, tg_given_contact *given)
{
    TG_TRY(tg_check_work(m, w));
    if (contact == NULL || given == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_give_contact: %s is NULL",
                       contact == NULL ? "contact" : "given");
    TG_TRY(tg_check_index(w, "geom1", contact->geom1, m->ngeom));
    TG_TRY(tg_check_index(w, "geom2", contact->geom2, m->ngeom));
    tg_geom_pair pair = {contact->geom1, contact->geom2};
    const tg_params *p = w->params;
    tg_law law = tg_law_of(m, p, pair, m->npair > 0 ? tg_declared_pair(m, pair) : -1);
    tg_given_contact out = {.body1 = m->geom_body[pair.first],
                            .body2 = m->geom_body[pair.second],
                            .condim = law.condim,
                            .id = contact->id,
                            .gap = contact->gap,
                            .kinetic = p->value[law.kinetic],
                            .slip_speed = p->value[law.slip_speed],
                            .restitution = p->value[law.restitution],
                            .compliance = tg_law_compliance(p, &law),
                            .damping = tg_law_damping(p, &law)};
    for (int k = 0; k < DIM; k++)
    {
        out.point[k] = contact->point[k];
        out.normal[k] = contact->normal[k];
        out.friction[k] = p->value[law.friction[k]];
    }
    *given = out;
    return TG_OK;
}

/* ---- derivatives ---- */

void tg_given_clear(tg_rows *r)
{
    for (int i = 0; i < r->ngiven; i++)
        memset(r->given[i].gradient, 0, sizeof r->given[i].gradient);
}

void tg_given_gradients(const tg_rows *r, double *out)
{
    for (int i = 0; i < r->ngiven && out != NULL; i++)
    {
        const tg_given *g = &r->given[i];
        double *to = out + (ptrdiff_t)TG_GIVEN_NUMBERS * i;
        memcpy(to, g->gradient, sizeof g->gradient);
        for (int k = TG_GIVEN_NORMAL; k < TG_GIVEN_GAP; k++)
            to[k] /= g->length;
    }
}

void tg_given_changes(tg_rows *r, const double *change)
{
    for (int i = 0; i < r->ngiven; i++)
    {
        tg_given *g = &r->given[i];
        if (change == NULL)
            memset(g->change, 0, sizeof g->change);
        else
            memcpy(g->change, change + (ptrdiff_t)TG_GIVEN_NUMBERS * i, sizeof g->change);
        const double *n = g->number + TG_GIVEN_NORMAL;
        double *dn = g->change + TG_GIVEN_NORMAL, along = vec3_dot(dn, n);
        for (int k = 0; k < DIM; k++)
            dn[k] = (dn[k] - along * n[k]) / g->length;
    }
}
