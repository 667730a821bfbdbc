/* The structure of a model from the definitions of its builder. */
#include <string.h>

#include "base/status.h"
#include "model/bounds.h"
#include "model/build.h"
#include "model/coupling.h"
#include "model/params.h"
#include "model/topology.h"

static void fill_bodies(tg_build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->nbody; i++)
    {
        m->body_parent[i] =
            i > 0 ? tg_build_index(w, TG_BODY, TG_ITEM(w->b, BODY, body, tg_build_id(w, TG_BODY, i))->def.parent) : 0;
        m->body_tree[i] = w->order.tree[i];
    }
    for (int i = 0; i < m->njoint; i++)
    {
        const tg_joint_def *def = &TG_ITEM(w->b, JOINT, joint, tg_build_id(w, TG_JOINT, i))->def;
        m->joint_type[i] = (int)def->type;
        m->joint_body[i] = tg_build_index(w, TG_BODY, def->body);
        m->joint_limited[i] = def->limited;
        m->joint_force_limited[i] = def->force_limited;
    }
    for (int i = 0; i < m->nsite; i++)
        m->site_body[i] = tg_build_index(w, TG_BODY, TG_ITEM(w->b, SITE, site, tg_build_id(w, TG_SITE, i))->def.body);
}

static void fill_geoms(tg_build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->ngeom; i++)
    {
        const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, tg_build_id(w, TG_GEOM, i))->def;
        m->geom_type[i] = (int)def->type;
        m->geom_body[i] = tg_build_index(w, TG_BODY, def->body);
        m->geom_mesh[i] = def->type == TG_GEOM_MESH ? def->mesh : -1;
        m->geom_hfield[i] = def->type == TG_GEOM_HFIELD ? def->hfield : -1;
        m->geom_contype[i] = def->contype;
        m->geom_conaffinity[i] = def->conaffinity;
        m->geom_condim[i] = def->condim;
        m->geom_priority[i] = def->priority;
        m->geom_group[i] = def->group;
        m->geom_gap[i] = def->gap;
        memcpy(m->geom_rgba + 4 * i, def->rgba, sizeof def->rgba);
    }
    int geom = 0;
    for (int body = 0; body < m->nbody; body++)
    {
        m->body_geom[body] = geom;
        while (geom < m->ngeom && m->geom_body[geom] == body)
            geom++;
        m->body_ngeom[body] = geom - m->body_geom[body];
    }
}

static void fill_visuals(tg_build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->nvisual; i++)
    {
        const tg_visual_item *item = TG_LIST(w->b, VISUAL, tg_visual_item) + i;
        tg_visual_info *info = &m->visual[i];
        *info = (tg_visual_info){.name = m->text + item->name,
                                 .file = m->text + item->file,
                                 .type = item->def.type,
                                 .body = tg_build_index(w, TG_BODY, item->def.body)};
        memcpy(info->pos, item->def.pos, sizeof info->pos);
        memcpy(info->quat, item->def.quat, sizeof info->quat);
        memcpy(info->size, item->def.size, sizeof info->size);
        memcpy(info->rgba, item->def.rgba, sizeof info->rgba);
    }
}

static void fill_tendons(tg_build *w)
{
    tg_model *m = w->m;
    const tg_path *path = TG_LIST(w->b, PATH, tg_path);
    for (int i = 0; i < m->ntendon; i++)
    {
        const tg_tendon_item *item = TG_ITEM(w->b, TENDON, tendon, i);
        m->tendon_type[i] = (int)item->def.type;
        m->tendon_path[i] = item->start[0];
        m->tendon_npath[i] = item->def.npath;
        m->tendon_limited[i] = item->def.limited;
        m->tendon_law[i] = (int)item->def.law;
    }
    for (int i = 0; i < m->npath; i++)
    {
        m->path_type[i] = (int)path[i].type;
        if (path[i].type == TG_PATH_PULLEY)
            m->path_id[i] = -1;
        else
            m->path_id[i] = tg_build_index(w, path[i].type == TG_PATH_JOINT ? TG_JOINT : TG_SITE, path[i].id);
    }
}

static tg_element transmission_target(tg_transmission transmission)
{
    static const tg_element target[] = {TG_JOINT, TG_TENDON, TG_SITE};
    return target[transmission];
}

static void fill_actuators(tg_build *w)
{
    tg_model *m = w->m;
    int act = 0;
    for (int i = 0; i < m->nu; i++)
    {
        const tg_actuator_def *def = &TG_ITEM(w->b, ACTUATOR, actuator, i)->def;
        m->actuator_transmission[i] = (int)def->transmission;
        m->actuator_target[i] = tg_build_index(w, transmission_target(def->transmission), def->target);
        m->actuator_dynamics[i] = (int)def->dynamics;
        m->actuator_act[i] = def->dynamics != TG_DYNAMICS_NONE ? act++ : -1;
        m->actuator_act_early[i] = def->act_early;
        m->actuator_ctrl_limited[i] = def->ctrl_limited;
        m->actuator_force_limited[i] = def->force_limited;
        m->actuator_act_limited[i] = def->act_limited;
        m->actuator_drives[i] = (int)def->drives;
    }
}

static tg_element equality_object(tg_equality_type type)
{
    static const tg_element object[] = {TG_BODY, TG_BODY, TG_JOINT, TG_TENDON};
    return object[type];
}

static void fill_constraints(tg_build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->nequality; i++)
    {
        const tg_equality_def *def = &TG_ITEM(w->b, EQUALITY, equality, i)->def;
        m->equality_type[i] = (int)def->type;
        m->equality_obj1[i] = tg_build_index(w, equality_object(def->type), def->obj1);
        m->equality_obj2[i] = tg_build_index(w, equality_object(def->type), def->obj2);
        m->equality_active[i] = def->active;
    }
    for (int i = 0; i < m->npair; i++)
    {
        const tg_pair_def *def = &TG_ITEM(w->b, PAIR, pair, i)->def;
        m->pair_geom1[i] = tg_build_index(w, TG_GEOM, def->geom1);
        m->pair_geom2[i] = tg_build_index(w, TG_GEOM, def->geom2);
        m->pair_condim[i] = def->condim;
        m->pair_gap[i] = def->gap;
    }
    for (int i = 0; i < m->nexclude; i++)
    {
        const tg_exclude_def *def = &TG_ITEM(w->b, EXCLUDE, exclude, i)->def;
        bool geoms = def->geom1 >= 0;
        m->exclude_geom1[i] = geoms ? tg_build_index(w, TG_GEOM, def->geom1) : -1;
        m->exclude_geom2[i] = geoms ? tg_build_index(w, TG_GEOM, def->geom2) : -1;
        m->exclude_body1[i] = geoms ? m->geom_body[m->exclude_geom1[i]] : tg_build_index(w, TG_BODY, def->body1);
        m->exclude_body2[i] = geoms ? m->geom_body[m->exclude_geom2[i]] : tg_build_index(w, TG_BODY, def->body2);
    }
}

/* Pairs of bodies or geoms; those of which apart names geoms (is not negative) do not count where it is given. */
typedef struct pair_list
{
    int n;
    const int *first, *second, *apart;
} pair_list;

static bool counts(const pair_list *pairs, int k)
{
    return pairs->first[k] >= 0 && (pairs->apart == NULL || pairs->apart[k] < 0);
}

/* other[start[i] .. start[i + 1]) are the partners of i, 0 <= i < count, number[..] of which pair; that may be NULL.
 * Counted, then filled from the end of each part; start comes zeroed. */
static void fill_partners(const pair_list *pairs, int count, int *start, int *other, int *number)
{
    for (int k = 0; k < pairs->n; k++)
    {
        if (!counts(pairs, k))
            continue;
        start[pairs->first[k]]++;
        start[pairs->second[k]]++;
    }
    for (int i = 1; i <= count; i++)
        start[i] += start[i - 1];
    for (int k = 0; k < pairs->n; k++)
    {
        if (!counts(pairs, k))
            continue;
        int first = --start[pairs->first[k]], second = --start[pairs->second[k]];
        other[first] = pairs->second[k];
        other[second] = pairs->first[k];
        if (number != NULL)
            number[first] = number[second] = k;
    }
}

static void fill_filters(tg_model *m)
{
    const pair_list bodies = {m->nexclude, m->exclude_body1, m->exclude_body2, m->exclude_geom1};
    const pair_list geoms = {m->nexclude, m->exclude_geom1, m->exclude_geom2, NULL};
    const pair_list declared = {m->npair, m->pair_geom1, m->pair_geom2, NULL};
    fill_partners(&bodies, m->nbody, m->body_apart_start, m->body_apart, NULL);
    fill_partners(&geoms, m->ngeom, m->geom_apart_start, m->geom_apart, NULL);
    fill_partners(&declared, m->ngeom, m->geom_paired_start, m->geom_paired, m->geom_pair);
}

static void copy_if_any(void *out, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(out, from, bytes);
}

static void fill_assets(tg_build *w)
{
    tg_model *m = w->m;
    int face = 0;
    for (int i = 0; i < m->nmesh; i++)
    {
        const tg_mesh_item *item = TG_ITEM(w->b, MESH, mesh, i);
        bool own = w->hull[i] == NULL;
        m->mesh_vertex[i] = item->start[0] / 3;
        m->mesh_nvertex[i] = item->def.nvertex;
        m->mesh_face[i] = face;
        m->mesh_nface[i] = own ? item->def.nface : w->nhull[i];
        copy_if_any(m->face + 3 * (size_t)face, own ? TG_LIST(w->b, FACE, int) + item->start[1] : w->hull[i],
                    3 * (size_t)m->mesh_nface[i] * sizeof *m->face);
        face += m->mesh_nface[i];
    }
    for (int i = 0; i < m->nhfield; i++)
    {
        const tg_hfield_item *item = TG_ITEM(w->b, HFIELD, hfield, i);
        m->hfield_nrow[i] = item->def.nrow;
        m->hfield_ncol[i] = item->def.ncol;
        m->hfield_elevation[i] = item->start[0];
    }
    copy_if_any(m->vertex, w->b->list[TG_LIST_VERTEX].data, 3 * (size_t)m->nvertex * sizeof *m->vertex);
    copy_if_any(m->elevation, w->b->list[TG_LIST_ELEVATION].data, (size_t)m->nelevation * sizeof *m->elevation);
    for (int i = 0; i < m->nmesh; i++)
        tg_mesh_box(m, i, m->mesh_box + 8 * i);
}

/* A plane is infinite and cannot move. */
static tg_status check_planes(const tg_build *w)
{
    const tg_model *m = w->m;
    for (int i = 0; i < m->ngeom; i++)
    {
        int id = tg_build_id(w, TG_GEOM, i);
        if (m->geom_type[i] == TG_GEOM_PLANE && m->body_tree[m->geom_body[i]] >= 0)
            return tg_fail(&w->b->error, TG_ERR_MODEL, "geom '%.100s' (#%d): body = %d: a plane on a body that moves",
                           tg_builder_name_of(w->b, TG_GEOM, id), id, TG_ITEM(w->b, GEOM, geom, id)->def.body);
    }
    return TG_OK;
}

tg_status tg_build_structure(tg_build *w)
{
    fill_bodies(w);
    fill_geoms(w);
    fill_visuals(w);
    fill_tendons(w);
    fill_actuators(w);
    fill_constraints(w);
    fill_filters(w->m);
    fill_assets(w);
    tg_topology_fill(w->m);
    tg_coupling_fill(w->m);
    tg_params_slices(w->m);
    return check_planes(w);
}
