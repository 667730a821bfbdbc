/* SRDF: disable_collisions as excludes.
 *
 * An exclude is between bodies, and a body can be several links. Where only some of the links of two bodies are
 * disabled, the bodies are excluded and the geoms of the other links are paired one by one. */
#include <stdlib.h>
#include <string.h>

#include "read/file.h"
#include "read/urdf/urdf.h"

/* Two links that do not collide, ordered by body, then by link. */
typedef struct disabled
{
    const tg_xml *xml;
    int body[2], link[2];
} disabled;

static int compare(const void *a, const void *b)
{
    const disabled *x = a, *y = b;
    const int left[4] = {x->body[0], x->body[1], x->link[0], x->link[1]};
    const int right[4] = {y->body[0], y->body[1], y->link[0], y->link[1]};
    for (int i = 0; i < 4; i++)
    {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

/* Appends a pair, unless its links are the same body or one is not there. */
static tg_status read_pair(tg_urdf *u, const tg_xml *xml, tg_mjcf_list *list)
{
    tg_srdf_pair written = {0};
    tg_status status = tg_urdf_read(u, xml, tg_srdf_rows(), &written);
    if (status != TG_OK)
        return status;
    int a = tg_urdf_find(u->link_name, u->nlink, written.link1),
        b = tg_urdf_find(u->link_name, u->nlink, written.link2);
    if (a < 0 || b < 0)
        return tg_urdf_report(u, TG_TABLE_NOTED, xml, a < 0 ? "link1" : "link2", "there is no such link in the robot");
    if (u->link[a].body == u->link[b].body)
        return TG_OK;
    disabled *pair = tg_mjcf_append(&u->base, list, sizeof *pair);
    if (pair == NULL)
        return tg_mjcf_no_memory(&u->base, xml);
    bool swap = u->link[a].body > u->link[b].body;
    *pair = (disabled){.xml = xml, .link = {swap ? b : a, swap ? a : b}};
    for (int i = 0; i < 2; i++)
        pair->body[i] = u->link[pair->link[i]].body;
    return TG_OK;
}

/* ---- a pair of bodies ---- */

static bool is_disabled(const disabled *pair, int count, int a, int b)
{
    for (int i = 0; i < count; i++)
    {
        if (pair[i].link[0] == a && pair[i].link[1] == b)
            return true;
    }
    return false;
}

static tg_status pair_links(tg_urdf *u, const tg_xml *xml, const tg_urdf_link *a, const tg_urdf_link *b)
{
    tg_status status = TG_OK;
    for (int i = 0; i < a->ngeom * b->ngeom && status == TG_OK; i++)
    {
        tg_pair_def def = tg_default_pair();
        def.geom1 = a->geom_id + i / b->ngeom;
        def.geom2 = b->geom_id + i % b->ngeom;
        status = tg_mjcf_builder_failed(&u->base, xml, tg_builder_pair(u->base.builder, &def, NULL));
    }
    return status;
}

/* A body and its parent do not collide anyway, unless the parent is the world. */
static bool are_neighbours(const tg_urdf *u, int a, int b)
{
    const tg_urdf_body *body = u->body.data;
    return (body[b].parent == a && a != 0) || (body[a].parent == b && b != 0);
}

static tg_status exclude(tg_urdf *u, const disabled *pair, int count)
{
    tg_exclude_def def = tg_default_exclude();
    def.body1 = pair->body[0];
    def.body2 = pair->body[1];
    tg_status status = tg_mjcf_builder_failed(&u->base, pair->xml, tg_builder_exclude(u->base.builder, &def, NULL));
    if (!u->merge || are_neighbours(u, def.body1, def.body2))
        return status;
    for (int a = 0; a < u->nlink && status == TG_OK; a++)
    {
        if (u->link[a].body != def.body1 || u->link[a].ngeom == 0)
            continue;
        for (int b = 0; b < u->nlink && status == TG_OK; b++)
        {
            bool collides = u->link[b].body == def.body2 && u->link[b].ngeom > 0 && !is_disabled(pair, count, a, b);
            if (collides)
                status = pair_links(u, pair->xml, &u->link[a], &u->link[b]);
        }
    }
    return status;
}

/* ---- the file ---- */

static tg_status read_tree(tg_urdf *u, const tg_xml *root)
{
    tg_mjcf_list list = {0};
    if (strcmp(root->name, "robot") != 0)
        return tg_xml_fail(u->base.error, TG_ERR_PARSE, root, "the root element of an SRDF is robot");
    tg_status status = tg_urdf_check(u, root, tg_srdf_rows());
    for (const tg_xml *e = root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "disable_collisions") == 0)
            status = read_pair(u, e, &list);
    }
    disabled *pair = list.data;
    if (list.count > 0)
        qsort(pair, (size_t)list.count, sizeof *pair, compare);
    for (int i = 0, n; i < list.count && status == TG_OK; i += n)
    {
        n = 1;
        while (i + n < list.count && pair[i + n].body[0] == pair[i].body[0] && pair[i + n].body[1] == pair[i].body[1])
            n++;
        status = exclude(u, pair + i, n);
    }
    return status;
}

tg_status tg_urdf_srdf(tg_urdf *u, const char *path)
{
    tg_file file;
    tg_xml *root = NULL;
    tg_status status = tg_file_read(path, TG_XML_MAX_BYTES, u->base.allocator, &file, u->base.error);
    if (status != TG_OK)
        return status;
    status = tg_xml_parse(file.data, file.size, path, u->base.pool, &u->base.nelement, &root, u->base.error);
    tg_file_free(&file, u->base.allocator);
    return status == TG_OK ? read_tree(u, root) : status;
}
