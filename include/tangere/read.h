/* Models from files, and files of models: MJCF and URDF are read, MJCF is written. docs/formats.md lists the
 * supported elements. */
#ifndef TANGERE_READ_H
#define TANGERE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "tangere/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading files ---- */

typedef struct tg_load_options
{
    bool strict; /* ignored physics is an error */

    /* URDF */
    const char *const *package_path; /* folders in which package:// is looked up, before TANGERE_PACKAGE_PATH and
                                        ROS_PACKAGE_PATH (lists with ':') and the folders above the file */
    int npackage_path;
    bool floating_base; /* the root link gets a free joint; otherwise it is fixed to the world */
    bool keep_fixed;    /* links on fixed joints stay separate bodies; otherwise they are merged into their parents */
    const char *srdf;   /* file whose disable_collisions become excludes; NULL: none */
    /* collision meshes that are missing, or in an unsupported format, are left out, with an entry in the report;
     * otherwise they are an error */
    bool ignore_missing_meshes;

    const tg_allocator *allocator;
    uint32_t cookie;
} tg_load_options;

/* Not strict; the C library's allocator. */
TG_API tg_load_options tg_default_load_options(void);

/* Reads a model from a file or from a string; the format is decided by the content. options may be NULL. dir is where
 * relative paths of a string start. NULL: the current folder, and the text, whose origin is unknown, may
 * not name files outside of it: an absolute path or one with ".." is refused. */
TG_API tg_status tg_load(const char *path, const tg_load_options *options, tg_model **m, tg_error *error);
TG_API tg_status tg_load_string(const char *text, size_t length, const char *dir, const tg_load_options *options,
                                tg_model **m, tg_error *error);

/* Adds the model of a file to a scene, as tg_scene_add_model does. options may be NULL. */
TG_API tg_status tg_scene_add(tg_scene *s, const char *path, const tg_load_options *options, const tg_attach_def *def);

/* ---- writing files ----
 *
 * A model as MJCF with these parameters (NULL: the model's own). Numbers have up to 17 digits. Parameters without an
 * MJCF attribute (restitution, compliance, a scaled mesh, ...) are written as custom numbers that tg_load understands.
 * Reading the text gives a model with the same structure, names and parameters, to the last bit (pairs and excludes
 * come in the order of their bodies), and writing that gives the same bytes. Bodies have their inertia, so geoms have
 * no mass. Vertices of meshes and elevations of height fields are rounded to single precision, as MJCF stores them;
 * quaternions of keyframes are written with unit length. The report is not kept. */
TG_API tg_status tg_save(const tg_model *m, const tg_params *params, const char *path, tg_error *error);

/* The same as a terminated text in new memory, to be freed by tg_save_string_free. length (without the terminator) may
 * be NULL. */
TG_API tg_status tg_save_string(const tg_model *m, const tg_params *params, const tg_allocator *allocator, char **text,
                                size_t *length, tg_error *error);
TG_API void tg_save_string_free(const tg_allocator *allocator, char *text);

#ifdef __cplusplus
}
#endif

#endif
