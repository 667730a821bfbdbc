/* The table of parameter fields and the work on a parameter vector that the builder and tg_params_changed share. */
#ifndef TG_MODEL_PARAMS_H
#define TG_MODEL_PARAMS_H

#include "base/arena.h"
#include "model/model.h"

/* What a field's numbers may be. All are finite. */
typedef enum tg_domain
{
    TG_DOMAIN_FINITE,
    TG_DOMAIN_NONNEGATIVE,
    TG_DOMAIN_POSITIVE,
    TG_DOMAIN_FRACTION,      /* above 0, at most 1 */
    TG_DOMAIN_UNIT_INTERVAL, /* 0 .. 1 */
    TG_DOMAIN_QUATERNION,    /* norm within 1e-3 of 1 */
    TG_DOMAIN_AXIS,          /* of a hinge or slide: not zero */
    TG_DOMAIN_INERTIA,       /* positive semidefinite, principal moments A + B >= C */
    TG_DOMAIN_RANGE,         /* where the limit is on: first below second; ball: first 0, second positive */
    TG_DOMAIN_ORDERED,       /* first not above second */
    TG_DOMAIN_GEOM_SIZE,     /* positive where the type has a size; sphere: not negative; mesh: not zero */
    TG_DOMAIN_COEF,          /* pulley: divisor positive */
    TG_DOMAIN_TAU,           /* with a filter: positive */
    TG_DOMAIN_EQUALITY,      /* weld: quaternion as above, torque scale not negative */
    TG_DOMAIN_HFIELD_SIZE    /* positive; depth of the base: not negative */
} tg_domain;

/* The fields in the order of the vector. */
typedef enum tg_field
{
#define X(ELEMENT, element, field, size, DOMAIN, doc) TG_FIELD_##element##_##field,
#include "model/params.def"
#undef X
    TG_FIELD_COUNT
} tg_field;

typedef struct tg_field_info
{
    tg_element element; /* TG_ELEMENT_COUNT: of the model as a whole */
    const char *name;   /* "mass"; "gravity" */
    int size;           /* numbers an element; 0: ragged */
    tg_domain domain;
} tg_field_info;

extern const tg_field_info tg_fields[TG_FIELD_COUNT];

/* How many elements of a kind there are; 1 for TG_ELEMENT_COUNT. */
int tg_element_count(const tg_model *m, tg_element element);

/* tg_find for a name that is not terminated. */
int tg_find_length(const tg_model *m, tg_element element, const char *name, size_t length);

/* How many numbers field has for element index. */
int tg_field_size(const tg_model *m, tg_field field, int index);

/* Sets m->nslice, m->nparams and m->offset from the element counts (m->npath is the size of tendon.coef). */
void tg_params_measure(tg_model *m);

/* Fills m->slice, after the topology is known. */
void tg_params_slices(tg_model *m);

/* The slice of element index of field. */
int tg_param_slice_of(const tg_model *m, tg_field field, int index);

/* The geom that number offset of the vector belongs to; -1: it is not a geom's. */
int tg_geom_of_param(const tg_model *m, int offset);

/* Places params and its arrays in the arena; NULL while the arena counts. */
tg_params *tg_params_place(tg_arena *arena, const tg_model *m);

/* Element numbers for messages: origin[element][index], where origin[element] is not NULL; else index itself. */
typedef struct tg_origin
{
    const int *of[TG_ELEMENT_COUNT];
} tg_origin;

/* "body.trunk.mass" of the slice, with "[component]" unless component is -1; cut if it does not fit. */
void tg_slice_name(const tg_model *m, int slice, int component, const tg_origin *origin, char *name, size_t size);

/* Validates the numbers of the vector field by field. origin may be NULL. */
tg_status tg_params_check(const tg_params *p, const tg_origin *origin, tg_error *error);

/* Refuses parameters with a dof that no inertia resists: the diagonal of the mass matrix in the reference
 * configuration. Needs tg_params_derive. */
tg_status tg_params_check_inertia(const tg_params *p, const tg_origin *origin, tg_error *error);

/* Recomputes everything that is derived from the vector. */
void tg_params_derive(tg_params *p);

#endif
