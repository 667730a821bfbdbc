#include "model/candidates.h"

/* Whether j is among the partners of i; see fill_partners in build_structure.c. */
static bool is_partner(const int *start, const int *other, int i, int j)
{
    for (int k = start[i]; k < start[i + 1]; k++)
        if (other[k] == j)
            return true;
    return false;
}

bool tg_geoms_fit(const tg_model *m, int geom1, int geom2)
{
    bool fit = (m->geom_contype[geom1] & m->geom_conaffinity[geom2]) != 0 ||
               (m->geom_contype[geom2] & m->geom_conaffinity[geom1]) != 0;
    return fit && !is_partner(m->geom_apart_start, m->geom_apart, geom1, geom2);
}

bool tg_bodies_may_collide(const tg_model *m, int body1, int body2)
{
    int weld1 = m->body_weld[body1], weld2 = m->body_weld[body2];
    if (weld1 == weld2)
        return false;
    int parent1 = m->body_weld[m->body_parent[weld1]], parent2 = m->body_weld[m->body_parent[weld2]];
    if (weld1 != 0 && weld2 != 0 && (weld1 == parent2 || weld2 == parent1))
        return false;
    return !is_partner(m->body_apart_start, m->body_apart, body1, body2);
}

bool tg_geoms_may_meet(const tg_model *m, int geom1, int geom2)
{
    return (tg_geoms_fit(m, geom1, geom2) && tg_bodies_may_collide(m, m->geom_body[geom1], m->geom_body[geom2])) ||
           is_partner(m->geom_paired_start, m->geom_paired, geom1, geom2);
}

static bool body_collides(const tg_model *m, int body)
{
    for (int g = m->body_geom[body]; g < m->body_geom[body] + m->body_ngeom[body]; g++)
        if ((m->geom_contype[g] | m->geom_conaffinity[g]) != 0)
            return true;
    return false;
}

void tg_chain_colliders(tg_model *m)
{
    int collider = m->nbody, mover = m->nbody;
    for (int body = m->nbody - 1; body >= 0; body--)
    {
        m->next_collider[body] = collider;
        m->next_mover[body] = mover;
        if (!body_collides(m, body))
            continue;
        collider = body;
        mover = m->body_weld[body] != 0 ? body : mover;
    }
}

typedef struct candidate_list
{
    tg_candidate *at;
    int capacity, count;
} candidate_list;

static void append(candidate_list *list, int geom1, int geom2, int pair)
{
    if (list->count < list->capacity)
        list->at[list->count] = (tg_candidate){geom1, geom2, pair};
    list->count++;
}

/* the geoms of two bodies; each geom of body1 has a lower number than each of body2 */
static void append_bodies(const tg_model *m, int body1, int body2, candidate_list *list)
{
    for (int g = m->body_geom[body1]; g < m->body_geom[body1] + m->body_ngeom[body1]; g++)
        for (int h = m->body_geom[body2]; h < m->body_geom[body2] + m->body_ngeom[body2]; h++)
            if (tg_geoms_fit(m, g, h) && !is_partner(m->geom_paired_start, m->geom_paired, g, h))
                append(list, g, h, -1);
}

int tg_list_candidates(const tg_model *m, tg_candidate *list, int capacity)
{
    candidate_list all = {list, capacity, 0};
    for (int i = 0; i < m->npair; i++)
    {
        bool swap = m->pair_geom1[i] > m->pair_geom2[i];
        append(&all, swap ? m->pair_geom2[i] : m->pair_geom1[i], swap ? m->pair_geom1[i] : m->pair_geom2[i], i);
    }
    for (int a = body_collides(m, 0) ? 0 : m->next_collider[0]; a < m->nbody; a = m->next_collider[a])
    {
        const int *next = m->body_weld[a] == 0 ? m->next_mover : m->next_collider;
        for (int b = next[a]; b < m->nbody; b = next[b])
            if (tg_bodies_may_collide(m, a, b))
                append_bodies(m, a, b, &all);
    }
    return all.count;
}
