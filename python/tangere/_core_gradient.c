/* Derivatives of a Stepper's last step: matrices, reverse mode, forward mode. */
#include "_core_step.h"

enum
{
    MAX_FIELDS = 21
};

/* ---- arrays ---- */

typedef struct field
{
    double **at; /* where the library finds it */
    npy_intp rows, cols;
    int ndim;
} field;

/* A tuple of new arrays, zero, that the library's struct points into; NULL with an exception set. One more place for the label. */
static PyObject *new_fields(const field *f, int count)
{
    PyObject *tuple = PyTuple_New(count + 1);
    for (int i = 0; tuple != NULL && i < count; ++i)
    {
        const npy_intp shape[2] = {f[i].rows, f[i].cols};
        PyObject *array = PyArray_ZEROS(f[i].ndim, shape, NPY_DOUBLE, 0);
        if (array == NULL)
            Py_CLEAR(tuple);
        else
        {
            PyTuple_SET_ITEM(tuple, i, array);
            *f[i].at = PyArray_DATA((PyArrayObject *)array);
        }
    }
    return tuple;
}

/* Puts the label, (kind, margin, condition, residual), at the end; or the exception of a failure in place of all. */
static PyObject *finish(tg_py_stepper *self, PyObject *tuple, tg_status status, const tg_label *label)
{
    PyObject *numbers = NULL;
    if (status != TG_OK)
        tg_py_raise(status, tg_work_message(self->loan.work));
    else
        numbers = Py_BuildValue("sddd", tg_label_string(label->kind), label->margin, label->condition, label->residual);
    if (numbers == NULL)
        Py_CLEAR(tuple);
    else
        PyTuple_SET_ITEM(tuple, PyTuple_GET_SIZE(tuple) - 1, numbers);
    return tuple;
}

typedef struct input
{
    const char *name;
    npy_intp length;
    double **at;
    PyArrayObject *array;
} input;

static bool take_inputs(input *in, int count, PyObject *const *args)
{
    for (int i = 0; i < count; ++i)
    {
        if (args[i] == Py_None)
            continue;
        in[i].array = tg_py_input(args[i], in[i].name, in[i].length);
        if (in[i].array == NULL)
            return false;
        *in[i].at = PyArray_DATA(in[i].array);
    }
    return true;
}

static void drop_inputs(input *in, int count)
{
    for (int i = 0; i < count; ++i)
        Py_XDECREF(in[i].array);
}

/* ---- matrices ---- */

static PyObject *jacobian_of(tg_py_stepper *self, PyArrayObject *index)
{
    const tg_sizes *n = &self->model->size;
    npy_intp nv = n->nv, na = n->na, nu = n->nu, np = PyArray_SIZE(index);
    tg_jacobian j = {.index = PyArray_DATA(index), .nindex = (int)np};
    const field fields[MAX_FIELDS] = {
        {&j.dq_dq, nv, nv, 2},       {&j.dq_dv, nv, nv, 2},      {&j.dq_dact, nv, na, 2},    {&j.dq_du, nv, nu, 2},
        {&j.dq_dtau, nv, nv, 2},     {&j.dq_ddt, nv, 0, 1},      {&j.dq_dparams, nv, np, 2}, {&j.dv_dq, nv, nv, 2},
        {&j.dv_dv, nv, nv, 2},       {&j.dv_dact, nv, na, 2},    {&j.dv_du, nv, nu, 2},      {&j.dv_dtau, nv, nv, 2},
        {&j.dv_ddt, nv, 0, 1},       {&j.dv_dparams, nv, np, 2}, {&j.dact_dq, na, nv, 2},    {&j.dact_dv, na, nv, 2},
        {&j.dact_dact, na, na, 2},   {&j.dact_du, na, nu, 2},    {&j.dact_dtau, na, nv, 2},  {&j.dact_ddt, na, 0, 1},
        {&j.dact_dparams, na, np, 2}};
    PyObject *tuple = new_fields(fields, MAX_FIELDS);
    if (tuple == NULL)
        return NULL;
    return finish(self, tuple, tg_step_jacobian(self->model->m, self->loan.work, &j), &j.label);
}

PyObject *tg_py_stepper_jacobian(PyObject *object, PyObject *given)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    if (!tg_py_stepper_idle(self))
        return NULL;
    PyArrayObject *index = (PyArrayObject *)PyArray_FROMANY(given, NPY_INT, 1, 1, NPY_ARRAY_IN_ARRAY);
    PyObject *out = index != NULL ? jacobian_of(self, index) : NULL;
    Py_XDECREF(index);
    return out;
}

/* ---- reverse and forward mode ---- */

PyObject *tg_py_stepper_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    tg_cotangent out = {0}, in = {0};
    tg_label label = {0};
    input given[3] = {{"gq", n->nv, &out.q, NULL}, {"gv", n->nv, &out.v, NULL}, {"gact", n->na, &out.act, NULL}};
    const field fields[8] = {{&in.q, n->nv, 0, 1}, {&in.v, n->nv, 0, 1},          {&in.act, n->na, 0, 1},
                             {&in.u, n->nu, 0, 1}, {&in.tau, n->nv, 0, 1},        {&in.wrench, n->nbody, 6, 2},
                             {&in.dt, 1, 0, 1},    {&in.params, n->nparams, 0, 1}};
    PyObject *tuple = NULL;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "vjp() takes 3 arguments, got %zd", nargs);
    if (tg_py_stepper_idle(self) && take_inputs(given, 3, args) && (tuple = new_fields(fields, 8)) != NULL)
        tuple = finish(self, tuple, tg_step_vjp(self->model->m, self->loan.work, &out, &in, &label), &label);
    drop_inputs(given, 3);
    return tuple;
}

PyObject *tg_py_stepper_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    tg_cotangent out = {0}, in = {0};
    tg_label label = {0};
    input given[8] = {{"q", n->nv, &in.q, NULL},     {"v", n->nv, &in.v, NULL},
                      {"act", n->na, &in.act, NULL}, {"u", n->nu, &in.u, NULL},
                      {"tau", n->nv, &in.tau, NULL}, {"wrench", (npy_intp)6 * n->nbody, &in.wrench, NULL},
                      {"dt", 1, &in.dt, NULL},       {"params", n->nparams, &in.params, NULL}};
    const field fields[3] = {{&out.q, n->nv, 0, 1}, {&out.v, n->nv, 0, 1}, {&out.act, n->na, 0, 1}};
    PyObject *tuple = NULL;
    if (nargs != 8)
        return PyErr_Format(PyExc_TypeError, "jvp() takes 8 arguments, got %zd", nargs);
    if (tg_py_stepper_idle(self) && take_inputs(given, 8, args) && (tuple = new_fields(fields, 3)) != NULL)
        tuple = finish(self, tuple, tg_step_jvp(self->model->m, self->loan.work, &in, &out, &label), &label);
    drop_inputs(given, 8);
    return tuple;
}
