/* What a tape keeps of a step, and how the step comes back from it.
 *
 * A record is a copy of arrays of the workspace: forces and velocities of the smooth part; constraints, islands, laws,
 * modes, impulses and velocities of the contact problem; of every contact point what its kind has; and the matrices, if
 * they do not take much room: factors of the mass matrix, Y and G (contact/rows.h). What is not kept is computed again,
 * from the same numbers in the same way. */
#include "dynamics/actuation.h"
#include "dynamics/crba.h"
#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "step/step.h"
#include "step/unrolled.h"

static const size_t most_matrices = (size_t)48 * 1024; /* bytes */

typedef struct header
{
    int touches, given, bonds, constraints, parts, rows, blocks, islands, columns;
    size_t jacobian, delassus; /* numbers of Y and G */
    size_t loops, null;        /* rows of loops with redundant ones, numbers of Z */
    bool matrices;             /* are kept */
    bool poisson;              /* an island was restituted */
    bool within;               /* an island had impacts within the step */
    bool held;                 /* trees went a share of their way */
    bool unmet;                /* loops have redundant rows */
    double dt;
    tg_reserve bounds;
    tg_info info;
} header;

/* An array of the workspace. */
typedef struct piece
{
    void *at;
    size_t bytes;
} piece;

enum
{
    ARRAYS = 35,
    MATRICES = 8
};

#define PIECE(array, count)                                                                                            \
    {                                                                                                                  \
        (array), sizeof *(array) * (size_t)(count)                                                                     \
    }

static void list_arrays(const tg_work *w, const header *h, piece out[ARRAYS])
{
    const tg_model *m = w->model;
    const tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    const piece all[ARRAYS] = {
        PIECE(s->force, m->nv),
        PIECE(s->v_free, m->nv),
        PIECE(s->extra, m->nv),
        PIECE(s->drive, m->nu),
        PIECE(r->bond, h->bonds),
        PIECE(r->constraint, h->constraints),
        PIECE(r->part, h->parts),
        PIECE(r->order, h->blocks),
        PIECE(r->block, h->blocks),
        PIECE(r->mode, h->blocks),
        PIECE(r->island, h->islands),
        PIECE(r->tree_island, m->ntree),
        PIECE(r->tree_columns, m->ntree),
        PIECE(r->tree_start, m->ntree + 1),
        PIECE(r->tree_column, m->ntree),
        PIECE(r->column_row, h->columns),
        PIECE(r->phi, h->rows),
        PIECE(r->speed, h->rows),
        PIECE(r->g, h->rows),
        PIECE(r->bias, h->rows),
        PIECE(r->unmet, h->unmet ? h->rows : 0),
        PIECE(r->loop_row, h->loops),
        PIECE(r->Z, h->null),
        PIECE(r->L, h->rows),
        PIECE(r->sigma, h->rows),
        PIECE(r->compressed, h->poisson ? h->rows : 0),
        PIECE(r->compressed_sigma, h->poisson ? h->rows : 0),
        PIECE(r->leaves, h->poisson ? h->blocks : 0),
        PIECE(s->share, h->held ? m->nv : 0),
        PIECE(r->warm, tg_unrolls(w) ? h->rows : 0),
        PIECE(s->v_placing, h->within ? m->nv : 0),
        PIECE(r->placing_L, h->within ? h->rows : 0),
        PIECE(r->placing_sigma, h->within ? h->rows : 0),
        PIECE(r->placing_g, h->within ? h->rows : 0),
        PIECE(r->placing_mode, h->within ? h->blocks : 0),
    };
    memcpy(out, all, sizeof all);
}

static void list_matrices(const tg_work *w, const header *h, piece out[MATRICES])
{
    const tg_model *m = w->model;
    const tg_rows *r = w->rows;
    const piece all[MATRICES] = {PIECE(w->M, m->nmatrix),
                                 PIECE(w->dinv, m->nv),
                                 PIECE(r->root_d, m->nv),
                                 PIECE(r->Y, h->jacobian),
                                 PIECE(r->G, h->delassus),
                                 PIECE(w->group, w->grouped ? m->group_matrix[m->ngroup] : 0),
                                 PIECE(w->group_inverse, w->grouped ? m->nv : 0),
                                 PIECE(w->group_zeros, w->grouped ? m->ngroup : 0)};
    memcpy(out, all, sizeof all);
}

static size_t bytes_of(const piece *p, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += p[i].bytes;
    return sum;
}

/* ---- contact points ---- */

/* bytes of a contact point that its kind has a use for */
static size_t point_bytes(const tg_contact_point *c)
{
    if (tg_has_course(c))
        return sizeof *c;
    return c->kind == TG_POINT_WITNESS ? offsetof(tg_contact_point, incident_edge) : offsetof(tg_contact_point, course);
}

/* what a touch has behind its point */
static const size_t rest_bytes = sizeof(tg_touch) - offsetof(tg_touch, bond);

/* ---- to the record ---- */

static header header_of(const tg_work *w)
{
    const tg_rows *r = w->rows;
    header h = {.touches = r->ntouch,
                .given = r->ngiven,
                .bonds = r->nbond,
                .constraints = r->nconstraint,
                .parts = r->npart,
                .rows = r->nrow,
                .blocks = r->nblock,
                .islands = r->nisland,
                .matrices = true,
                .within = w->step->within,
                .held = w->step->held,
                .dt = r->dt,
                .bounds = w->step->bounds,
                .info = w->step->info};
    for (int t = 0; t < w->model->ntree; t++)
        h.columns += r->tree_columns[t];
    for (int i = 0; i < r->nisland; i++)
    {
        h.delassus += (size_t)r->island[i].rows * (size_t)v4_pad(r->island[i].rows);
        h.matrices = h.matrices && r->island[i].filled;
        h.poisson = h.poisson || r->island[i].restituted;
        h.unmet = h.unmet || r->island[i].redundant > 0;
        h.loops += r->island[i].redundant > 0 ? (size_t)r->island[i].loops : 0;
        h.null += (size_t)r->island[i].redundant * (size_t)r->island[i].loops;
    }
    h.jacobian = r->tree_start[w->model->ntree];
    piece matrix[MATRICES];
    list_matrices(w, &h, matrix);
    h.matrices = h.matrices && bytes_of(matrix, MATRICES) <= most_matrices;
    return h;
}

size_t tg_step_record_bytes(const tg_work *w)
{
    header h = header_of(w);
    piece array[ARRAYS], matrix[MATRICES];
    list_arrays(w, &h, array);
    list_matrices(w, &h, matrix);
    size_t bytes = sizeof h + bytes_of(array, ARRAYS) + (h.matrices ? bytes_of(matrix, MATRICES) : 0);
    for (int i = 0; i < h.touches; i++)
        bytes += sizeof(size_t) + point_bytes(&w->rows->touch[i].at) + rest_bytes;
    return bytes;
}

static void put(unsigned char **to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(*to, from, bytes);
    *to += bytes;
}

static void put_all(unsigned char **to, const piece *p, int count)
{
    for (int i = 0; i < count; i++)
        put(to, p[i].at, p[i].bytes);
}

void tg_step_record(const tg_work *w, unsigned char *to)
{
    header h = header_of(w);
    piece array[ARRAYS], matrix[MATRICES];
    list_arrays(w, &h, array);
    list_matrices(w, &h, matrix);
    put(&to, &h, sizeof h);
    put_all(&to, array, ARRAYS);
    for (int i = 0; i < h.touches; i++)
    {
        const tg_touch *t = &w->rows->touch[i];
        size_t bytes = point_bytes(&t->at);
        put(&to, &bytes, sizeof bytes);
        put(&to, &t->at, bytes);
        put(&to, &t->bond, rest_bytes);
    }
    if (h.matrices)
        put_all(&to, matrix, MATRICES);
}

/* half a dozen contacts with friction */
size_t tg_step_record_foreseen(const tg_model *m)
{
    size_t contacts = (size_t)(tg_default_contacts(m) < 6 ? tg_default_contacts(m) : 6), rows = DIM * contacts;
    size_t nv = (size_t)m->nv, matrices = (size_t)m->nmatrix + 2 * nv + rows * nv + rows * (rows + 2);
    size_t touch = offsetof(tg_contact_point, incident_edge) + rest_bytes + sizeof(tg_constraint) + sizeof(tg_block) +
                   sizeof(tg_block_mode) + 256;
    matrices = sizeof(double) * matrices < most_matrices ? sizeof(double) * matrices : 0;
    return 1024 + contacts * touch + 4 * sizeof(double) * nv + sizeof(tg_drive) * (size_t)m->nu +
           64 * (size_t)m->ntree + 64 * (size_t)(m->nequality + m->nv + m->ntendon) + matrices;
}

/* ---- from the record ---- */

static void get(void *to, const unsigned char **from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, *from, bytes);
    *from += bytes;
}

static void get_all(const piece *p, int count, const unsigned char **from)
{
    for (int i = 0; i < count; i++)
        get(p[i].at, from, p[i].bytes);
}

static void get_counts(tg_rows *r, const header *h)
{
    r->ntouch = r->needed = h->touches;
    r->ngiven = h->given;
    r->nbond = h->bonds;
    r->nconstraint = h->constraints;
    r->npart = h->parts;
    r->nrow = h->rows;
    r->nblock = h->blocks;
    r->nisland = h->islands;
    r->dt = h->dt;
    r->large_factors = -1;
    r->null_known = false;
}

/* The contact points, and where the geoms are whose places count: all, or those of points that depend on where their
 * geoms will be. */
static void get_touches(const tg_model *m, tg_work *w, const unsigned char **from, bool geoms)
{
    tg_geom_pair placed = {-1, -1}; /* points of a pair follow each other */
    for (int i = 0; i < w->rows->ntouch; i++)
    {
        tg_touch *t = &w->rows->touch[i];
        size_t bytes;
        get(&bytes, from, sizeof bytes);
        get(&t->at, from, bytes);
        get(&t->bond, from, rest_bytes);
        bool moves = t->law.given == NULL && (geoms || tg_has_course(&t->at));
        if (moves && (t->pair.first != placed.first || t->pair.second != placed.second))
        {
            tg_space_update_pair(m, w, t->pair);
            placed = t->pair;
        }
    }
}

static tg_status make_matrices(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    TG_TRY(tg_factor_mass(m, w, s->extra, tg_tendons_late(m, w) ? s->coupling : NULL));
    for (int i = 0; i < w->rows->nisland; i++)
        w->rows->island[i].filled = false;
    if (w->rows->nrow == 0)
        return TG_OK;
    tg_fill_jacobian(m, w, s->q);
    tg_fill_delassus(m, w, s->options.dt, true);
    return TG_OK;
}

void tg_step_need_rows(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    if (s->rows)
        return;
    if (w->rows->nrow > 0)
        tg_fill_jacobian(m, w, s->q);
    for (int i = 0; i < w->rows->ntouch; i++)
        if (w->rows->touch[i].law.given == NULL)
            tg_space_update_pair(m, w, w->rows->touch[i].pair);
    s->rows = true;
}

/* what forward mode needs beside the matrices of the record */
static void make_columns(const tg_model *m, tg_work *w)
{
    tg_composites(m, w);
    tg_step_need_rows(m, w);
}

static void copy(double *to, const double *from, int n)
{
    if (from == NULL)
        memset(to, 0, sizeof(double) * (size_t)n);
    else if (n > 0)
        memcpy(to, from, sizeof(double) * (size_t)n);
}

/* what the step has checked */
static void copy_inputs(const tg_model *m, tg_step_work *s, const tg_state *in, const tg_control *control)
{
    copy(s->q, in->q, m->nq);
    copy(s->v, in->v, m->nv);
    copy(s->act, in->act, m->na);
    copy(s->u, control->u, m->nu);
    copy(s->tau, control->tau, m->nv);
    s->has_wrench = control->wrench != NULL;
    if (s->has_wrench)
        copy(s->wrench, control->wrench, TWIST * m->nbody);
}

static void copy_next(const tg_model *m, tg_step_work *s, const tg_state *next)
{
    copy(s->q_next, next->q, m->nq);
    copy(s->v_next, next->v, m->nv);
    copy(s->act_next, next->act, m->na);
}

void tg_step_place(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_position_stage(m, w, s->q);
    w->grouped = tg_tendons_late(m, w);
    w->rows->grouped = w->grouped ? m : NULL;
    if (w->grouped)
        tg_order_groups(m, w);
    if (m->nu > 0)
        tg_transmissions(m, w, s->q);
    else
        tg_tendons(m, w, s->q);
    if (m->ntendon > 0)
        tg_tendon_rates(m, w, s->v);
    tg_node_twists(m, w, s->v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    s->placement = w->placement;
}

tg_status tg_step_restore(const tg_model *m, tg_work *w, const tg_state *in, const tg_control *control,
                          const tg_state *next, const unsigned char *record, tg_restore_use use)
{
    tg_step_work *s = w->step;
    header h;
    piece array[ARRAYS], matrix[MATRICES];
    get(&h, &record, sizeof h);
    s->done = s->modes = s->factored = s->rows = s->gyroscopic_factored = false;
    s->use = TG_IMPLICIT_MOTION;
    copy_inputs(m, s, in, control);
    tg_step_place(m, w);
    list_arrays(w, &h, array);
    list_matrices(w, &h, matrix);
    get_counts(w->rows, &h);
    get_all(array, ARRAYS, &record);
    tg_step_cables(m, w, NULL);
    if (w->grouped)
        tg_step_couplings(m, w);
    get_touches(m, w, &record, use != TG_RESTORE_STATES);
    if (h.given > 0)
        tg_return_given(w->rows, control->contacts);
    if (h.matrices)
    {
        get_all(matrix, MATRICES, &record);
        tg_return_delassus(m, w);
    }
    else
        TG_TRY(make_matrices(m, w));
    if (h.matrices && use == TG_RESTORE_COLUMNS)
        make_columns(m, w);
    copy_next(m, s, next);
    s->within = h.within;
    s->held = h.held;
    s->info = h.info;
    s->bounds = h.bounds;
    s->done = s->modes = true;
    s->params = w->params;
    s->generation = w->params->generation;
    return TG_OK;
}
