/* The Stepper type, and the methods that give derivatives of its last step (_core_gradient.c) and rollouts
 * (_core_rollout.c). */
#ifndef TG_PYTHON_CORE_STEP_H
#define TG_PYTHON_CORE_STEP_H

#include "_core.h"

#include "tangere/step.h"

typedef struct tg_py_stepper
{
    PyObject_HEAD tg_py_model *model;
    tg_py_loan loan;
    tg_options options;
    PyObject *solver;                /* keeps the name that options point to */
    int most_contacts;               /* a step that finds more is refused */
    int given;                       /* contacts from outside in its last step */
    bool busy;                       /* a step is under way, perhaps in another thread */
    tg_tape *tape;                   /* of its last rollout, or NULL */
    int steps;                       /* of that */
    int rows;                        /* of its controls */
    PyArrayObject *u, *tau, *wrench; /* its controls */
    PyArrayObject *contacts;         /* of all its steps, one after the other, or NULL: they find their own */
    tg_given_contacts *lists;        /* of its steps */
} tg_py_stepper;

/* Model and options as Python gives them: (model, dt, solver, law, eps, staggered_steps, tolerance, implicit_damping,
 * implicit_springs, implicit_actuators, project, poisson, backward, smooth_speed, smooth_width, smooth_reach,
 * push_speed, push_rate, lever, push_gain, reach, rest_speed, max_contacts). */
typedef struct tg_py_settings
{
    tg_py_model *model; /* new references, or NULL */
    PyObject *solver;   /* keeps the name that options point to */
    tg_options options;
    int most_contacts;
} tg_py_settings;

/* False with an exception set; what is in out is to be given up then, too. */
bool tg_py_read_settings(PyObject *args, tg_py_settings *out);

/* False with an exception set while another thread takes a step. */
bool tg_py_stepper_idle(const tg_py_stepper *self);

/* The parameters that the model has now; they stay alive as long as the workspace points at them. False with an
 * exception set. */
bool tg_py_stepper_follow(tg_py_stepper *self);

/* A larger workspace in place of the one that was too small for the last step. False with an exception set if that was
 * not the reason of the failure, or if there is a limit or no memory. */
bool tg_py_stepper_grow(tg_py_stepper *self);

/* A read-only array of the entries of a cache; NULL with an exception set. */
PyObject *tg_py_cache_array(const tg_cache *cache);

/* Arrays that the library's struct points into. */
typedef struct tg_py_field
{
    double **at; /* where the library finds it */
    npy_intp rows, cols;
    int ndim;
} tg_py_field;

/* A tuple of new arrays, zero, with `more` further places; NULL with an exception set. */
PyObject *tg_py_new_fields(const tg_py_field *f, int count, int more);

/* Puts the label, (kind, margin, condition, residual), at the end; or the exception of a failure in place of all. */
PyObject *tg_py_finish(tg_py_stepper *self, PyObject *tuple, tg_status status, const tg_label *label);

typedef struct tg_py_argument
{
    const char *name;
    npy_intp length;
    double **at;
    PyArrayObject *array;
} tg_py_argument;

/* None leaves *at alone. False with an exception set. */
bool tg_py_take(tg_py_argument *in, int count, PyObject *const *args);
void tg_py_drop(tg_py_argument *in, int count);

/* An array of contacts from outside; NULL with an exception set. */
PyArrayObject *tg_py_given_array(PyObject *given);

void tg_py_drop_tape(tg_py_stepper *self);
PyObject *tg_py_stepper_rollout(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
PyObject *tg_py_stepper_rollout_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
PyObject *tg_py_stepper_rollout_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
PyObject *tg_py_stepper_rollout_return(PyObject *object, PyObject *step);
PyObject *tg_py_stepper_rollout_labels(PyObject *object, PyObject *unused);

PyObject *tg_py_stepper_jacobian(PyObject *object, PyObject *args);
PyObject *tg_py_stepper_param_labels(PyObject *object, PyObject *given);
PyObject *tg_py_stepper_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
PyObject *tg_py_stepper_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs);

#endif
