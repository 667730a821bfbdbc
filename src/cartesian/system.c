/* A Cartesian system: checked, copied into one block. */
#include "cartesian/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

typedef struct refusal
{
    const char *task, *what;
    int index;
    tg_error *error;
} refusal;

static tg_status refuse(const refusal *r, const char *field, double value, const char *must)
{
    return tg_fail(r->error, TG_ERR_VALUE, "%s: %s %d: %s is %g, must %s", r->task, r->what, r->index, field, value,
                   must);
}

static bool positive(double v)
{
    return v > 0 && isfinite(v);
}

static tg_status check_bodies(const tg_cartesian_def *d, int *points, refusal r)
{
    r.what = "body";
    *points = 0;
    for (int i = 0; i < d->bodies; i++)
    {
        const tg_cartesian_body *b = &d->body[i];
        r.index = i;
        if (b->points != 1 && b->points != d->dim + 1)
            return refuse(&r, "points", b->points, "be 1 or dim + 1");
        if (!positive(b->mass))
            return refuse(&r, "mass", b->mass, "be positive");
        for (int k = 0; k + 1 < b->points; k++)
            if (!positive(b->lambda[k]))
                return refuse(&r, "lambda", b->lambda[k], "be positive");
        *points += b->points;
    }
    return TG_OK;
}

static bool within(int i, int least, int end)
{
    return i >= least && i < end;
}

static tg_status check_constraints(const tg_cartesian_def *d, int points, refusal r)
{
    r.what = "constraint";
    for (int i = 0; i < d->constraints; i++)
    {
        const tg_cartesian_constraint *q = &d->constraint[i];
        bool pivot = q->kind == TG_CARTESIAN_PIVOT;
        r.index = i;
        if ((int)q->kind < 0 || q->kind >= TG_CARTESIAN_CONSTRAINT_KINDS)
            return refuse(&r, "kind", q->kind, "be a kind of constraint");
        if (!within(q->i, 0, pivot ? d->bodies : points))
            return refuse(&r, "i", q->i, "name a point (a pivot: a body)");
        if (pivot && d->body[q->i].points == 1)
            return refuse(&r, "i", q->i, "be a body with axes");
        if (q->kind == TG_CARTESIAN_DISTANCE && (!within(q->j, 0, points) || q->j == q->i))
            return refuse(&r, "j", q->j, "name another point");
        if (!pivot && !positive(q->length))
            return refuse(&r, "length", q->length, "be positive");
    }
    return TG_OK;
}

static tg_status check_springs(const tg_cartesian_def *d, int points, refusal r)
{
    r.what = "spring";
    for (int i = 0; i < d->springs; i++)
    {
        const tg_cartesian_spring *s = &d->spring[i];
        r.index = i;
        if (!within(s->i, 0, points))
            return refuse(&r, "i", s->i, "name a point");
        if (s->j >= points || s->j == s->i)
            return refuse(&r, "j", s->j, "name another point, or be negative");
        if (!(s->stiffness >= 0) || isinf(s->stiffness))
            return refuse(&r, "stiffness", s->stiffness, "be at least 0");
        if (!(s->rest >= 0) || isinf(s->rest))
            return refuse(&r, "rest", s->rest, "be at least 0");
    }
    return TG_OK;
}

static tg_status check_limit(const tg_cartesian_def *d, const tg_cartesian_contact *s, int points, const refusal *r)
{
    if (s->i >= points || s->i == s->j)
        return refuse(r, "i", s->i, "name another point, or be negative");
    if (!within(s->j, 0, points))
        return refuse(r, "j", s->j, "name a point");
    if (s->kind == TG_CARTESIAN_BEND && (!within(s->k, 0, points) || s->k == s->j || s->k == s->i))
        return refuse(r, "k", s->k, "name another point");
    if (s->kind == TG_CARTESIAN_BEND && d->dim != 2)
        return refuse(r, "dim", d->dim, "be 2 for a bend");
    if (!positive(s->high))
        return refuse(r, "high", s->high, "be positive");
    if (s->kind == TG_CARTESIAN_STRETCH && (!(s->low >= 0) || s->low > s->high))
        return refuse(r, "low", s->low, "be in [0, high]");
    return TG_OK;
}

static tg_status check_contacts(const tg_cartesian_def *d, int points, refusal r)
{
    r.what = "contact";
    for (int i = 0; i < d->contacts; i++)
    {
        const tg_cartesian_contact *s = &d->contact[i];
        r.index = i;
        if ((int)s->kind < 0 || s->kind >= TG_CARTESIAN_CONTACT_KINDS)
            return refuse(&r, "kind", s->kind, "be a kind of contact");
        if (!within(s->type, 0, d->types))
            return refuse(&r, "type", s->type, "be in [0, types)");
        if (s->kind >= TG_CARTESIAN_BEND)
        {
            TG_TRY(check_limit(d, s, points, &r));
            continue;
        }
        if (!within(s->i, 0, d->bodies))
            return refuse(&r, "i", s->i, "name a body");
        if (!positive(s->radius))
            return refuse(&r, "radius", s->radius, "be positive");
        if (s->kind == TG_CARTESIAN_PAIR && (!within(s->j, 0, d->bodies) || s->j == s->i))
            return refuse(&r, "j", s->j, "name another body");
        if (s->kind == TG_CARTESIAN_PAIR && !positive(s->other))
            return refuse(&r, "other", s->other, "be positive");
        double length = tg_dot(d->dim, s->normal, s->normal);
        if (s->kind != TG_CARTESIAN_PAIR && !(fabs(length - 1) < 1e-9))
            return refuse(&r, "|normal|", sqrt(length), "be 1");
        if (s->kind == TG_CARTESIAN_RIM && (s->mesh < 1 || d->dim != 3 || d->body[s->i].points != 4))
            return refuse(&r, "mesh", s->mesh, "be positive, on a body with 3 axes");
    }
    return TG_OK;
}

static tg_status check_types(const tg_cartesian_def *d, refusal r)
{
    r.what = "type";
    for (r.index = 0; r.index < d->types; r.index++)
    {
        if (!(d->mu[r.index] >= 0) || isinf(d->mu[r.index]))
            return refuse(&r, "mu", d->mu[r.index], "be at least 0");
        if (!(d->e[r.index] >= 0) || isinf(d->e[r.index]))
            return refuse(&r, "e", d->e[r.index], "be at least 0");
    }
    r.what = "system";
    r.index = 0;
    if (!(d->eps >= 0) || isinf(d->eps))
        return refuse(&r, "eps", d->eps, "be at least 0");
    return TG_OK;
}

static void lay_out(tg_cartesian *c, tg_arena *arena)
{
    c->body = TG_TAKE(arena, tg_cartesian_body, c->bodies, "body");
    c->first = TG_TAKE(arena, int, c->bodies, "first");
    c->owner = TG_TAKE(arena, int, c->points, "owner");
    c->constraint = TG_TAKE(arena, tg_cartesian_constraint, c->constraints, "constraint");
    c->row = TG_TAKE(arena, int, c->constraints, "row");
    c->spring = TG_TAKE(arena, tg_cartesian_spring, c->springs, "spring");
    c->contact = TG_TAKE(arena, tg_cartesian_contact, c->contacts, "contact");
    c->value = TG_TAKE(arena, double, c->params, "value");
}

static void copy(void *to, const void *from, int count, size_t size)
{
    if (count > 0)
        memcpy(to, from, size * (size_t)count);
}

static void fill(tg_cartesian *c, const tg_cartesian_def *d)
{
    copy(c->body, d->body, d->bodies, sizeof *d->body);
    copy(c->constraint, d->constraint, d->constraints, sizeof *d->constraint);
    copy(c->spring, d->spring, d->springs, sizeof *d->spring);
    copy(c->contact, d->contact, d->contacts, sizeof *d->contact);
    copy(c->gravity, d->gravity, d->dim, sizeof *d->gravity);
    for (int i = 0, at = 0; i < d->bodies; i++)
    {
        c->first[i] = at;
        for (int k = 0; k < d->body[i].points; k++)
            c->owner[at++] = i;
        c->value[i] = d->body[i].mass;
        for (int a = 0; a < d->dim; a++)
            c->value[tg_at_lambda(c) + i * d->dim + a] = d->body[i].points > 1 ? d->body[i].lambda[a] : 0;
    }
    for (int i = 0; i < d->constraints; i++)
    {
        c->row[i] = c->rows;
        c->rows += d->constraint[i].kind == TG_CARTESIAN_PIVOT ? d->dim : 1;
    }
    for (int i = 0; i < d->contacts; i++)
        c->contact_rows += d->contact[i].kind >= TG_CARTESIAN_BEND ? 1 : d->dim;
    copy(c->value + tg_at_mu(c), d->mu, d->types, sizeof *d->mu);
    copy(c->value + tg_at_e(c), d->e, d->types, sizeof *d->e);
    c->value[tg_at_eps(c)] = d->eps;
}

tg_status tg_cartesian_create(const tg_cartesian_def *def, const tg_allocator *allocator, tg_cartesian **out,
                              tg_error *error)
{
    if (def == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "cartesian: def or out is NULL");
    refusal r = {.task = def->name != NULL ? def->name : "system", .error = error, .what = "system"};
    int points;
    if (def->dim != 2 && def->dim != 3)
        return refuse(&r, "dim", def->dim, "be 2 or 3");
    if (def->bodies < 1)
        return refuse(&r, "bodies", def->bodies, "be at least 1");
    TG_TRY(check_bodies(def, &points, r));
    TG_TRY(check_constraints(def, points, r));
    TG_TRY(check_springs(def, points, r));
    TG_TRY(check_contacts(def, points, r));
    TG_TRY(check_types(def, r));
    tg_cartesian shape = {.dim = def->dim,
                          .points = points,
                          .bodies = def->bodies,
                          .types = def->types,
                          .springs = def->springs,
                          .contacts = def->contacts,
                          .constraints = def->constraints,
                          .params = def->bodies * (1 + def->dim) + 2 * def->types + 1};
    if (allocator != NULL)
        shape.allocator = *allocator, shape.own_allocator = true;
    snprintf(shape.name, sizeof shape.name, "%s", r.task);
    tg_arena count = {0};
    TG_TAKE(&count, tg_cartesian, 1, "cartesian");
    lay_out(&shape, &count);
    unsigned char *block = count.failed ? NULL : tg_alloc(allocator, count.used);
    if (block == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "%s: no memory for %d points", r.task, points);
    tg_arena arena = {.base = block, .capacity = count.used};
    tg_cartesian *c = TG_TAKE(&arena, tg_cartesian, 1, "cartesian");
    *c = shape;
    lay_out(c, &arena);
    fill(c, def);
    *out = c;
    return TG_OK;
}

void tg_cartesian_destroy(tg_cartesian *c)
{
    if (c == NULL)
        return;
    tg_allocator allocator = c->allocator;
    tg_free(c->own_allocator ? &allocator : NULL, c);
}

tg_cartesian_sizes tg_cartesian_size(const tg_cartesian *c)
{
    return (tg_cartesian_sizes){.dim = c->dim,
                                .points = c->points,
                                .bodies = c->bodies,
                                .types = c->types,
                                .constraints = c->rows,
                                .contacts = c->contacts,
                                .params = c->params};
}

const double *tg_cartesian_params(const tg_cartesian *c)
{
    return c->value;
}
