/* Inside of the MJCF writer.
 *
 * A model is written section by section (write.c, one file a group of sections), then read back: every parameter
 * that did not come back exactly (MJCF has no place for it, or normalises it) is added as a custom number, and a model
 * whose structure did not come back is refused (write_check.c). So whatever is read from a written file has the
 * parameters that were written, to the last bit, and writing it again gives the same bytes.
 *
 * References in MJCF are names. An element without one that others refer to is written with its number as a label
 * ("#12"); the reader takes such a name for the references and leaves the element without a name. */
#ifndef TG_READ_MJCF_WRITE_H
#define TG_READ_MJCF_WRITE_H

#include <stdbool.h>

#include "model/model.h"
#include "model/text.h"

typedef struct tg_mjcf_writer
{
    const tg_model *m;
    const tg_params *p;
    tg_text text;
    int depth;           /* of the open elements */
    bool *referenced;    /* nname: others refer to it */
    int *pair, *exclude; /* in the order in which they are written: by their bodies, as the reader numbers them */
    tg_error *error;
} tg_mjcf_writer;

/* ---- write.c: elements and attributes ---- */

/* "<name"; then attributes; then either of the ends. */
void tg_mjcf_begin(tg_mjcf_writer *w, const char *name);
void tg_mjcf_end(tg_mjcf_writer *w);  /* "/>" */
void tg_mjcf_open(tg_mjcf_writer *w); /* ">" */
void tg_mjcf_close(tg_mjcf_writer *w, const char *name);

void tg_mjcf_put_text(tg_mjcf_writer *w, const char *attribute, const char *value);
void tg_mjcf_put_bool(tg_mjcf_writer *w, const char *attribute, bool value);
void tg_mjcf_put_integer(tg_mjcf_writer *w, const char *attribute, int value);
void tg_mjcf_put_reals(tg_mjcf_writer *w, const char *attribute, const double *value, int count);

/* The same unless the value is the usual one, which a reader assumes. */
void tg_mjcf_put_integer_unless(tg_mjcf_writer *w, const char *attribute, int value, int usual);
void tg_mjcf_put_real_unless(tg_mjcf_writer *w, const char *attribute, double value, double usual);
void tg_mjcf_put_reals_unless(tg_mjcf_writer *w, const char *attribute, const double *value, const double *usual,
                              int count);

/* xlimited and xrange, when the limit is on or the range is not 0 0. */
void tg_mjcf_put_limits(tg_mjcf_writer *w, const char *prefix, bool limited, const double range[2]);

/* pos and quat, unless they are the identity. */
void tg_mjcf_put_pose(tg_mjcf_writer *w, const double pos[3], const double quat[4]);

/* The name of an element as the attribute name (if it has one, or a label), and as a reference to it. */
void tg_mjcf_put_name(tg_mjcf_writer *w, tg_element element, int index);
void tg_mjcf_put_reference(tg_mjcf_writer *w, const char *attribute, tg_element element, int index);

/* ---- sections ---- */

void tg_mjcf_write_assets(tg_mjcf_writer *w); /* write_tree.c */
void tg_mjcf_write_world(tg_mjcf_writer *w);
void tg_mjcf_write_contact(tg_mjcf_writer *w); /* write_parts.c */
void tg_mjcf_write_tendons(tg_mjcf_writer *w);
void tg_mjcf_write_equalities(tg_mjcf_writer *w);
void tg_mjcf_write_actuators(tg_mjcf_writer *w);
void tg_mjcf_write_keys(tg_mjcf_writer *w);

/* Named sites that are the two anchors of an equality between bodies, so that it can be written with sites; false when
 * there are none. */
bool tg_mjcf_anchor_sites(const tg_mjcf_writer *w, int equality, int site[2]);

/* Marks everything that others refer to. */
void tg_mjcf_mark_references(tg_mjcf_writer *w);

/* ---- write_check.c ---- */

/* Compares the structure of the model with that of what was read back; refuses with what is different. */
tg_status tg_mjcf_compare(const tg_mjcf_writer *w, const tg_model *back);

/* The custom section: what came back different. */
void tg_mjcf_write_custom(tg_mjcf_writer *w, const tg_model *back);

#endif
