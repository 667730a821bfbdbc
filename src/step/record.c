/* What a tape keeps of a step, and how the step comes back from it.
 *
 * A record: its numbers, forces and velocities of the smooth part, the results of islands, modes, impulses L and velocities sigma of all rows,
 * then the contact points. Of a point only what its kind has is kept. */
#include "dynamics/tendon.h"
#include "step/step.h"

typedef struct header
{
    int touches, constraints, rows, blocks, islands;
    tg_info info;
} header;

typedef struct kept_island
{
    bool relaxed;
    tg_solve_result result;
} kept_island;

/* bytes of a contact point that its kind has a use for */
static size_t point_bytes(const tg_contact_point *c)
{
    if (tg_has_course(c))
        return sizeof *c;
    return c->kind == TG_POINT_WITNESS ? offsetof(tg_contact_point, incident_edge) : offsetof(tg_contact_point, course);
}

/* ---- to the record ---- */

size_t tg_step_record_bytes(const tg_work *w)
{
    const tg_rows *r = w->rows;
    size_t bytes = sizeof(header) + sizeof(kept_island) * (size_t)r->nisland +
                   sizeof(tg_block_mode) * (size_t)r->nblock + 2 * sizeof(double) * (size_t)(r->nrow + w->model->nv);
    for (int i = 0; i < r->ntouch; i++)
        bytes += sizeof(size_t) + sizeof(tg_geom_pair) + point_bytes(&r->touch[i].at);
    return bytes;
}

static void put(unsigned char **to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(*to, from, bytes);
    *to += bytes;
}

void tg_step_record(const tg_work *w, unsigned char *to)
{
    const tg_rows *r = w->rows;
    header h = {r->ntouch, r->nconstraint, r->nrow, r->nblock, r->nisland, w->step->info};
    put(&to, &h, sizeof h);
    put(&to, w->step->force, sizeof(double) * (size_t)w->model->nv);
    put(&to, w->step->v_free, sizeof(double) * (size_t)w->model->nv);
    for (int i = 0; i < r->nisland; i++)
    {
        kept_island k = {r->island[i].relaxed, r->island[i].result};
        put(&to, &k, sizeof k);
    }
    put(&to, r->mode, sizeof *r->mode * (size_t)r->nblock);
    put(&to, r->L, sizeof *r->L * (size_t)r->nrow);
    put(&to, r->sigma, sizeof *r->sigma * (size_t)r->nrow);
    for (int i = 0; i < r->ntouch; i++)
    {
        size_t bytes = point_bytes(&r->touch[i].at);
        put(&to, &bytes, sizeof bytes);
        put(&to, &r->touch[i].pair, sizeof r->touch[i].pair);
        put(&to, &r->touch[i].at, bytes);
    }
}

/* ---- from the record ---- */

static void get(void *to, const unsigned char **from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, *from, bytes);
    *from += bytes;
}

/* The contact points, and where the geoms are whose places count: all, or those of points that depend on where their geoms will be. */
static void list_points(const tg_model *m, tg_work *w, const unsigned char *from, int count, bool geoms)
{
    tg_geom_pair placed = {-1, -1}; /* points of a pair follow each other */
    for (int i = 0; i < count; i++)
    {
        size_t bytes;
        tg_geom_pair pair;
        tg_contact_point at;
        get(&bytes, &from, sizeof bytes);
        get(&pair, &from, sizeof pair);
        get(&at, &from, bytes);
        tg_list_touch(m, w, pair, &at);
        if ((geoms || tg_has_course(&at)) && (pair.first != placed.first || pair.second != placed.second))
        {
            tg_space_update_pair(m, w, pair);
            placed = pair;
        }
    }
}

static void copy_solution(tg_work *w, const header *h, const unsigned char *from)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < h->islands; i++)
    {
        kept_island k;
        get(&k, &from, sizeof k);
        if (k.relaxed)
            tg_step_drop_push(r, &r->island[i]);
        r->island[i].result = k.result;
    }
    get(r->mode, &from, sizeof *r->mode * (size_t)h->blocks);
    get(r->L, &from, sizeof *r->L * (size_t)h->rows);
    get(r->sigma, &from, sizeof *r->sigma * (size_t)h->rows);
}

static void copy_next(const tg_model *m, tg_step_work *s, const tg_state *next)
{
    memcpy(s->q_next, next->q, sizeof(double) * (size_t)m->nq);
    memcpy(s->v_next, next->v, sizeof(double) * (size_t)m->nv);
    if (m->na > 0)
        memcpy(s->act_next, next->act, sizeof(double) * (size_t)m->na);
}

tg_status tg_step_restore(const tg_model *m, tg_work *w, const tg_options *options, const tg_state *in,
                          const tg_control *control, const tg_state *next, const unsigned char *record, bool geoms)
{
    tg_step_work *s = w->step;
    header h;
    get(&h, &record, sizeof h);
    s->done = s->modes = s->factored = false;
    TG_TRY(tg_step_options(m, w, options));
    TG_TRY(tg_step_inputs(m, w, in, control));
    TG_TRY(tg_step_stages(m, w));
    if (m->ntendon > 0 && m->nu == 0)
        tg_tendons(m, w, s->q);
    get(s->force, &record, sizeof(double) * (size_t)m->nv);
    get(s->v_free, &record, sizeof(double) * (size_t)m->nv);
    s->placement = w->placement;
    size_t solution = sizeof(kept_island) * (size_t)h.islands + sizeof(tg_block_mode) * (size_t)h.blocks +
                      2 * sizeof(double) * (size_t)h.rows;
    if (h.constraints > h.touches)
        tg_list_joints(m, w, s->q, s->v, s->v_free, &s->settings);
    else
        tg_list_nothing(w);
    list_points(m, w, record + solution, h.touches, geoms);
    tg_step_assemble(m, w);
    copy_solution(w, &h, record);
    copy_next(m, s, next);
    s->info = h.info;
    s->done = s->modes = true;
    s->params = w->params;
    s->generation = w->params->generation;
    return TG_OK;
}
