/* Scenes: one model made from several models and simple bodies.
 *
 * Create a scene, add models at poses, floors, height fields and simple bodies, then build. Building does not change a
 * scene; it can be built again. A function that fails stores a message in the scene (tg_scene_message). */
#ifndef TANGERE_SCENE_H
#define TANGERE_SCENE_H

#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_scene tg_scene;

/* Pose and name prefix of an added model. */
typedef struct tg_attach_def
{
    /* NULL or "": names are unchanged. A prefix that ends in a letter or digit is joined with '/': "left" makes
     * "left/arm" of "arm"; any other is used as it is: "left_" makes "left_arm" */
    const char *prefix;
    double pos[3], quat[4]; /* of the model's world in the scene's; default: the same */
    const char *label;      /* what messages call the model; NULL: its file, or its name */
    uint32_t cookie;
} tg_attach_def;

/* A body with one geom. */
typedef struct tg_prop_def
{
    const char *name; /* of the body, of its free joint, and of the geom unless that has its own */
    bool fixed;       /* to the world; otherwise it moves freely */
    double pos[3], quat[4];
    tg_geom_def geom; /* pose in the body, shape, mass or density, friction, ...; its body is not used */
    uint32_t cookie;
} tg_prop_def;

TG_API tg_attach_def tg_default_attach(void);
TG_API tg_prop_def tg_default_prop(void);
TG_API tg_geom_def tg_default_floor(void); /* a plane at z = 0 named "floor" */

TG_API tg_status tg_scene_create(const tg_allocator *allocator, tg_scene **s, tg_error *error);
TG_API void tg_scene_destroy(tg_scene *s);              /* NULL is allowed */
TG_API const char *tg_scene_message(const tg_scene *s); /* of the last failure; "" if there was none */

/* Properties of the scene, in place of those of its parts: name (default "scene"), gravity (0 0 -9.81), time step
 * (0.002 s). */
TG_API tg_status tg_scene_name(tg_scene *s, const char *name);
TG_API tg_status tg_scene_gravity(tg_scene *s, const double gravity[3]);
TG_API tg_status tg_scene_timestep(tg_scene *s, double dt);

/* Adds a model with all its elements: bodies and geoms that are fixed to its world are fixed to the scene's, at the
 * pose. Every number is the one of params (NULL: the model's own), except where the pose moves it: bodies, geoms and
 * sites on the world, equalities with the world, free joints in keyframes. The model can be destroyed afterwards. The
 * same model can be added again with another prefix. (From a file: tg_scene_add in tangere/read.h.) */
TG_API tg_status tg_scene_add_model(tg_scene *s, const tg_model *m, const tg_params *params, const tg_attach_def *def);

/* Adds a body with a geom; *body (may be NULL) is its id in the builder. */
TG_API tg_status tg_scene_prop(tg_scene *s, const tg_prop_def *def, int *body);

/* Adds a plane to the world. geom may be NULL: tg_default_floor(). */
TG_API tg_status tg_scene_floor(tg_scene *s, const tg_geom_def *geom);

/* Adds a height field to the world. geom: its pose, friction, ...; NULL: tg_default_geom(). */
TG_API tg_status tg_scene_hfield(tg_scene *s, const tg_hfield_def *def, const tg_geom_def *geom);

/* The builder of the scene, for everything else: a tendon between two robots, a weld, a site. Ids of added elements are
 * found by name (tg_builder_find). Keyframes are not added there: they are made when the scene is built. */
TG_API tg_builder *tg_scene_builder(tg_scene *s);

/* Makes the model.
 *
 * Keyframes: each keyframe of a part, under its name with the prefix, with everything else in the reference
 * configuration, at rest and without control; and for each name that several parts have, one without a prefix (if that
 * name is free) in which all of them take theirs.
 * Pairs and excludes come in the order of their bodies. The report has the lines of all parts, each once. */
TG_API tg_status tg_scene_build(tg_scene *s, tg_model **m);

#ifdef __cplusplus
}
#endif

#endif
