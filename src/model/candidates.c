#include "model/candidates.h"

static bool excluded(const tg_model *m, int body1, int body2)
{
    for (int i = 0; i < m->nexclude; i++)
        if (m->exclude_geom1[i] < 0 && ((m->exclude_body1[i] == body1 && m->exclude_body2[i] == body2) ||
                                        (m->exclude_body1[i] == body2 && m->exclude_body2[i] == body1)))
            return true;
    return false;
}

bool tg_geoms_fit(const tg_model *m, int geom1, int geom2)
{
    if ((m->geom_contype[geom1] & m->geom_conaffinity[geom2]) == 0 &&
        (m->geom_contype[geom2] & m->geom_conaffinity[geom1]) == 0)
        return false;
    for (int i = m->apart_start[geom1]; i < m->apart_start[geom1 + 1]; i++)
        if (m->apart[i] == geom2)
            return false;
    return true;
}

bool tg_bodies_may_collide(const tg_model *m, int body1, int body2)
{
    int weld1 = m->body_weld[body1], weld2 = m->body_weld[body2];
    if (weld1 == weld2)
        return false;
    int parent1 = m->body_weld[m->body_parent[weld1]], parent2 = m->body_weld[m->body_parent[weld2]];
    if (weld1 != 0 && weld2 != 0 && (weld1 == parent2 || weld2 == parent1))
        return false;
    return !excluded(m, body1, body2);
}

static int declared_pair(const tg_model *m, int geom1, int geom2)
{
    for (int i = 0; i < m->npair; i++)
        if ((m->pair_geom1[i] == geom1 && m->pair_geom2[i] == geom2) ||
            (m->pair_geom1[i] == geom2 && m->pair_geom2[i] == geom1))
            return i;
    return -1;
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
            if (tg_geoms_fit(m, g, h) && declared_pair(m, g, h) < 0)
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
    for (int a = 0; a < m->nbody; a++)
        for (int b = a + 1; m->body_ngeom[a] > 0 && b < m->nbody; b++)
            if (m->body_ngeom[b] > 0 && tg_bodies_may_collide(m, a, b))
                append_bodies(m, a, b, &all);
    return all.count;
}
