#include "contact/space.h"

#include <math.h>

#include "math/lanes.h"
#include "model/candidates.h"

int tg_pair_capacity(const tg_model *m)
{
    size_t most = 48 * (size_t)m->ngeom;
    return m->ncandidate < 4096 || (size_t)m->ncandidate < most ? m->ncandidate : (int)most;
}

/* Others have closed forms, and no hint. */
static bool is_searched(int a, int b)
{
    int first = a < b ? a : b, second = a < b ? b : a;
    bool closed = first == TG_GEOM_CAPSULE && second == TG_GEOM_CAPSULE;
    return first >= TG_GEOM_SPHERE && (second == TG_GEOM_MESH || (first >= TG_GEOM_CAPSULE && !closed));
}

int tg_hint_capacity(const tg_model *m)
{
    bool has[TG_GEOM_TYPE_COUNT] = {false}, searched = false;
    int n = 64;
    for (int g = 0; g < m->ngeom; g++)
        has[m->geom_type[g]] = true;
    for (int i = 0; i < TG_GEOM_TYPE_COUNT * TG_GEOM_TYPE_COUNT; i++)
    {
        int a = i / TG_GEOM_TYPE_COUNT, b = i % TG_GEOM_TYPE_COUNT;
        searched = searched || (has[a] && has[b] && is_searched(a, b));
    }
    while (n < m->ncandidate && n < 4096)
        n *= 2;
    return searched ? n : 0;
}

tg_hint *tg_hint_of(const tg_space *s, tg_geom_pair pair)
{
    if (s->nhint == 0 || !is_searched((int)s->placed[pair.first].type, (int)s->placed[pair.second].type))
        return NULL;
    uint32_t mixed = (uint32_t)pair.first * 0x9E3779B1u + (uint32_t)pair.second * 0x85EBCA77u;
    tg_pair_hint *h = &s->hint[(mixed ^ mixed >> 15) & (uint32_t)(s->nhint - 1)];
    if (h->pair.first != pair.first || h->pair.second != pair.second)
        *h = (tg_pair_hint){.pair = pair};
    return &h->hint;
}

void tg_space_place(tg_space *s, const tg_model *m, tg_arena *arena)
{
#define X(type, name, count, doc) s->name = TG_TAKE(arena, type, count, #name);
    TG_SPACE_FIELDS(X)
#undef X
}

static void allow(const tg_space *s, int geom1, int geom2)
{
    int first = s->place[geom1], second = s->place[geom2];
    s->allowed_bits[(size_t)first * (size_t)s->allowed.words + (size_t)(second / 64)] |= (uint64_t)1 << (second % 64);
}

static bool may_meet(const void *space, int first, int second)
{
    const tg_space *s = space;
    return tg_geoms_may_meet(s->model, s->collider[first], s->collider[second]);
}

/* the same pairs as tg_list_candidates, as bits */
static void fill_allowed(tg_space *s, const tg_model *m)
{
    s->allowed = (tg_allowed){.words = tg_allowed_words(s->ncollider), .bits = s->allowed_bits};
    if (s->ncollider > TG_SWEEP_ABOVE)
    {
        s->allowed = (tg_allowed){.may = may_meet, .context = s};
        return;
    }
    for (int a = 0; a < m->nbody; a++)
        for (int b = a + 1; m->body_ngeom[a] > 0 && b < m->nbody; b++)
        {
            if (m->body_ngeom[b] == 0 || !tg_bodies_may_collide(m, a, b))
                continue;
            for (int g = m->body_geom[a]; g < m->body_geom[a] + m->body_ngeom[a]; g++)
                for (int h = m->body_geom[b]; h < m->body_geom[b] + m->body_ngeom[b]; h++)
                    if (tg_geoms_fit(m, g, h))
                        allow(s, g, h);
        }
    for (int i = 0; i < m->npair; i++)
    {
        bool swap = m->pair_geom1[i] > m->pair_geom2[i];
        allow(s, swap ? m->pair_geom2[i] : m->pair_geom1[i], swap ? m->pair_geom1[i] : m->pair_geom2[i]);
    }
}

/* The others are never placed, and have no bounds. */
static void list_colliders(tg_space *s, const tg_model *m)
{
    s->ncollider = 0;
    for (int g = 0; g < m->ngeom; g++)
    {
        bool paired = m->geom_paired_start[g + 1] > m->geom_paired_start[g];
        bool collides = paired || (m->geom_contype[g] | m->geom_conaffinity[g]) != 0;
        s->place[g] = collides ? s->ncollider : -1;
        if (collides)
            s->collider[s->ncollider++] = g;
    }
}

void tg_space_init(tg_space *s, const tg_model *m)
{
    s->model = m;
    list_colliders(s, m);
    s->bounds = tg_bounds_place(s->bounds_memory, s->ncollider);
    s->nhint = tg_hint_capacity(m);
    s->margin_params = s->shape_params = NULL;
    fill_allowed(s, m);
}

/* ---- where the geoms are ---- */

/* what does not depend on the pose: once for the values of the parameters */
static void shape_geoms(const tg_model *m, const tg_work *w)
{
    const tg_params *p = w->params;
    tg_space *space = w->space;
    if (space->shape_params == p && space->shape_generation == p->generation)
        return;
    space->shape_params = p;
    space->shape_generation = p->generation;
    for (int i = 0; i < m->nhfield; i++)
    {
        tg_terrain *t = &space->terrain[i];
        *t = (tg_terrain){m->hfield_nrow[i], m->hfield_ncol[i], m->elevation + m->hfield_elevation[i], {0}};
        memcpy(t->size, TG_PARAM_OF(p, hfield_size, i), sizeof t->size);
    }
    for (int g = 0; g < m->ngeom; g++)
    {
        tg_placed *s = &space->placed[g];
        s->type = (tg_geom_type)m->geom_type[g];
        memset(s->size, 0, sizeof s->size);
        memcpy(s->size, TG_PARAM_OF(p, geom_size, g), TG_SIZE_geom_size * sizeof *s->size);
        s->polytope = s->type == TG_GEOM_BOX    ? &tg_unit_cube
                      : s->type == TG_GEOM_MESH ? m->mesh_polytope[m->geom_mesh[g]]
                                                : NULL;
        s->terrain = s->type == TG_GEOM_HFIELD ? &space->terrain[m->geom_hfield[g]] : NULL;
    }
}

TG_INLINE void place_geom(const tg_model *m, const tg_work *w, int g)
{
    const tg_params *p = w->params;
    tg_placed *s = &w->space->placed[g];
    int body = m->geom_body[g];
    mat3 R = tg_body_rotation(w, body);
    s->x = tg_body_point(w, body, TG_PARAM_OF(p, geom_pos, g));
    s->R = mat3_product(R, mat3_load(p->geom_rot + MAT3_SIZE * g));
}

void tg_space_update(const tg_model *m, tg_work *w)
{
    const tg_space *s = w->space;
    shape_geoms(m, w);
    for (int i = 0; i < s->ncollider; i++)
        place_geom(m, w, s->collider[i]);
}

void tg_space_update_pair(const tg_model *m, tg_work *w, tg_geom_pair pair)
{
    shape_geoms(m, w);
    place_geom(m, w, pair.first);
    place_geom(m, w, pair.second);
}

/* ---- which are near ---- */

/* The first of those that name the same geoms, which comes last (fill_partners). */
int tg_declared_pair(const tg_model *m, tg_geom_pair pair)
{
    for (int i = m->geom_paired_start[pair.first + 1] - 1; i >= m->geom_paired_start[pair.first]; i--)
        if (m->geom_paired[i] == pair.second)
            return m->geom_pair[i];
    return -1;
}

double tg_pair_margin(const tg_model *m, const tg_params *p, tg_geom_pair pair)
{
    const double *margin = TG_PARAM(p, geom_margin);
    int declared = tg_declared_pair(m, pair);
    return declared >= 0 ? TG_PARAM(p, pair_margin)[declared] : margin[pair.first] + margin[pair.second];
}

/* The margin of each geom. A declared pair has its own margin, which may be larger than its geoms': half of it for
 * each. */
static void find_margins(const tg_model *m, const tg_params *p, tg_space *s)
{
    double *margin = s->margin;
    if (s->margin_params == p && s->margin_generation == p->generation)
        return;
    s->margin_params = p;
    s->margin_generation = p->generation;
    memcpy(margin, TG_PARAM(p, geom_margin), sizeof(double) * (size_t)m->ngeom);
    for (int i = 0; i < m->npair; i++)
    {
        double half = 0.5 * TG_PARAM(p, pair_margin)[i];
        int a = m->pair_geom1[i], b = m->pair_geom2[i];
        margin[a] = half > margin[a] ? half : margin[a];
        margin[b] = half > margin[b] ? half : margin[b];
    }
}

/* The box of a turned box has half lengths |R| h. */
static void bound_geom(const tg_work *w, int place, double grow)
{
    int g = w->space->collider[place];
    const tg_params *p = w->params;
    const tg_placed *s = &w->space->placed[g];
    tg_bounds *b = &w->space->bounds;
    const double *half = p->geom_half + V4_LANES * g;
    double more = w->space->margin[g] + grow;
    v4 centre = tg_geom_centre(w, g), h = v4_splat(INFINITY);
    if (half[0] < INFINITY)
        h = v4_absolute(s->R.c[0]) * v4_splat(half[0]) + v4_absolute(s->R.c[1]) * v4_splat(half[1]) +
            v4_absolute(s->R.c[2]) * v4_splat(half[2]) + v4_splat(more);
    for (int k = 0; k < DIM; k++)
    {
        b->centre[k][place] = centre[k];
        b->half[k][place] = h[k];
    }
    b->radius[place] = p->geom_radius[g] + more;
}

/* A plane has no bounds: what is clear of it by its own is left out. `more`: of the plane. */
static bool clear_of_plane(const tg_space *s, int plane, int geom, double more)
{
    const tg_placed *p = &s->placed[plane];
    int g = s->place[geom];
    const tg_bounds *b = &s->bounds;
    v4 n = p->R.c[2], across = v4_absolute(n);
    double height = -v4_dot(n, p->x), box = 0;
    for (int k = 0; k < DIM; k++)
    {
        height += n[k] * b->centre[k][g];
        box += across[k] * b->half[k][g];
    }
    return height - more >= (b->radius[g] < box ? b->radius[g] : box);
}

/* Axes of two capsules, c + t a with |t| <= h, are apart by at least |n . d|, n the unit vector across both, and by at
 * least the distance of the second's middle from the first's line less h_2 |sin|: bounds of long, thin shapes overlap
 * where these do not. */
static bool clear_capsules(const tg_space *s, tg_geom_pair pair, double more)
{
    const tg_placed *a = &s->placed[pair.first], *b = &s->placed[pair.second];
    double apart = a->size[0] + b->size[0] + more;
    v4 across = v4_cross(a->R.c[2], b->R.c[2]), d = b->x - a->x, off = v4_cross(a->R.c[2], d);
    double sine2 = v4_dot(across, across), along = v4_dot(across, d), reach = apart + b->size[1] * sqrt(sine2);
    return apart > 0 && (along * along > apart * apart * sine2 || v4_dot(off, off) > reach * reach);
}

/* From places of bounds to geoms, without those that are clear of each other. */
static int without_clear(const tg_work *w, const double *grow)
{
    tg_space *s = w->space;
    int kept = 0;
    for (int i = 0; i < s->npair; i++)
    {
        tg_geom_pair pair = {s->collider[s->pair[i].first], s->collider[s->pair[i].second]};
        bool first = s->placed[pair.first].type == TG_GEOM_PLANE, second = s->placed[pair.second].type == TG_GEOM_PLANE;
        int plane = first ? pair.first : pair.second, other = first ? pair.second : pair.first;
        if ((first || second) && clear_of_plane(s, plane, other, s->margin[plane] + grow[plane]))
            continue;
        if (s->placed[pair.first].type == TG_GEOM_CAPSULE && s->placed[pair.second].type == TG_GEOM_CAPSULE &&
            clear_capsules(s, pair,
                           s->margin[pair.first] + s->margin[pair.second] + grow[pair.first] + grow[pair.second]))
            continue;
        s->pair[kept++] = pair;
    }
    return kept;
}

tg_status tg_space_near_each(const tg_model *m, tg_work *w, const double *grow)
{
    tg_space *s = w->space;
    find_margins(m, w->params, s);
    for (int i = 0; i < s->ncollider; i++)
        bound_geom(w, i, grow[s->collider[i]]);
    int capacity = tg_pair_capacity(m);
    s->npair = tg_broad_phase(&s->bounds, s->allowed, s->order, s->pair, capacity);
    if (s->npair > capacity)
        return tg_fail(&w->error, TG_ERR_CAPACITY,
                       "%d pairs of geoms are near each other, the workspace has room for %d", s->npair, capacity);
    s->npair = without_clear(w, grow);
    return TG_OK;
}

tg_status tg_space_near(const tg_model *m, tg_work *w, double grow)
{
    for (int g = 0; g < m->ngeom; g++)
        w->space->grow[g] = 0.5 * grow;
    return tg_space_near_each(m, w, w->space->grow);
}
