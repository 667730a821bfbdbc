/* What refers to the elements of the tree: contact, tendons, equalities, actuators, keyframes. */
#include "read/mjcf/mjcf.h"
#include "read/mjcf/write.h"
#include "tangere/algebra.h"

static void open_section(tg_mjcf_writer *w, const char *name)
{
    tg_mjcf_begin(w, name);
    tg_mjcf_open(w);
}

/* ---- contact ---- */

static void write_pair(tg_mjcf_writer *w, int pair)
{
    const tg_model *m = w->m;
    const tg_params *p = w->p;
    int geom1 = m->pair_geom1[pair], geom2 = m->pair_geom2[pair];
    bool swap = m->geom_body[geom1] > m->geom_body[geom2]; /* the lower body first, as a reader has them */
    const double *f = TG_PARAM(p, pair_friction) + 3 * pair;
    const double friction[5] = {f[0], f[0], f[1], f[2], f[2]};
    tg_mjcf_begin(w, "pair");
    tg_mjcf_put_name(w, TG_PAIR, pair);
    tg_mjcf_put_reference(w, "geom1", TG_GEOM, swap ? geom2 : geom1);
    tg_mjcf_put_reference(w, "geom2", TG_GEOM, swap ? geom1 : geom2);
    tg_mjcf_put_integer(w, "condim", m->pair_condim[pair]);
    tg_mjcf_put_reals(w, "friction", friction, 5);
    tg_mjcf_put_reals(w, "margin", TG_PARAM(p, pair_margin) + pair, 1);
    tg_mjcf_put_reals(w, "gap", m->pair_gap + pair, 1);
    tg_mjcf_end(w);
}

static void write_exclude(tg_mjcf_writer *w, int exclude)
{
    tg_mjcf_begin(w, "exclude");
    tg_mjcf_put_name(w, TG_EXCLUDE, exclude);
    tg_mjcf_put_reference(w, "body1", TG_BODY, w->m->exclude_body1[exclude]);
    tg_mjcf_put_reference(w, "body2", TG_BODY, w->m->exclude_body2[exclude]);
    tg_mjcf_end(w);
}

/* MJCF has no exclude of two geoms: a tuple of them, in the custom section. */
static void write_geom_exclude(tg_mjcf_writer *w, int exclude, int number)
{
    const int geom[2] = {w->m->exclude_geom1[exclude], w->m->exclude_geom2[exclude]};
    const char *name = tg_name(w->m, TG_EXCLUDE, exclude);
    tg_mjcf_begin(w, "tuple");
    tg_text_string(&w->text, " name=\"" TG_MJCF_EXCLUDE);
    tg_text_string(&w->text, name[0] != '\0' ? "." : "#");
    if (name[0] != '\0')
        tg_text_escaped(&w->text, name);
    else
        tg_text_integer(&w->text, number);
    tg_text_string(&w->text, "\"");
    tg_mjcf_open(w);
    for (int i = 0; i < 2; i++)
    {
        tg_mjcf_begin(w, "element");
        tg_mjcf_put_text(w, "objtype", "geom");
        tg_mjcf_put_reference(w, "objname", TG_GEOM, geom[i]);
        tg_mjcf_end(w);
    }
    tg_mjcf_close(w, "tuple");
}

void tg_mjcf_write_contact(tg_mjcf_writer *w)
{
    const tg_model *m = w->m;
    int nbody = 0; /* excludes of bodies, which come first */
    while (nbody < m->nexclude && m->exclude_geom1[w->exclude[nbody]] < 0)
        nbody++;
    if (m->npair > 0 || nbody > 0)
    {
        open_section(w, "contact");
        for (int i = 0; i < m->npair; i++)
            write_pair(w, w->pair[i]);
        for (int i = 0; i < nbody; i++)
            write_exclude(w, w->exclude[i]);
        tg_mjcf_close(w, "contact");
    }
    if (nbody == m->nexclude)
        return;
    open_section(w, "custom");
    for (int i = nbody; i < m->nexclude; i++)
        write_geom_exclude(w, w->exclude[i], i);
    tg_mjcf_close(w, "custom");
}

/* ---- tendons ---- */

static void write_word(tg_mjcf_writer *w, tg_element element, int index, const char *field, const char *data)
{
    const char *name = tg_name(w->m, element, index);
    tg_mjcf_begin(w, "text");
    tg_text_string(&w->text, " name=\"tangere:");
    tg_text_string(&w->text, tg_element_string(element));
    tg_text_string(&w->text, name[0] == '\0' ? ".#" : ".");
    if (name[0] == '\0')
        tg_text_integer(&w->text, index);
    else
        tg_text_escaped(&w->text, name);
    tg_text_string(&w->text, ".");
    tg_text_string(&w->text, field);
    tg_text_string(&w->text, "\"");
    tg_mjcf_put_text(w, "data", data);
    tg_mjcf_end(w);
}

/* MJCF has no slack laws, and no actuators on rest lengths: words in the custom section. */
static void write_words(tg_mjcf_writer *w)
{
    const tg_model *m = w->m;
    bool any = false;
    for (int t = 0; t < m->ntendon; t++)
        any = any || m->tendon_law[t] != TG_TENDON_LAW_TWO_SIDED;
    for (int i = 0; i < m->nu; i++)
        any = any || m->actuator_drives[i] != TG_DRIVES_FORCE;
    if (!any)
        return;
    open_section(w, "custom");
    for (int t = 0; t < m->ntendon; t++)
        if (m->tendon_law[t] != TG_TENDON_LAW_TWO_SIDED)
            write_word(w, TG_TENDON, t, "law", tg_tendon_law_string((tg_tendon_law)m->tendon_law[t]));
    for (int i = 0; i < m->nu; i++)
        if (m->actuator_drives[i] != TG_DRIVES_FORCE)
            write_word(w, TG_ACTUATOR, i, "drives", tg_drives_string((tg_drives)m->actuator_drives[i]));
    tg_mjcf_close(w, "custom");
}

static void write_path(tg_mjcf_writer *w, int item)
{
    static const char *const names[] = {"joint", "site", "pulley"};
    int type = w->m->path_type[item];
    tg_mjcf_begin(w, names[type]);
    if (type != TG_PATH_PULLEY)
        tg_mjcf_put_reference(w, names[type], type == TG_PATH_JOINT ? TG_JOINT : TG_SITE, w->m->path_id[item]);
    if (type != TG_PATH_SITE)
        tg_mjcf_put_reals(w, type == TG_PATH_JOINT ? "coef" : "divisor", TG_PARAM(w->p, tendon_coef) + item, 1);
    tg_mjcf_end(w);
}

static void write_tendon(tg_mjcf_writer *w, int tendon)
{
    const tg_model *m = w->m;
    const tg_params *p = w->p;
    const char *type = m->tendon_type[tendon] == TG_TENDON_FIXED ? "fixed" : "spatial";
    tg_mjcf_begin(w, type);
    tg_mjcf_put_name(w, TG_TENDON, tendon);
    tg_mjcf_put_limits(w, "", m->tendon_limited[tendon] != 0, TG_PARAM(p, tendon_range) + 2 * tendon);
    tg_mjcf_put_real_unless(w, "margin", TG_PARAM(p, tendon_margin)[tendon], 0);
    tg_mjcf_put_real_unless(w, "stiffness", TG_PARAM(p, tendon_stiffness)[tendon], 0);
    tg_mjcf_put_real_unless(w, "damping", TG_PARAM(p, tendon_damping)[tendon], 0);
    tg_mjcf_put_real_unless(w, "frictionloss", TG_PARAM(p, tendon_frictionloss)[tendon], 0);
    tg_mjcf_put_reals(w, "springlength", TG_PARAM(p, tendon_rest) + 2 * tendon, 2);
    tg_mjcf_open(w);
    for (int i = 0; i < m->tendon_npath[tendon]; i++)
        write_path(w, m->tendon_path[tendon] + i);
    tg_mjcf_close(w, type);
}

void tg_mjcf_write_tendons(tg_mjcf_writer *w)
{
    if (w->m->ntendon == 0)
        return;
    open_section(w, "tendon");
    for (int i = 0; i < w->m->ntendon; i++)
        write_tendon(w, i);
    tg_mjcf_close(w, "tendon");
    write_words(w);
}

/* ---- equalities ---- */

/* A named site on a body, exactly there; -1 if there is none. */
static int site_at(const tg_mjcf_writer *w, int body, const double pos[3])
{
    const tg_model *m = w->m;
    for (int site = 0; site < m->nsite; site++)
    {
        const double *at = TG_PARAM(w->p, site_pos) + 3 * site;
        if (m->site_body[site] == body && at[0] == pos[0] && at[1] == pos[1] && at[2] == pos[2] &&
            tg_name(m, TG_SITE, site)[0] != '\0')
            return site;
    }
    return -1;
}

bool tg_mjcf_anchor_sites(const tg_mjcf_writer *w, int equality, int site[2])
{
    const tg_model *m = w->m;
    const double *data = TG_PARAM(w->p, equality_data) + 11 * equality;
    if (m->equality_type[equality] != TG_EQUALITY_CONNECT)
        return false;
    site[0] = site_at(w, m->equality_obj1[equality], data);
    site[1] = site[0] >= 0 ? site_at(w, m->equality_obj2[equality], data + 3) : -1;
    return site[1] >= 0;
}

/* The anchor in the second body is where the reference configuration has it, unless both anchors are sites. */
static void put_connect(tg_mjcf_writer *w, int equality)
{
    int site[2];
    if (tg_mjcf_anchor_sites(w, equality, site))
    {
        tg_mjcf_put_reference(w, "site1", TG_SITE, site[0]);
        tg_mjcf_put_reference(w, "site2", TG_SITE, site[1]);
        return;
    }
    tg_mjcf_put_reference(w, "body1", TG_BODY, w->m->equality_obj1[equality]);
    tg_mjcf_put_reference(w, "body2", TG_BODY, w->m->equality_obj2[equality]);
    tg_mjcf_put_reals(w, "anchor", TG_PARAM(w->p, equality_data) + 11 * equality, 3);
}

/* The position in a relative pose of MJCF is that of the anchor in the frame of body 1: p = x + R anchor. */
static void put_weld(tg_mjcf_writer *w, int equality)
{
    const double *data = TG_PARAM(w->p, equality_data) + 11 * equality;
    double relpose[7], unit[4], turned[3];
    tg_quat_normalise(data + 6, unit);
    tg_quat_rotate(unit, data, turned);
    for (int i = 0; i < 7; i++)
        relpose[i] = data[3 + i] + (i < 3 ? turned[i] : 0);
    tg_mjcf_put_reference(w, "body1", TG_BODY, w->m->equality_obj1[equality]);
    tg_mjcf_put_reference(w, "body2", TG_BODY, w->m->equality_obj2[equality]);
    tg_mjcf_put_reals(w, "anchor", data, 3);
    tg_mjcf_put_reals(w, "relpose", relpose, 7);
    tg_mjcf_put_real_unless(w, "torquescale", data[10], 1);
}

static void put_polynomial(tg_mjcf_writer *w, int equality, tg_element element, const char *first, const char *second)
{
    tg_mjcf_put_reference(w, first, element, w->m->equality_obj1[equality]);
    if (w->m->equality_obj2[equality] >= 0)
        tg_mjcf_put_reference(w, second, element, w->m->equality_obj2[equality]);
    tg_mjcf_put_reals(w, "polycoef", TG_PARAM(w->p, equality_data) + 11 * equality, 5);
}

static void write_equality(tg_mjcf_writer *w, int equality)
{
    static const char *const types[] = {"connect", "weld", "joint", "tendon"};
    int type = w->m->equality_type[equality];
    tg_mjcf_begin(w, types[type]);
    tg_mjcf_put_name(w, TG_EQUALITY, equality);
    if (!w->m->equality_active[equality])
        tg_mjcf_put_bool(w, "active", false);
    if (type == TG_EQUALITY_CONNECT)
        put_connect(w, equality);
    else if (type == TG_EQUALITY_WELD)
        put_weld(w, equality);
    else if (type == TG_EQUALITY_JOINT)
        put_polynomial(w, equality, TG_JOINT, "joint1", "joint2");
    else
        put_polynomial(w, equality, TG_TENDON, "tendon1", "tendon2");
    tg_mjcf_end(w);
}

void tg_mjcf_write_equalities(tg_mjcf_writer *w)
{
    if (w->m->nequality == 0)
        return;
    open_section(w, "equality");
    for (int i = 0; i < w->m->nequality; i++)
        write_equality(w, i);
    tg_mjcf_close(w, "equality");
}

/* ---- actuators ---- */

static const tg_element transmission_target[] = {TG_JOINT, TG_TENDON, TG_SITE};

static void put_force(tg_mjcf_writer *w, int actuator)
{
    static const double none[3] = {0}, one[3] = {1};
    const double *gain = TG_PARAM(w->p, actuator_gain) + 3 * actuator;
    const double *bias = TG_PARAM(w->p, actuator_bias) + 3 * actuator;
    if (gain[1] != 0 || gain[2] != 0)
        tg_mjcf_put_text(w, "gaintype", "affine");
    tg_mjcf_put_reals_unless(w, "gainprm", gain, one, 3);
    if (bias[0] != 0 || bias[1] != 0 || bias[2] != 0)
        tg_mjcf_put_text(w, "biastype", "affine");
    tg_mjcf_put_reals_unless(w, "biasprm", bias, none, 3);
}

static void write_actuator(tg_mjcf_writer *w, int actuator)
{
    static const char *const dynamics[] = {"none", "integrator", "filter", "filterexact"};
    static const double gear[6] = {1};
    const tg_model *m = w->m;
    const tg_params *p = w->p;
    tg_element target = transmission_target[m->actuator_transmission[actuator]];
    int type = m->actuator_dynamics[actuator];
    tg_mjcf_begin(w, "general");
    tg_mjcf_put_name(w, TG_ACTUATOR, actuator);
    tg_mjcf_put_reference(w, tg_element_string(target), target, m->actuator_target[actuator]);
    tg_mjcf_put_reals_unless(w, "gear", TG_PARAM(p, actuator_gear) + 6 * actuator, gear, 6);
    if (type != TG_DYNAMICS_NONE)
        tg_mjcf_put_text(w, "dyntype", dynamics[type]);
    if (type == TG_DYNAMICS_FILTER || type == TG_DYNAMICS_FILTEREXACT)
        tg_mjcf_put_reals(w, "dynprm", TG_PARAM(p, actuator_tau) + actuator, 1);
    if (m->actuator_act_early[actuator])
        tg_mjcf_put_bool(w, "actearly", true);
    put_force(w, actuator);
    tg_mjcf_put_limits(w, "ctrl", m->actuator_ctrl_limited[actuator] != 0,
                       TG_PARAM(p, actuator_ctrl_range) + 2 * actuator);
    tg_mjcf_put_limits(w, "force", m->actuator_force_limited[actuator] != 0,
                       TG_PARAM(p, actuator_force_range) + 2 * actuator);
    tg_mjcf_put_limits(w, "act", m->actuator_act_limited[actuator] != 0,
                       TG_PARAM(p, actuator_act_range) + 2 * actuator);
    tg_mjcf_end(w);
}

void tg_mjcf_write_actuators(tg_mjcf_writer *w)
{
    if (w->m->nu == 0)
        return;
    open_section(w, "actuator");
    for (int i = 0; i < w->m->nu; i++)
        write_actuator(w, i);
    tg_mjcf_close(w, "actuator");
}

/* ---- keyframes ---- */

/* Numbers that are not all zero, which a reader assumes. */
static void put_state(tg_mjcf_writer *w, const char *attribute, const double *x, int count)
{
    int i = 0;
    while (i < count && x[i] == 0)
        i++;
    if (i < count)
        tg_mjcf_put_reals(w, attribute, x, count);
}

/* q with unit quaternions, as a reader makes them. */
static void put_configuration(tg_mjcf_writer *w, const double *q)
{
    const tg_model *m = w->m;
    tg_text_string(&w->text, " qpos=\"");
    for (int i = 0, k = 0; i < m->nq; i++)
    {
        double unit[4];
        if (k < m->nquat && i == m->quat_q[k] + 4)
            k++;
        bool inside = k < m->nquat && i >= m->quat_q[k];
        if (inside)
            tg_quat_normalise(q + m->quat_q[k], unit);
        if (i > 0)
            tg_text_string(&w->text, " ");
        tg_text_real(&w->text, inside ? unit[i - m->quat_q[k]] : q[i]);
    }
    tg_text_string(&w->text, "\"");
}

static void write_key(tg_mjcf_writer *w, int key)
{
    const tg_model *m = w->m;
    tg_mjcf_begin(w, "key");
    tg_mjcf_put_name(w, TG_KEY, key);
    tg_mjcf_put_real_unless(w, "time", m->key_time[key], 0);
    if (m->nq > 0)
        put_configuration(w, m->key_q + (size_t)key * (size_t)m->nq);
    put_state(w, "qvel", m->key_v + (size_t)key * (size_t)m->nv, m->nv);
    put_state(w, "act", m->key_act + (size_t)key * (size_t)m->na, m->na);
    put_state(w, "ctrl", m->key_ctrl + (size_t)key * (size_t)m->nu, m->nu);
    tg_mjcf_end(w);
}

void tg_mjcf_write_keys(tg_mjcf_writer *w)
{
    if (w->m->nkey == 0)
        return;
    open_section(w, "keyframe");
    for (int i = 0; i < w->m->nkey; i++)
        write_key(w, i);
    tg_mjcf_close(w, "keyframe");
}

/* ---- references ---- */

static void mark(tg_mjcf_writer *w, tg_element element, int index)
{
    if (index >= 0)
        w->referenced[w->m->name_base[element] + index] = true;
}

static void mark_equality(tg_mjcf_writer *w, int equality)
{
    static const tg_element object[] = {TG_BODY, TG_BODY, TG_JOINT, TG_TENDON};
    int site[2];
    if (tg_mjcf_anchor_sites(w, equality, site))
        return; /* these are named */
    tg_element element = object[w->m->equality_type[equality]];
    mark(w, element, w->m->equality_obj1[equality]);
    mark(w, element, w->m->equality_obj2[equality]);
}

void tg_mjcf_mark_references(tg_mjcf_writer *w)
{
    const tg_model *m = w->m;
    for (int i = 0; i < m->nmesh; i++)
        mark(w, TG_MESH, i); /* an asset needs a name, whether it is used or not */
    for (int i = 0; i < m->nhfield; i++)
        mark(w, TG_HFIELD, i);
    for (int i = 0; i < m->npair; i++)
    {
        mark(w, TG_GEOM, m->pair_geom1[i]);
        mark(w, TG_GEOM, m->pair_geom2[i]);
    }
    for (int i = 0; i < m->nexclude; i++)
    {
        bool geoms = m->exclude_geom1[i] >= 0;
        mark(w, geoms ? TG_GEOM : TG_BODY, geoms ? m->exclude_geom1[i] : m->exclude_body1[i]);
        mark(w, geoms ? TG_GEOM : TG_BODY, geoms ? m->exclude_geom2[i] : m->exclude_body2[i]);
    }
    for (int i = 0; i < m->npath; i++)
        mark(w, m->path_type[i] == TG_PATH_JOINT ? TG_JOINT : TG_SITE, m->path_id[i]);
    for (int i = 0; i < m->nequality; i++)
        mark_equality(w, i);
    for (int i = 0; i < m->nu; i++)
        mark(w, transmission_target[m->actuator_transmission[i]], m->actuator_target[i]);
}
