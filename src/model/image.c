/* A model as bytes: its plain arrays one after another. A model is made from them by building it again, so that
 * everything is validated, and what is derived (hulls, orders, patterns) is not in the bytes. */
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/rebuild.h"

/* Strings of a report entry and of a shape for looks, as places in the text. */
typedef struct report_image
{
    int kind, line, file, element, attribute, note;
} report_image;

typedef struct visual_image
{
    double pos[3], quat[4], size[3], rgba[4];
    int name, file, type, body;
} visual_image;

/* What the bytes begin with. The version and the sizes of structs tell other builds of the library apart. */
typedef struct image_head
{
    char magic[8], version[16];
    uint64_t size, checksum; /* of all bytes; of those behind the head */
    uint64_t model_head, offsets;
} image_head;

#define MODEL_HEAD offsetof(tg_model, body_parent) /* the sizes of a model, up to its first array */

/* Walks over the parts of an image: counts (data NULL), writes into it, or reads: then *part is set to where the part
 * lies. */
typedef struct walk
{
    unsigned char *data;
    size_t at, size;
    bool reading, failed;
} walk;

static void visit(walk *w, void **part, size_t bytes)
{
    size_t padded = (bytes + 7) & ~(size_t)7; /* every part is aligned for doubles */
    if (w->reading && (w->failed || padded < bytes || padded > w->size - w->at))
    {
        w->failed = true;
        return;
    }
    if (w->reading)
        *part = w->data + w->at;
    else if (w->data != NULL && bytes > 0)
        memcpy(w->data + w->at, *part, bytes);
    w->at += padded;
}

/* 1 for arrays of plain numbers and text, which are in the image as they are */
#define IS_PLAIN(type) _Generic((type *)NULL, int * : 1, double * : 1, char * : 1, default : 0)

/* The parts between the sizes and the parameters. What a count depends on comes before it. */
static void visit_arrays(walk *w, tg_model *m, report_image **report, visual_image **visual)
{
    void *part;
#define X(type, name, count, doc)                                                                                      \
    if (IS_PLAIN(type) && !w->failed)                                                                                  \
    {                                                                                                                  \
        part = (void *)m->name;                                                                                        \
        visit(w, &part, (size_t)(count) * sizeof(type));                                                               \
        m->name = part;                                                                                                \
    }
    TG_MODEL_FIELDS(X)
#undef X
    part = *report;
    visit(w, &part, (size_t)m->nreport * sizeof **report);
    *report = part;
    part = *visual;
    visit(w, &part, (size_t)m->nvisual * sizeof **visual);
    *visual = part;
    part = m->params->value;
    visit(w, &part, (size_t)m->nparams * sizeof *m->params->value);
    m->params->value = part;
}

/* FNV-1a over words of 8 bytes: tells damaged bytes, not malice. */
static uint64_t checksum(const unsigned char *data, size_t size)
{
    const uint64_t basis = 0xcbf29ce484222325u, prime = 0x100000001b3u; /* those of FNV */
    uint64_t sum = basis;
    for (size_t i = 0; i + 8 <= size; i += 8)
    {
        uint64_t word;
        memcpy(&word, data + i, 8);
        sum = (sum ^ word) * prime;
    }
    return sum;
}

static image_head head_of(size_t size)
{
    image_head head = {.magic = "tgmodel", .size = size, .model_head = MODEL_HEAD, .offsets = sizeof(tg_param_offsets)};
    strncpy(head.version, tg_version(), sizeof head.version - 1);
    return head;
}

/* ---- writing ---- */

static void fill_report(const tg_model *m, report_image *out)
{
    for (int i = 0; i < m->nreport; i++)
    {
        const tg_report_entry *r = &m->report[i];
        out[i] = (report_image){(int)r->kind,
                                r->line,
                                (int)(r->file - m->text),
                                (int)(r->element - m->text),
                                (int)(r->attribute - m->text),
                                (int)(r->note - m->text)};
    }
}

static void fill_visual(const tg_model *m, visual_image *out)
{
    for (int i = 0; i < m->nvisual; i++)
    {
        const tg_visual_info *v = &m->visual[i];
        out[i] = (visual_image){
            .name = (int)(v->name - m->text), .file = (int)(v->file - m->text), .type = (int)v->type, .body = v->body};
        memcpy(out[i].pos, v->pos, sizeof v->pos);
        memcpy(out[i].quat, v->quat, sizeof v->quat);
        memcpy(out[i].size, v->size, sizeof v->size);
        memcpy(out[i].rgba, v->rgba, sizeof v->rgba);
    }
}

size_t tg_model_to_bytes(const tg_model *m, void *bytes, size_t capacity)
{
    if (m == NULL)
        return 0;
    tg_model view = *m; /* the walk takes pointers that it may set */
    tg_params params = *m->params;
    report_image *report = NULL;
    visual_image *visual = NULL;
    void *head = &view;
    view.params = &params;
    walk w = {.at = sizeof(image_head)};
    visit(&w, &head, MODEL_HEAD);
    visit_arrays(&w, &view, &report, &visual);
    size_t size = w.at;
    if (bytes == NULL || capacity < size)
        return size;
    report = tg_alloc(&m->allocator, (size_t)m->nreport * sizeof *report + 1);
    visual = tg_alloc(&m->allocator, (size_t)m->nvisual * sizeof *visual + 1);
    if (report == NULL || visual == NULL)
    {
        tg_free(&m->allocator, report);
        tg_free(&m->allocator, visual);
        return 0;
    }
    fill_report(m, report);
    fill_visual(m, visual);
    memset(bytes, 0, size);
    w = (walk){.data = bytes, .at = sizeof(image_head)};
    visit(&w, &head, MODEL_HEAD);
    visit_arrays(&w, &view, &report, &visual);
    tg_free(&m->allocator, report);
    tg_free(&m->allocator, visual);
    image_head first = head_of(size);
    first.checksum = checksum(w.data + sizeof first, size - sizeof first);
    memcpy(bytes, &first, sizeof first);
    return size;
}

/* ---- reading ---- */

static tg_status check_head(const unsigned char *bytes, size_t size, tg_error *error)
{
    image_head found, expected = head_of(size);
    if (size < sizeof found || memcmp(bytes, expected.magic, sizeof expected.magic) != 0)
        return tg_fail(error, TG_ERR_PARSE, "model bytes: %zu bytes that are not a model's", size);
    memcpy(&found, bytes, sizeof found);
    if (memcmp(found.version, expected.version, sizeof found.version) != 0 || found.model_head != MODEL_HEAD ||
        found.offsets != expected.offsets)
        return tg_fail(error, TG_ERR_PARSE, "model bytes: of version %.15s of the library, this is %s", found.version,
                       tg_version());
    if (found.size != size || found.checksum != checksum(bytes + sizeof found, size - sizeof found))
        return tg_fail(error, TG_ERR_PARSE, "model bytes: damaged (%zu bytes)", size);
    return TG_OK;
}

/* Entries whose strings point into the text again; room for them comes from the caller. */
static void point_back(tg_model *m, const report_image *report, const visual_image *visual)
{
    for (int i = 0; i < m->nreport; i++)
    {
        const report_image *r = &report[i];
        m->report[i] = (tg_report_entry){(tg_report_kind)r->kind, m->text + r->file,      r->line,
                                         m->text + r->element,    m->text + r->attribute, m->text + r->note};
    }
    for (int i = 0; i < m->nvisual; i++)
    {
        const visual_image *v = &visual[i];
        m->visual[i] = (tg_visual_info){
            .name = m->text + v->name, .file = m->text + v->file, .type = (tg_geom_type)v->type, .body = v->body};
        memcpy(m->visual[i].pos, v->pos, sizeof v->pos);
        memcpy(m->visual[i].quat, v->quat, sizeof v->quat);
        memcpy(m->visual[i].size, v->size, sizeof v->size);
        memcpy(m->visual[i].rgba, v->rgba, sizeof v->rgba);
    }
}

/* A model that lies in the bytes, good for being built again and nothing else. */
static tg_status rebuild(unsigned char *bytes, size_t size, const tg_allocator *allocator, tg_model **out,
                         tg_error *error)
{
    tg_model m = {0};
    tg_params params = {.model = &m, .ready = true};
    report_image *report = NULL;
    visual_image *visual = NULL;
    void *head = NULL;
    walk w = {.data = bytes, .at = sizeof(image_head), .size = size, .reading = true};
    visit(&w, &head, MODEL_HEAD);
    if (!w.failed)
        memcpy(&m, head, MODEL_HEAD);
    m.params = &params;
    visit_arrays(&w, &m, &report, &visual);
    if (w.failed || w.at != size)
        return tg_fail(error, TG_ERR_PARSE, "model bytes: damaged (%zu bytes)", size);
    m.report = tg_alloc(allocator, (size_t)m.nreport * sizeof *m.report + 1);
    m.visual = tg_alloc(allocator, (size_t)m.nvisual * sizeof *m.visual + 1);
    tg_builder *b = NULL;
    tg_status status =
        m.report == NULL || m.visual == NULL ? tg_fail(error, TG_ERR_MEMORY, "model bytes: out of memory") : TG_OK;
    if (status == TG_OK)
    {
        point_back(&m, report, visual);
        status = tg_rebuild_begin(&m, allocator, &b, error);
    }
    if (status == TG_OK)
        status = tg_rebuild_end(b, TG_OK, &m, out, error);
    tg_free(allocator, m.report);
    tg_free(allocator, m.visual);
    return status;
}

tg_status tg_model_from_bytes(const void *bytes, size_t size, const tg_allocator *allocator, tg_model **out,
                              tg_error *error)
{
    if (bytes == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_model_from_bytes: %s is NULL", bytes == NULL ? "bytes" : "m");
    *out = NULL;
    tg_status status = check_head(bytes, size, error);
    if (status != TG_OK)
        return status;
    unsigned char *copy = tg_alloc(allocator, size); /* aligned */
    if (copy == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "model bytes: out of memory (%zu bytes)", size);
    memcpy(copy, bytes, size);
    status = rebuild(copy, size, allocator, out, error);
    tg_free(allocator, copy);
    return status;
}
