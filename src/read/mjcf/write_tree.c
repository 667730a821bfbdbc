/* Assets, and bodies with what hangs on them. */
#include <math.h>
#include <string.h>

#include "model/inertia.h"
#include "read/mjcf/mjcf.h"
#include "read/mjcf/write.h"

/* ---- meshes ---- */

/* MJCF keeps vertices in single precision, times a scale. A scale (a power of ten: files in millimetres) for which that
 * is exact; 1, with rounding, when there is none. */
static double mesh_scale(const double *vertex, int count)
{
    static const double scales[] = {1, 0.001, 0.01, 0.1};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
    {
        int i = 0;
        while (i < count && (double)(float)(vertex[i] / scales[k]) * scales[k] == vertex[i])
            i++;
        if (i == count)
            return scales[k];
    }
    return 1;
}

static void put_vertices(tg_mjcf_writer *w, const double *vertex, int count)
{
    double scale = mesh_scale(vertex, count);
    const double scale3[3] = {scale, scale, scale}, one[3] = {1, 1, 1};
    tg_mjcf_put_reals_unless(w, "scale", scale3, one, 3);
    tg_text_string(&w->text, " vertex=\"");
    for (int i = 0; i < count; i++)
    {
        if (i > 0)
            tg_text_string(&w->text, " ");
        tg_text_single(&w->text, (float)(vertex[i] / scale));
    }
    tg_text_string(&w->text, "\"");
}

/* Six times the volume of the pyramids between the triangles and a point, each taken as positive. */
static double pyramids(const double *vertex, const int *face, int nface, const double apex[3])
{
    double sum = 0;
    for (int f = 0; f < nface; f++)
    {
        double t[3][3];
        for (int i = 0; i < 9; i++)
            t[i / 3][i % 3] = vertex[3 * (size_t)face[3 * (size_t)f + (size_t)i / 3] + (size_t)i % 3] - apex[i % 3];
        sum +=
            fabs(t[0][0] * (t[1][1] * t[2][2] - t[1][2] * t[2][1]) + t[0][1] * (t[1][2] * t[2][0] - t[1][0] * t[2][2]) +
                 t[0][2] * (t[1][0] * t[2][1] - t[1][1] * t[2][0]));
    }
    return sum;
}

/* A mesh that encloses nothing has the inertia of a shell only. Masses are the bodies', so it is never used, but MJCF
 * asks for one. */
static bool is_flat(const double *vertex, const int *face, int nface)
{
    return pyramids(vertex, face, nface, vertex) < 1e-12;
}

static void write_mesh(tg_mjcf_writer *w, int mesh)
{
    const tg_model *m = w->m;
    const double *vertex = m->vertex + 3 * (size_t)m->mesh_vertex[mesh];
    const int *face = m->face + 3 * (size_t)m->mesh_face[mesh];
    tg_mjcf_begin(w, "mesh");
    tg_mjcf_put_name(w, TG_MESH, mesh);
    if (is_flat(vertex, face, m->mesh_nface[mesh]))
        tg_mjcf_put_text(w, "inertia", "shell");
    put_vertices(w, vertex, 3 * m->mesh_nvertex[mesh]);
    tg_text_string(&w->text, " face=\"");
    for (int i = 0; i < 3 * m->mesh_nface[mesh]; i++)
    {
        if (i > 0)
            tg_text_string(&w->text, " ");
        tg_text_integer(&w->text, face[i]);
    }
    tg_text_string(&w->text, "\"");
    tg_mjcf_end(w);
}

/* ---- height fields ---- */

/* Row 0 of MJCF's text is at +y, that of the model at -y. Single precision, as a reader takes it. */
static void write_hfield(tg_mjcf_writer *w, int hfield)
{
    const tg_model *m = w->m;
    int nrow = m->hfield_nrow[hfield], ncol = m->hfield_ncol[hfield];
    const double *elevation = m->elevation + m->hfield_elevation[hfield];
    const double *size = TG_PARAM(w->p, hfield_size) + 4 * hfield;
    double written[4];
    memcpy(written, size, sizeof written);
    written[3] = size[3] > 0 ? size[3] : 1e-6; /* must be positive */
    tg_mjcf_begin(w, "hfield");
    tg_mjcf_put_name(w, TG_HFIELD, hfield);
    tg_mjcf_put_reals(w, "size", written, 4);
    tg_mjcf_put_integer(w, "nrow", nrow);
    tg_mjcf_put_integer(w, "ncol", ncol);
    tg_text_string(&w->text, " elevation=\"");
    for (int i = 0; i < nrow * ncol; i++)
    {
        if (i > 0)
            tg_text_string(&w->text, " ");
        tg_text_single(&w->text, (float)elevation[(nrow - 1 - i / ncol) * ncol + i % ncol]);
    }
    tg_text_string(&w->text, "\"");
    tg_mjcf_end(w);
}

void tg_mjcf_write_assets(tg_mjcf_writer *w)
{
    if (w->m->nmesh == 0 && w->m->nhfield == 0)
        return;
    tg_mjcf_begin(w, "asset");
    tg_mjcf_open(w);
    for (int i = 0; i < w->m->nmesh; i++)
        write_mesh(w, i);
    for (int i = 0; i < w->m->nhfield; i++)
        write_hfield(w, i);
    tg_mjcf_close(w, "asset");
}

/* ---- what hangs on a body ---- */

static const double zero[6] = {0};

/* What a reader refuses (a body with a joint that has no mass of its own; a full inertia that is flat) is written with
 * a small mass, and custom numbers say what it is. */
static void write_inertial(tg_mjcf_writer *w, int body)
{
    double mass[1] = {TG_PARAM(w->p, body_mass)[body]}, inertia[6], moment[3];
    const double *com = TG_PARAM(w->p, body_com) + 3 * body;
    memcpy(inertia, TG_PARAM(w->p, body_inertia) + 6 * body, sizeof inertia);
    tg_principal_moments(inertia, moment);
    bool diagonal = inertia[3] == 0 && inertia[4] == 0 && inertia[5] == 0;
    bool ghost = w->m->body_njoint[body] > 0 && !tg_mjcf_has_mass(w->p, body);
    if (!ghost && *mass == 0 && moment[2] == 0)
        return;
    if (ghost || (!diagonal && moment[0] < 2 * TG_MJCF_FULL_INERTIA))
    {
        mass[0] = fmax(*mass, TG_MJCF_FULL_INERTIA);
        inertia[0] = inertia[1] = inertia[2] = fmax(moment[2], TG_MJCF_FULL_INERTIA);
        diagonal = true;
    }
    tg_mjcf_begin(w, "inertial");
    tg_mjcf_put_reals(w, "pos", com, 3);
    tg_mjcf_put_reals(w, "mass", mass, 1);
    if (diagonal)
        tg_mjcf_put_reals(w, "diaginertia", inertia, 3);
    else
        tg_mjcf_put_reals(w, "fullinertia", inertia, 6);
    tg_mjcf_end(w);
}

static void write_joint(tg_mjcf_writer *w, int joint)
{
    static const char *const types[] = {"free", "ball", "slide", "hinge"};
    static const double z[3] = {0, 0, 1};
    const tg_model *m = w->m;
    const tg_params *p = w->p;
    int type = m->joint_type[joint];
    tg_mjcf_begin(w, "joint");
    tg_mjcf_put_name(w, TG_JOINT, joint);
    if (type != TG_JOINT_HINGE)
        tg_mjcf_put_text(w, "type", types[type]);
    if (type != TG_JOINT_FREE)
        tg_mjcf_put_reals_unless(w, "pos", TG_PARAM(p, joint_pos) + 3 * joint, zero, 3);
    if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE)
    {
        tg_mjcf_put_reals_unless(w, "axis", TG_PARAM(p, joint_axis) + 3 * joint, z, 3);
        tg_mjcf_put_limits(w, "actuatorfrc", m->joint_force_limited[joint] != 0,
                           TG_PARAM(p, joint_force_range) + 2 * joint);
    }
    if (type != TG_JOINT_FREE)
        tg_mjcf_put_limits(w, "", m->joint_limited[joint] != 0, TG_PARAM(p, joint_range) + 2 * joint);
    tg_mjcf_put_real_unless(w, "ref", TG_PARAM(p, joint_ref)[joint], 0);
    tg_mjcf_put_real_unless(w, "springref", TG_PARAM(p, joint_springref)[joint], 0);
    tg_mjcf_put_real_unless(w, "stiffness", TG_PARAM(p, joint_stiffness)[joint], 0);
    tg_mjcf_put_real_unless(w, "damping", TG_PARAM(p, joint_damping)[joint], 0);
    tg_mjcf_put_real_unless(w, "armature", TG_PARAM(p, joint_armature)[joint], 0);
    tg_mjcf_put_real_unless(w, "frictionloss", TG_PARAM(p, joint_frictionloss)[joint], 0);
    tg_mjcf_put_real_unless(w, "margin", TG_PARAM(p, joint_margin)[joint], 0);
    tg_mjcf_end(w);
}

/* As many numbers as the type needs, or as are not zero. A plane's spacing and a sphere's radius must be positive. */
static void put_size(tg_mjcf_writer *w, int geom)
{
    static const int needed[TG_GEOM_TYPE_COUNT] = {
        [TG_GEOM_PLANE] = 3,     [TG_GEOM_SPHERE] = 1,   [TG_GEOM_CAPSULE] = 2,
        [TG_GEOM_ELLIPSOID] = 3, [TG_GEOM_CYLINDER] = 2, [TG_GEOM_BOX] = 3,
    };
    int type = w->m->geom_type[geom], count = 3;
    double size[3];
    memcpy(size, TG_PARAM(w->p, geom_size) + 3 * geom, sizeof size);
    while (count > needed[type] && size[count - 1] == 0)
        count--;
    if (type == TG_GEOM_PLANE && size[2] == 0)
        size[2] = 1;
    if (type == TG_GEOM_SPHERE && size[0] == 0)
        size[0] = 1e-9;
    if (needed[type] > 0)
        tg_mjcf_put_reals(w, "size", size, count);
}

static void write_geom(tg_mjcf_writer *w, int geom)
{
    static const char *const types[] = {"plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
    static const double friction[3] = {1, 0.005, 0.0001}, grey[4] = {0.5, 0.5, 0.5, 1};
    const tg_model *m = w->m;
    const tg_params *p = w->p;
    tg_mjcf_begin(w, "geom");
    tg_mjcf_put_name(w, TG_GEOM, geom);
    tg_mjcf_put_text(w, "type", types[m->geom_type[geom]]);
    if (m->geom_type[geom] == TG_GEOM_MESH)
        tg_mjcf_put_reference(w, "mesh", TG_MESH, m->geom_mesh[geom]);
    if (m->geom_type[geom] == TG_GEOM_HFIELD)
        tg_mjcf_put_reference(w, "hfield", TG_HFIELD, m->geom_hfield[geom]);
    put_size(w, geom);
    tg_mjcf_put_pose(w, TG_PARAM(p, geom_pos) + 3 * geom, TG_PARAM(p, geom_quat) + 4 * geom);
    tg_mjcf_put_integer_unless(w, "contype", m->geom_contype[geom], 1);
    tg_mjcf_put_integer_unless(w, "conaffinity", m->geom_conaffinity[geom], 1);
    tg_mjcf_put_integer_unless(w, "condim", m->geom_condim[geom], 3);
    tg_mjcf_put_integer_unless(w, "priority", m->geom_priority[geom], 0);
    tg_mjcf_put_integer_unless(w, "group", m->geom_group[geom], 0);
    tg_mjcf_put_reals_unless(w, "friction", TG_PARAM(p, geom_friction) + 3 * geom, friction, 3);
    tg_mjcf_put_real_unless(w, "margin", TG_PARAM(p, geom_margin)[geom], 0);
    tg_mjcf_put_real_unless(w, "gap", m->geom_gap[geom], 0);
    tg_mjcf_put_reals_unless(w, "rgba", m->geom_rgba + 4 * geom, grey, 4);
    tg_mjcf_end(w);
}

static void write_site(tg_mjcf_writer *w, int site)
{
    tg_mjcf_begin(w, "site");
    tg_mjcf_put_name(w, TG_SITE, site);
    tg_mjcf_put_pose(w, TG_PARAM(w->p, site_pos) + 3 * site, TG_PARAM(w->p, site_quat) + 4 * site);
    tg_mjcf_end(w);
}

/* ---- bodies ---- */

/* What is on the body itself; sites follow in their order, *site is the next. */
static void write_parts(tg_mjcf_writer *w, int body, int *site)
{
    const tg_model *m = w->m;
    for (int i = 0; i < m->body_njoint[body]; i++)
        write_joint(w, m->body_joint[body] + i);
    for (int i = 0; i < m->body_ngeom[body]; i++)
        write_geom(w, m->body_geom[body] + i);
    for (; *site < m->nsite && m->site_body[*site] == body; (*site)++)
        write_site(w, *site);
}

/* Bodies are depth first: a body opens, and stays open until one comes that is not inside it. */
void tg_mjcf_write_world(tg_mjcf_writer *w)
{
    const tg_model *m = w->m;
    int site = 0, open = 0;
    tg_mjcf_begin(w, "worldbody");
    tg_mjcf_open(w);
    write_parts(w, 0, &site);
    for (int body = 1; body < m->nbody; body++)
    {
        for (; open != m->body_parent[body]; open = m->body_parent[open])
            tg_mjcf_close(w, "body");
        tg_mjcf_begin(w, "body");
        tg_mjcf_put_name(w, TG_BODY, body);
        tg_mjcf_put_pose(w, TG_PARAM(w->p, body_pos) + 3 * body, TG_PARAM(w->p, body_quat) + 4 * body);
        tg_mjcf_open(w);
        write_inertial(w, body);
        write_parts(w, body, &site);
        open = body;
    }
    for (; open != 0; open = m->body_parent[open])
        tg_mjcf_close(w, "body");
    tg_mjcf_close(w, "worldbody");
}
