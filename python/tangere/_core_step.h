/* The Stepper type, and the methods that give derivatives of its last step (_core_gradient.c). */
#ifndef TG_PYTHON_CORE_STEP_H
#define TG_PYTHON_CORE_STEP_H

#include "_core.h"

#include "tangere/step.h"

typedef struct tg_py_stepper
{
    PyObject_HEAD tg_py_model *model;
    tg_py_loan loan;
    tg_options options;
    PyObject *solver;  /* keeps the name that options point to */
    int most_contacts; /* a step that finds more is refused */
    bool busy;         /* a step is under way, perhaps in another thread */
} tg_py_stepper;

/* False with an exception set while another thread takes a step. */
bool tg_py_stepper_idle(const tg_py_stepper *self);

PyObject *tg_py_stepper_jacobian(PyObject *object, PyObject *index);
PyObject *tg_py_stepper_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
PyObject *tg_py_stepper_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs);

#endif
