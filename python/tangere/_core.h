/* Inside of the extension module tangere._core.
 *
 * Everything here runs with the GIL held, unless a comment says that it is released: the GIL is what guards the free
 * list of workspaces and the swap of the parameters of a model. */
#ifndef TG_PYTHON_CORE_H
#define TG_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tg_py_numpy
#ifndef TG_PY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "tangere/tangere.h"

/* ---- model ---- */

typedef struct tg_py_model
{
    PyObject_HEAD PyObject *owner; /* capsule that owns the tg_model; copies of a model share it */
    const tg_model *m;             /* what is in owner */
    tg_sizes size;
    PyObject *params; /* capsule with the current tg_params; never changed once it stands here, only replaced */
    PyObject *spare;  /* capsule of a former tg_params that nobody else holds, or NULL */
    tg_work **idle;   /* workspaces that no call is using */
    int nidle, capacity;
} tg_py_model;

extern PyTypeObject tg_py_model_type;

/* A Model of class type, with the default parameters, that owns m; NULL with an exception set, and m destroyed. */
PyObject *tg_py_model_of(PyTypeObject *type, tg_model *m);

/* What is in the params of a model. */
const tg_params *tg_py_params(PyObject *capsule);

/* What a call borrows from its model: a workspace that is its own until it is given back, and the parameters. */
typedef struct tg_py_loan
{
    tg_work *work;
    PyObject *params;
} tg_py_loan;

/* False with an exception set if there is no memory. */
bool tg_py_borrow(tg_py_model *self, tg_py_loan *loan);
void tg_py_give_back(tg_py_model *self, tg_py_loan *loan);

/* The index of an element given by name or by number; -1 with an exception set. */
int tg_py_element(const tg_py_model *self, tg_element element, PyObject *name);

/* A list of the names of all elements of a kind. */
PyObject *tg_py_names(const tg_py_model *self, tg_element element);

/* ---- errors (tangere/_errors.py) ---- */

/* Sets the exception that belongs to a status and returns NULL. */
PyObject *tg_py_raise(tg_status status, const char *message);

/* Sets UnknownNameError, with the known names that are close to the unknown one, and returns NULL. */
PyObject *tg_py_raise_unknown(const char *kind, PyObject *name, PyObject *known);

/* Looks the exception classes up; once, when the module is made. */
bool tg_py_errors_init(void);

/* ---- arrays ---- */

/* value as a C-contiguous float64 array of one dimension: value itself if it is one, otherwise a converted copy. NULL
 * with an exception that names the argument if it is not numbers or not of that length. */
PyArrayObject *tg_py_input(PyObject *value, const char *name, npy_intp length);

/* A new array if out is None, else out itself, which must be writeable, C-contiguous, float64 and of that shape. */
PyArrayObject *tg_py_output(PyObject *out, const char *name, int ndim, const npy_intp *shape);

/* Do two C-contiguous arrays share memory? */
bool tg_py_overlap(PyArrayObject *a, PyArrayObject *b);

/* A read-only array over memory that base keeps alive. Steals nothing. */
PyObject *tg_py_view(PyObject *base, const double *data, npy_intp length);

/* ---- methods that compute ---- */

/* Adds the methods of the table in _core_dynamics.c to the Model type, and the types of their results to the module. */
bool tg_py_dynamics_init(PyObject *module);

/* Adds a method to the Model type; call PyType_Modified afterwards. The definition must stay where it is. */
bool tg_py_add_method(PyMethodDef *definition);

/* ---- contacts and distances (_core_collide.c) ---- */

/* Adds the methods behind Model.collide to the Model type, and the functions behind Shape to the module. */
bool tg_py_collide_init(PyObject *module);

/* ---- steps (_core_step.c) ---- */

/* Adds the Stepper type to the module. */
bool tg_py_step_init(PyObject *module);

/* ---- checks (_core_check.c) ---- */

/* Adds the method behind tangere.check to the Model type. */
bool tg_py_check_init(void);

/* ---- looks (_core_looks.c) ---- */

/* Adds the method behind tangere.view to the Model type. */
bool tg_py_looks_init(void);

/* ---- Cartesian systems (_core_cartesian.c) ---- */

/* Adds the Cartesian type to the module. */
bool tg_py_cartesian_init(PyObject *module);

/* ---- scenes and files (_core_scene.c) ---- */

/* Adds the Scene type to the module, and the method that writes a model to the Model type. */
bool tg_py_scene_init(PyObject *module);

#endif
