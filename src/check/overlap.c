#include "check/overlap.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/exclude.h"
#include "tangere/check.h"

#define TOUCHING 1e-6 /* m: an overlap below this is none */

static const char no_memory[] = "overlapping geoms: out of memory";

typedef struct overlap_list
{
    const tg_model *m;
    const tg_allocator *allocator;
    tg_overlap *at;
    int count;
    tg_error *error;
} overlap_list;

/* ---- finding them ---- */

static bool is_declared(const tg_model *m, int geom1, int geom2)
{
    for (int i = 0; i < m->npair; i++)
        if ((m->pair_geom1[i] == geom1 && m->pair_geom2[i] == geom2) ||
            (m->pair_geom1[i] == geom2 && m->pair_geom2[i] == geom1))
            return true;
    return false;
}

static bool is_terrain(const tg_model *m, int geom)
{
    return m->geom_type[geom] == TG_GEOM_PLANE || m->geom_type[geom] == TG_GEOM_HFIELD;
}

/* Points of a pair follow each other: the deepest of them counts. */
static void take_contact(overlap_list *list, const tg_contact *c)
{
    tg_overlap *last = list->count > 0 ? &list->at[list->count - 1] : NULL;
    double depth = -c->distance;
    if (!(depth > TOUCHING))
        return;
    if (last != NULL && last->geom1 == c->geom1 && last->geom2 == c->geom2)
    {
        last->depth = depth > last->depth ? depth : last->depth;
        return;
    }
    list->at[list->count++] = (tg_overlap){.geom1 = c->geom1,
                                           .geom2 = c->geom2,
                                           .depth = depth,
                                           .declared = is_declared(list->m, c->geom1, c->geom2),
                                           .terrain = is_terrain(list->m, c->geom1) || is_terrain(list->m, c->geom2)};
}

static tg_status collide(overlap_list *list, tg_work *w, const double *q)
{
    int count = 0, again = 0;
    tg_status status = tg_collide(list->m, w, q, 0, NULL, 0, &count);
    if (status != TG_OK)
        return tg_fail(list->error, status, "%s", tg_work_message(w));
    tg_contact *contact = tg_alloc(list->allocator, (size_t)count * sizeof *contact);
    list->at = tg_alloc(list->allocator, (size_t)count * sizeof *list->at);
    bool memory = contact != NULL && list->at != NULL;
    status = memory ? tg_collide(list->m, w, q, 0, contact, count, &again) : TG_ERR_MEMORY;
    if (status != TG_OK)
        tg_fail(list->error, status, "%s", memory ? tg_work_message(w) : no_memory);
    for (int i = 0; i < count && memory && status == TG_OK; i++)
        take_contact(list, &contact[i]);
    tg_free(list->allocator, contact);
    return status;
}

static tg_status find(overlap_list *list, tg_work *w)
{
    double *q = tg_alloc(list->allocator, (size_t)list->m->nq * sizeof *q);
    tg_status status =
        q != NULL ? tg_default_q(list->m, q, list->error) : tg_fail(list->error, TG_ERR_MEMORY, "%s", no_memory);
    if (status == TG_OK)
        status = collide(list, w, q);
    tg_free(list->allocator, q);
    return status;
}

tg_status tg_overlaps_find(const tg_model *m, tg_work *w, tg_overlap **overlap, int *count, tg_error *error)
{
    overlap_list list = {.m = m, .allocator = &m->allocator, .error = error};
    tg_status status = find(&list, w);
    *overlap = list.at;
    *count = list.count;
    return status;
}

/* ---- what the report says ---- */

enum
{
    LINE = 320
};

/* "geom 'foot'", or "geom #3 of body 'leg'" */
static void write_geom(const tg_model *m, int geom, char *text, size_t size)
{
    const char *name = tg_name(m, TG_GEOM, geom), *body = tg_name(m, TG_BODY, m->geom_body[geom]);
    if (name[0] != '\0')
        snprintf(text, size, "geom '%.100s'", name);
    else
        snprintf(text, size, "geom #%d of body '%.80s'", geom, body);
}

static tg_report_entry report_line(const tg_model *m, const tg_overlap *o, char element[LINE], char note[LINE])
{
    char first[LINE / 2 - 8], second[LINE / 2 - 8];
    write_geom(m, o->geom1, first, sizeof first);
    write_geom(m, o->geom2, second, sizeof second);
    snprintf(element, LINE, "%s and %s", first, second);
    snprintf(note, LINE, "overlap by %.4g m in the reference pose: %s", o->depth,
             o->declared  ? "still collide, since a pair declares it"
             : o->terrain ? "still collide, since one is a plane or a height field"
                          : "do not collide");
    return (tg_report_entry){TG_REPORT_NOTED, "", 0, element, "", note};
}

/* ---- the whole ---- */

static tg_status rebuild(const overlap_list *list, tg_model **out)
{
    size_t n = (size_t)list->count;
    int *geom = tg_alloc(list->allocator, 2 * n * sizeof *geom), ngeom = 0;
    tg_report_entry *report = tg_alloc(list->allocator, n * sizeof *report);
    char(*text)[2][LINE] = tg_alloc(list->allocator, n * sizeof *text);
    bool memory = geom != NULL && report != NULL && text != NULL;
    for (size_t i = 0; i < n && memory; i++)
    {
        const tg_overlap *o = &list->at[i];
        report[i] = report_line(list->m, o, text[i][0], text[i][1]);
        if (o->declared || o->terrain)
            continue;
        geom[2 * ngeom] = o->geom1;
        geom[2 * ngeom + 1] = o->geom2;
        ngeom++;
    }
    tg_status status = memory ? tg_model_exclude(list->m, geom, ngeom, report, list->count, out, list->error)
                              : tg_fail(list->error, TG_ERR_MEMORY, "%s", no_memory);
    tg_free(list->allocator, geom);
    tg_free(list->allocator, report);
    tg_free(list->allocator, text);
    return status;
}

tg_status tg_exclude_overlaps(const tg_model *m, tg_model **out, tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_exclude_overlaps: %s is NULL", m == NULL ? "m" : "out");
    *out = NULL;
    overlap_list list = {.m = m, .allocator = &m->allocator, .error = error};
    tg_work *w = NULL;
    tg_status status = tg_work_create(m, &w, error);
    if (status == TG_OK)
        status = find(&list, w);
    tg_work_destroy(w);
    if (status == TG_OK)
        status = rebuild(&list, out);
    tg_free(list.allocator, list.at);
    return status;
}
