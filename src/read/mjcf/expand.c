/* replicate and attach, worked out in the tree of elements: what is read afterwards has bodies and frames only.
 *
 *   <replicate count="2" sep="-" offset="1 0 0"><body name="b"/></replicate>
 *
 * becomes <frame pos="0 0 0"><body name="b-0"/></frame><frame pos="1 0 0"><body name="b-1"/></frame>. Inner ones go
 * first. */
#include <stdio.h>
#include <string.h>

#include "read/mjcf/copy.h"
#include "tangere/algebra.h"

static int count_elements(const tg_xml *xml)
{
    int n = 1; /* fits: there are at most TG_XML_MAX_ELEMENTS */
    for (const tg_xml *e = xml->first; e != NULL; e = e->next)
        n += count_elements(e);
    return n;
}

/* Joints and inertias belong to the body around: many copies of them make no sense. */
static tg_status check_content(tg_mjcf *r, const tg_xml *xml)
{
    for (const tg_xml *e = xml->first; e != NULL; e = e->next)
    {
        bool frame = strcmp(e->name, "frame") == 0;
        if (strcmp(e->name, "joint") == 0 || strcmp(e->name, "freejoint") == 0 || strcmp(e->name, "inertial") == 0)
            return tg_xml_fail(r->error, TG_ERR_PARSE, e, "cannot stand in a replicate, outside of a body of it");
        tg_status status = frame ? check_content(r, e) : TG_OK;
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

/* Numbers as an attribute, to the last bit. */
static const char *numbers_text(tg_mjcf *r, const double *numbers, int n)
{
    char text[4 * 32];
    int used = 0;
    for (int i = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, i > 0 ? " %.17g" : "%.17g", numbers[i]);
    return tg_pool_string(r->pool, text, (size_t)used);
}

/* "-07": the separator and the number of the copy, with as many digits as the count has. */
static const char *suffix_of(tg_mjcf *r, const char *separator, int count, int i)
{
    char digits[32];
    int width = snprintf(digits, sizeof digits, "%d", count);
    snprintf(digits, sizeof digits, "%0*d", width, i);
    tg_mjcf_rename to = {.prefix = separator, .suffix = ""};
    return tg_mjcf_renamed(r, digits, &to);
}

/* The frame of a copy. */
static tg_xml *make_frame(tg_mjcf *r, const tg_xml *xml, const double pose[7])
{
    const char *class = tg_xml_get(xml, "childclass");
    tg_xml *frame = tg_mjcf_new_element(r, xml, "frame", NULL);
    tg_xml_attribute *attribute = TG_POOL_TAKE(r->pool, tg_xml_attribute, 3);
    if (frame == NULL || attribute == NULL)
        return NULL;
    attribute[0] = (tg_xml_attribute){"pos", numbers_text(r, pose, 3)};
    attribute[1] = (tg_xml_attribute){"quat", numbers_text(r, pose + 3, 4)};
    attribute[2] = (tg_xml_attribute){"childclass", class};
    if (attribute[0].value == NULL || attribute[1].value == NULL)
        return NULL;
    frame->attribute = attribute;
    frame->nattribute = class != NULL ? 3 : 2;
    return frame;
}

/* Puts a chain of elements, first .. last, into the place of *link; an empty one takes it out. */
static void splice(tg_xml *parent, tg_xml **link, tg_xml *first, tg_xml *last)
{
    tg_xml *old = *link;
    *link = first != NULL ? first : old->next;
    if (first != NULL)
        last->next = old->next;
    if (parent->last != old)
        return;
    parent->last = last;
    for (tg_xml *e = parent->first; first == NULL && e != NULL; e = e->next)
        parent->last = e;
}

static void mark_gone(tg_xml *xml)
{
    xml->gone = true;
    for (tg_xml *e = xml->first; e != NULL; e = e->next)
        mark_gone(e);
}

/* pose of copy i, from that of the one before: the offset is in its frame, the angles are multiples */
static tg_status next_pose(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_replicate *w, int i, double pose[7])
{
    double next[7];
    tg_mjcf_pose written = {.form = TG_MJCF_EULER};
    if (i > 0)
        tg_se3_transform(pose, w->offset, written.pos);
    for (int k = 0; k < 3; k++)
        written.euler[k] = i * w->euler[k];
    tg_status status = tg_mjcf_pose_resolve(r, xml, &written, next);
    memcpy(pose, next, sizeof next);
    return status;
}

static tg_status make_copies(tg_mjcf *r, tg_xml *xml, const tg_mjcf_replicate *w, const tg_mjcf_rename *rename,
                             tg_xml **first, tg_xml **last)
{
    double pose[7] = {0, 0, 0, 1, 0, 0, 0};
    tg_status status = TG_OK;
    *first = *last = NULL;
    for (int i = 0; i < w->count && status == TG_OK; i++)
    {
        status = next_pose(r, xml, w, i, pose);
        tg_xml *frame = status == TG_OK ? make_frame(r, xml, pose) : NULL;
        if (frame == NULL)
            return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
        frame->parent = xml->parent;
        *(*first == NULL ? first : &(*last)->next) = frame;
        *last = frame;
        for (tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
            status = tg_mjcf_copy(r, e, &rename[i], frame);
    }
    return status;
}

static tg_status read_replicate(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_replicate *w)
{
    *w = (tg_mjcf_replicate){.sep = ""};
    tg_status status = tg_table_read(r->error, xml, row, true, w);
    if (status != TG_OK)
        return status;
    if (w->count < 0)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'count' must not be negative, got %d", w->count);
    long long elements = (long long)w->count * count_elements(xml);
    if (elements > TG_XML_MAX_ELEMENTS - r->nelement)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml,
                           "attribute 'count'=\"%d\": the copies have %lld elements; a model has at most %d", w->count,
                           elements, TG_XML_MAX_ELEMENTS);
    return check_content(r, xml);
}

static tg_status replicate(tg_mjcf *r, tg_xml *parent, tg_xml **link, const tg_table_row *row, tg_xml *root)
{
    tg_xml *xml = *link, *first, *last;
    tg_mjcf_replicate w;
    tg_mjcf_names inside = {0};
    tg_status status = read_replicate(r, xml, row, &w);
    tg_mjcf_rename *rename = status == TG_OK ? TG_POOL_TAKE(r->pool, tg_mjcf_rename, w.count + 1) : NULL;
    if (rename == NULL || !tg_mjcf_names_of(r, &inside, xml))
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    for (int i = 0; i < w.count; i++)
    {
        rename[i] = (tg_mjcf_rename){"", suffix_of(r, w.sep, w.count, i), &inside, false, i == 0};
        if (rename[i].suffix == NULL)
            return tg_mjcf_no_memory(r, xml);
    }
    status = make_copies(r, xml, &w, rename, &first, &last);
    if (status != TG_OK)
        return status;
    mark_gone(xml);
    splice(parent, link, first, last);
    tg_mjcf_copying copying = {xml, root, &inside, NULL, rename, w.count, true};
    return tg_mjcf_copy_references(r, root, &copying);
}

/* ---- the walk ---- */

static tg_status expand(tg_mjcf *r, tg_xml *parent, const tg_table_row *world, tg_xml *root)
{
    tg_status status = TG_OK;
    for (tg_xml **link = &parent->first; *link != NULL && status == TG_OK;)
    {
        tg_xml *e = *link, *next = e->next;
        bool copies = strcmp(e->name, "replicate") == 0;
        if (copies || strcmp(e->name, "body") == 0 || strcmp(e->name, "frame") == 0)
            status = expand(r, e, world, root);
        if (copies && status == TG_OK)
            status = replicate(r, parent, link, tg_table_child(world, e->name), root);
        if (strcmp(e->name, "attach") == 0)
            status = tg_mjcf_attach(r, e, tg_table_child(world, e->name), root);
        while (status == TG_OK && *link != NULL && *link != next)
            link = &(*link)->next;
    }
    return status;
}

tg_status tg_mjcf_expand(tg_mjcf *r, tg_xml *root)
{
    const tg_table_row *world = tg_table_child(tg_mjcf_rows(), "worldbody");
    tg_status status = TG_OK;
    for (tg_xml *e = root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "worldbody") == 0)
            status = expand(r, e, world, root);
    }
    return status;
}
