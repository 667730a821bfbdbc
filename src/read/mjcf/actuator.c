/* actuator: the general one and its shortcuts.
 *
 *   force = gain * s + bias,  gain = gainprm . (1, length, velocity), bias = biasprm . (1, length, velocity)
 *
 * where s is the control, or the activation of an actuator with dynamics. Each shortcut fills in these numbers. What
 * cannot be represented (muscles, slider-cranks, ...) keeps its place in ctrl and act and exerts no force. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"

#define PI 3.14159265358979323846

/* ---- the shortcuts ---- */

const tg_mjcf_law tg_mjcf_first_law = {
    .gain_type = TG_MJCF_FIXED, .bias_type = TG_MJCF_NONE, .dynamics = TG_DYNAMICS_NONE, .gainprm = {1}, .dynprm = {1}};

tg_mjcf_actuator_kind tg_mjcf_actuator_kind_of(const char *element)
{
    static const char *const names[TG_MJCF_ACTUATOR_KINDS] = {
        [TG_MJCF_GENERAL] = "general",         [TG_MJCF_MOTOR] = "motor",   [TG_MJCF_POSITION] = "position",
        [TG_MJCF_VELOCITY] = "velocity",       [TG_MJCF_DAMPER] = "damper", [TG_MJCF_CYLINDER] = "cylinder",
        [TG_MJCF_INTVELOCITY] = "intvelocity", [TG_MJCF_MUSCLE] = "muscle", [TG_MJCF_ADHESION] = "adhesion",
        [TG_MJCF_PLUGIN] = "plugin",
    };
    int kind = 0;
    while (kind < TG_MJCF_ACTUATOR_KINDS && strcmp(element, names[kind]) != 0)
        kind++;
    return (tg_mjcf_actuator_kind)kind;
}

static double given(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

static tg_status negative(tg_mjcf *r, const tg_xml *xml, const char *attribute, double value)
{
    return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute '%s' must not be negative, got %g", attribute, value);
}

/* What an element starts from. A general actuator takes the law of its class, whatever set it. A shortcut takes the
 * nearest one, from its class outwards, that its own kind set, or a general actuator with a gain of the type it has. */
static tg_mjcf_law inherited(const tg_mjcf_class *class, tg_mjcf_actuator_kind kind)
{
    int gain_type = kind == TG_MJCF_DAMPER ? TG_MJCF_AFFINE : TG_MJCF_FIXED;
    if (kind == TG_MJCF_GENERAL)
        return class->actuator.law;
    for (; class != NULL; class = class->parent)
    {
        bool general = class->actuator_kind == TG_MJCF_GENERAL && class->actuator.law.gain_type == gain_type;
        if (class->actuator_kind == kind || general)
            return class->actuator.law;
    }
    return tg_mjcf_first_law;
}

/* force = kp (u - length) - kv velocity; a positive biasprm[2] is a damping ratio, worked out when inertia is known */
static tg_status set_position(tg_mjcf *r, const tg_xml *xml, tg_mjcf_actuator *a, bool integrate)
{
    if (!isnan(a->kv) && !isnan(a->dampratio))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attributes 'kv' and 'dampratio' exclude each other");
    if (a->kv < 0)
        return negative(r, xml, "kv", a->kv);
    if (a->dampratio < 0)
        return negative(r, xml, "dampratio", a->dampratio);
    if (a->timeconst < 0)
        return negative(r, xml, "timeconst", a->timeconst);
    tg_mjcf_law law = a->law;
    double kp = given(a->kp, law.gainprm[0]);
    bool filtered = isnan(a->timeconst) ? law.dynamics == TG_DYNAMICS_FILTEREXACT : a->timeconst > 0;
    a->law = (tg_mjcf_law){.gain_type = TG_MJCF_FIXED,
                           .bias_type = TG_MJCF_AFFINE,
                           .dynamics = integrate  ? TG_DYNAMICS_INTEGRATOR
                                       : filtered ? TG_DYNAMICS_FILTEREXACT
                                                  : TG_DYNAMICS_NONE,
                           .gainprm = {kp},
                           .biasprm = {0, -kp, !isnan(a->kv) ? -a->kv : given(a->dampratio, law.biasprm[2])},
                           .dynprm = {given(a->timeconst, filtered ? law.dynprm[0] : 1)},
                           .inheritrange = a->law.inheritrange};
    const double *range = integrate ? a->act_range : a->ctrl_range;
    if (a->law.inheritrange > 0 && (range[0] != 0 || range[1] != 0))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attributes '%s' and 'inheritrange' exclude each other",
                           integrate ? "actrange" : "ctrlrange");
    return TG_OK;
}

/* force = kv (u - velocity) */
static void set_velocity(tg_mjcf_actuator *a)
{
    double kv = given(a->kv, a->law.gainprm[0]);
    a->law = tg_mjcf_first_law;
    a->law.bias_type = TG_MJCF_AFFINE;
    a->law.gainprm[0] = kv;
    a->law.biasprm[2] = -kv;
}

/* force = -kv u velocity */
static tg_status set_damper(tg_mjcf *r, const tg_xml *xml, tg_mjcf_actuator *a)
{
    double kv = given(a->kv, -a->law.gainprm[2]);
    a->law = tg_mjcf_first_law;
    a->law.gain_type = TG_MJCF_AFFINE;
    a->law.gainprm[0] = 0;
    a->law.gainprm[2] = -kv;
    a->ctrl_limited = TG_MJCF_TRUE;
    if (kv < 0)
        return negative(r, xml, "kv", kv);
    if (a->ctrl_range[0] < 0 || a->ctrl_range[1] < 0)
        return negative(r, xml, "ctrlrange", fmin(a->ctrl_range[0], a->ctrl_range[1]));
    return TG_OK;
}

/* a pressure that follows the control with a time constant, on an area */
static void set_cylinder(tg_mjcf_actuator *a)
{
    tg_mjcf_law law = a->law;
    double area = a->diameter >= 0 ? PI / 4 * a->diameter * a->diameter : given(a->area, law.gainprm[0]);
    a->law = (tg_mjcf_law){.gain_type = TG_MJCF_FIXED,
                           .bias_type = TG_MJCF_AFFINE,
                           .dynamics = TG_DYNAMICS_FILTER,
                           .gainprm = {area},
                           .dynprm = {given(a->timeconst, law.dynprm[0])}};
    for (int i = 0; i < 3; i++)
        a->law.biasprm[i] = given(a->bias[i], law.biasprm[i]);
}

/* Muscles, adhesion and plugins: a law that is not built. */
static void set_other(tg_mjcf_actuator *a, tg_mjcf_actuator_kind kind)
{
    a->law = tg_mjcf_first_law;
    a->law.gain_type = TG_MJCF_OTHER;
    a->law.dynamics = kind == TG_MJCF_MUSCLE ? TG_MJCF_DYNAMICS_OTHER : TG_DYNAMICS_NONE;
    if (kind == TG_MJCF_ADHESION)
        a->ctrl_limited = TG_MJCF_TRUE;
}

/* An actuator as written, on top of its class. */
static tg_status read_written(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, bool required,
                              const tg_mjcf_class *class, tg_mjcf_actuator *into)
{
    const double none = (double)NAN;
    tg_mjcf_actuator_kind kind = tg_mjcf_actuator_kind_of(xml->name);
    *into = class->actuator;
    into->law = inherited(class, kind);
    into->kp = into->kv = into->dampratio = into->timeconst = into->area = into->diameter = none;
    into->bias[0] = into->bias[1] = into->bias[2] = none;
    tg_status status = tg_table_read(r->error, xml, row, required, into);
    if (status != TG_OK)
        return status;
    switch (kind)
    {
    case TG_MJCF_GENERAL:
    case TG_MJCF_ACTUATOR_KINDS:
        break;
    case TG_MJCF_MOTOR:
        into->law = tg_mjcf_first_law;
        break;
    case TG_MJCF_POSITION:
    case TG_MJCF_INTVELOCITY:
        return set_position(r, xml, into, kind == TG_MJCF_INTVELOCITY);
    case TG_MJCF_VELOCITY:
        set_velocity(into);
        break;
    case TG_MJCF_DAMPER:
        return set_damper(r, xml, into);
    case TG_MJCF_CYLINDER:
        set_cylinder(into);
        break;
    case TG_MJCF_MUSCLE:
    case TG_MJCF_ADHESION:
    case TG_MJCF_PLUGIN:
        set_other(into, kind);
        break;
    }
    return TG_OK;
}

tg_status tg_mjcf_default_actuator(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_class *class)
{
    tg_mjcf_actuator a;
    tg_status status = read_written(r, xml, row, false, class, &a);
    if (status != TG_OK)
        return status;
    class->actuator = a;
    class->actuator_kind = tg_mjcf_actuator_kind_of(xml->name);
    return TG_OK;
}

tg_status tg_mjcf_actuator_has_act(tg_mjcf *r, const tg_xml *xml, bool *has)
{
    const tg_table_row *row = tg_table_child(tg_table_child(tg_mjcf_rows(), "actuator"), xml->name);
    const tg_mjcf_class *class;
    tg_mjcf_actuator a;
    tg_status status = tg_mjcf_find_class(r, xml, "class", NULL, &class);
    if (status == TG_OK)
        status = read_written(r, xml, row, true, class, &a);
    *has = status == TG_OK && a.law.dynamics != TG_DYNAMICS_NONE;
    return status;
}

/* ---- an actuator of the model ---- */

typedef struct work
{
    tg_mjcf *r;
    const tg_xml *xml;
    tg_mjcf_actuator *a;
    tg_actuator_def def;
    bool forceless;
    const double *target_range; /* of the joint or tendon; NULL: it has none */
} work;

static tg_status make_forceless(work *w, const char *attribute, const char *why)
{
    w->forceless = true;
    return tg_mjcf_report(w->r, TG_TABLE_IGNORED, w->xml, attribute, why);
}

static tg_status set_joint(work *w, const char *attribute, const char *name)
{
    w->def.transmission = TG_TRANSMISSION_JOINT;
    tg_status status = tg_mjcf_refer(w->r, w->xml, attribute, name, TG_JOINT, &w->def.target);
    if (status != TG_OK)
        return status;
    const tg_mjcf_joint_known *joint = (const tg_mjcf_joint_known *)w->r->joint.data + w->def.target;
    bool scalar = joint->type == TG_JOINT_HINGE || joint->type == TG_JOINT_SLIDE;
    w->target_range = scalar ? joint->range : NULL;
    if (!scalar && w->a->jointinparent == name)
        return make_forceless(w, attribute, "of a ball or free joint: exerts no force");
    return TG_OK;
}

static tg_status set_site(work *w, const char *attribute, const char *name)
{
    w->def.transmission = TG_TRANSMISSION_SITE;
    return tg_mjcf_refer(w->r, w->xml, attribute, name, TG_SITE, &w->def.target);
}

/* A target that is a body: the actuator is put on the first joint, where it does nothing. */
static tg_status set_body(work *w)
{
    int body;
    tg_status status = tg_mjcf_refer(w->r, w->xml, "body", w->a->body, TG_BODY, &body);
    if (status != TG_OK)
        return status;
    if (w->r->joint.count == 0)
        return tg_xml_fail(w->r->error, TG_ERR_UNSUPPORTED, w->xml, "attribute 'body': such an actuator is not built");
    w->def.transmission = TG_TRANSMISSION_JOINT;
    w->def.target = 0;
    w->forceless = true;
    return TG_OK;
}

/* Targets beside the one that counts are reported. */
static tg_status report_targets(work *w)
{
    const tg_mjcf_actuator *a = w->a;
    const struct
    {
        const char *attribute, *name;
    } target[] = {{"body", a->body},
                  {"site", a->site},
                  {"cranksite", a->cranksite},
                  {"tendon", a->tendon},
                  {"jointinparent", a->jointinparent},
                  {"joint", a->joint}};
    bool taken = false;
    tg_status status = TG_OK;
    for (size_t i = 0; i < sizeof target / sizeof *target && status == TG_OK; i++)
    {
        if (target[i].name != NULL && taken)
            status = tg_mjcf_report(w->r, TG_TABLE_IGNORED, w->xml, target[i].attribute,
                                    "the actuator has another target, which counts; keep one");
        taken = taken || target[i].name != NULL;
    }
    return status;
}

/* Of several targets the last in this order counts. */
static tg_status set_target(work *w)
{
    const tg_mjcf_actuator *a = w->a;
    tg_status several = report_targets(w);
    if (several != TG_OK)
        return several;
    if (a->body != NULL)
        return set_body(w);
    if (a->site != NULL)
    {
        tg_status status = set_site(w, "site", a->site);
        if (status == TG_OK && a->refsite != NULL)
            status = make_forceless(w, "refsite", "a reference site: exerts no force");
        return status;
    }
    if (a->cranksite != NULL)
    {
        tg_status status = set_site(w, "cranksite", a->cranksite);
        return status == TG_OK ? make_forceless(w, "cranksite", "a slider-crank: exerts no force") : status;
    }
    if (a->tendon != NULL)
    {
        w->def.transmission = TG_TRANSMISSION_TENDON;
        tg_status status = tg_mjcf_refer(w->r, w->xml, "tendon", a->tendon, TG_TENDON, &w->def.target);
        if (status == TG_OK)
            w->target_range = ((const tg_mjcf_tendon_known *)w->r->tendon.data + w->def.target)->range;
        return status;
    }
    if (a->jointinparent != NULL)
        return set_joint(w, "jointinparent", a->jointinparent);
    if (a->joint != NULL)
        return set_joint(w, "joint", a->joint);
    return tg_xml_fail(w->r->error, TG_ERR_PARSE, w->xml, "has no target: joint, tendon or site");
}

/* A position servo with positive biasprm[2], which cannot be a damping. */
static bool is_damping_ratio(const tg_mjcf_actuator *a)
{
    return a->law.bias_type == TG_MJCF_AFFINE && a->law.gainprm[0] == -a->law.biasprm[1] && a->law.biasprm[2] > 0;
}

static tg_status set_force(work *w, bool reported)
{
    const tg_mjcf_actuator *a = w->a;
    bool other = a->law.gain_type == TG_MJCF_OTHER || a->law.bias_type == TG_MJCF_OTHER ||
                 a->law.dynamics == TG_MJCF_DYNAMICS_OTHER;
    w->def.dynamics =
        a->law.dynamics == TG_MJCF_DYNAMICS_OTHER ? TG_DYNAMICS_FILTER : (tg_dynamics_type)a->law.dynamics;
    if (w->def.dynamics == TG_DYNAMICS_FILTER || w->def.dynamics == TG_DYNAMICS_FILTEREXACT)
        w->def.tau = a->law.dynprm[0];
    w->def.act_early = a->act_early != 0;
    if (other)
    {
        w->forceless = true;
        const char *attribute = a->law.gain_type == TG_MJCF_OTHER   ? "gaintype"
                                : a->law.bias_type == TG_MJCF_OTHER ? "biastype"
                                                                    : "dyntype";
        return reported ? TG_OK : tg_mjcf_report(w->r, TG_TABLE_IGNORED, w->xml, attribute, "exerts no force");
    }
    memcpy(w->def.gear, a->gear, sizeof w->def.gear);
    for (int i = 0; i < 3; i++)
    {
        w->def.gain[i] = i == 0 || a->law.gain_type == TG_MJCF_AFFINE ? a->law.gainprm[i] : 0;
        w->def.bias[i] = a->law.bias_type == TG_MJCF_AFFINE ? a->law.biasprm[i] : 0;
    }
    if (is_damping_ratio(a))
        w->def.bias[2] = 0; /* until it is worked out */
    return TG_OK;
}

/* The range of a position servo's control (or of an integrator's activation), from its target's. */
static tg_status inherit_range(work *w)
{
    tg_mjcf_actuator *a = w->a;
    bool servo = a->law.gain_type == TG_MJCF_FIXED && a->law.bias_type == TG_MJCF_AFFINE &&
                 a->law.gainprm[0] == -a->law.biasprm[1];
    if (!(a->law.inheritrange > 0) || !servo)
        return TG_OK;
    if (w->target_range == NULL || w->target_range[0] == w->target_range[1])
        return tg_xml_fail(w->r->error, TG_ERR_VALUE, w->xml, "attribute 'inheritrange': the target has no range");
    double middle = 0.5 * (w->target_range[1] + w->target_range[0]);
    double radius = 0.5 * (w->target_range[1] - w->target_range[0]) * a->law.inheritrange;
    double *range = a->law.dynamics == TG_DYNAMICS_INTEGRATOR ? a->act_range : a->ctrl_range;
    range[0] = middle - radius;
    range[1] = middle + radius;
    return TG_OK;
}

static tg_status set_limits(work *w)
{
    const tg_mjcf_actuator *a = w->a;
    const struct
    {
        const char *prefix;
        int limited;
        const double *range;
        bool *on;
        double *out;
    } limits[] = {{"force", a->force_limited, a->force_range, &w->def.force_limited, w->def.force_range},
                  {"ctrl", a->ctrl_limited, a->ctrl_range, &w->def.ctrl_limited, w->def.ctrl_range},
                  {"act", a->act_limited, a->act_range, &w->def.act_limited, w->def.act_range}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    {
        const double *range = limits[i].range;
        tg_status status = tg_mjcf_limits(w->r, w->xml, limits[i].prefix, limits[i].limited, range, limits[i].on);
        if (status != TG_OK)
            return status;
        if (*limits[i].on && range[0] >= range[1])
            return tg_xml_fail(w->r->error, TG_ERR_VALUE, w->xml, "attribute '%srange': %g is not below %g",
                               limits[i].prefix, range[0], range[1]);
        memcpy(limits[i].out, range, 2 * sizeof *range);
    }
    if (w->def.act_limited && a->law.dynamics == TG_DYNAMICS_NONE)
        return tg_xml_fail(w->r->error, TG_ERR_PARSE, w->xml, "attribute 'actrange' without dynamics");
    w->def.ctrl_limited = w->def.ctrl_limited && w->r->option.flag_clampctrl;
    return TG_OK;
}

/* Damping and inertia of the drive, seen at the joint or tendon through the gear; and a damping ratio. They are worked
 * into the parameters of the finished model. */
static tg_status set_drive(work *w, int id)
{
    const tg_mjcf_actuator *a = w->a;
    bool ratio = is_damping_ratio(a);
    bool drive = a->armature != 0 || a->damping[0] != 0;
    bool tendon = w->def.transmission == TG_TRANSMISSION_TENDON;
    bool fits = tendon || (w->def.transmission == TG_TRANSMISSION_JOINT && w->target_range != NULL);
    if (a->damping[1] != 0 || a->damping[2] != 0 || (a->damping[0] != 0 && !fits))
        return tg_mjcf_report(w->r, TG_TABLE_IGNORED, w->xml, "damping",
                              "the linear coefficient on a hinge, slide or "
                              "tendon counts");
    if (a->armature != 0 && (tendon || !fits))
        return tg_mjcf_report(w->r, TG_TABLE_IGNORED, w->xml, "armature", "counts on a hinge or slide");
    bool spatial =
        tendon && ((const tg_mjcf_tendon_known *)w->r->tendon.data + w->def.target)->type == TG_TENDON_SPATIAL;
    if (ratio && (spatial || w->def.transmission == TG_TRANSMISSION_SITE))
        return tg_mjcf_report(w->r, TG_TABLE_IGNORED, w->xml, "dampratio", "counts on a joint or a fixed tendon");
    if (!ratio && !drive)
        return TG_OK;
    tg_mjcf_tuned *tuned = tg_mjcf_append(w->r, &w->r->servo, sizeof *tuned);
    if (tuned == NULL)
        return tg_mjcf_no_memory(w->r, w->xml);
    *tuned = (tg_mjcf_tuned){
        .id = id, .dampratio = ratio ? a->law.biasprm[2] : 0, .armature = a->armature, .damping = a->damping[0]};
    return TG_OK;
}

static tg_status read_actuator(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    const tg_mjcf_class *class;
    tg_status status = tg_mjcf_find_class(r, xml, "class", NULL, &class);
    if (status != TG_OK)
        return status;
    tg_mjcf_actuator a;
    work w = {.r = r, .xml = xml, .a = &a, .def = tg_default_actuator()};
    w.def.name = tg_xml_get(xml, "name");
    status = read_written(r, xml, row, true, class, &a);
    if (status == TG_OK)
        status = set_target(&w);
    if (status == TG_OK)
        status = set_force(&w, row->handling == TG_TABLE_IGNORED);
    if (status == TG_OK)
        status = inherit_range(&w);
    if (status == TG_OK)
        status = set_limits(&w);
    if (status != TG_OK)
        return status;
    if (w.forceless)
    {
        memset(w.def.gear, 0, sizeof w.def.gear);
        memset(w.def.gain, 0, sizeof w.def.gain);
        memset(w.def.bias, 0, sizeof w.def.bias);
    }
    int id = -1;
    status = tg_mjcf_builder_failed(r, xml, tg_builder_actuator(r->builder, &w.def, &id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, xml, TG_ACTUATOR, w.def.name, id);
    tg_mjcf_actuator_known *known = status == TG_OK ? tg_mjcf_append(r, &r->actuator, sizeof *known) : NULL;
    if (known == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    known->act = w.def.dynamics != TG_DYNAMICS_NONE ? r->na : -1;
    r->nu++;
    r->na += w.def.dynamics != TG_DYNAMICS_NONE ? 1 : 0;
    return status == TG_OK && !w.forceless ? set_drive(&w, id) : status;
}

tg_status tg_mjcf_actuators(tg_mjcf *r, const tg_xml *section)
{
    const tg_table_row *row = tg_table_child(tg_mjcf_rows(), "actuator");
    tg_status status = TG_OK;
    for (const tg_xml *e = section->first; e != NULL && status == TG_OK; e = e->next)
        status = read_actuator(r, e, tg_table_child(row, e->name));
    return status;
}
