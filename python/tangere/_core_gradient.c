/* Derivatives of a Stepper's last step: matrices, reverse mode, forward mode. */
#include "_core_step.h"

enum
{
    MAX_FIELDS = 21
};

/* ---- arrays ---- */

PyObject *tg_py_new_fields(const tg_py_field *f, int count, int more)
{
    PyObject *tuple = PyTuple_New(count + more);
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

PyObject *tg_py_finish(tg_py_stepper *self, PyObject *tuple, tg_status status, const tg_label *label)
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

bool tg_py_take(tg_py_argument *in, int count, PyObject *const *args)
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

void tg_py_drop(tg_py_argument *in, int count)
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
    const tg_py_field fields[MAX_FIELDS] = {
        {&j.dq_dq, nv, nv, 2},       {&j.dq_dv, nv, nv, 2},      {&j.dq_dact, nv, na, 2},    {&j.dq_du, nv, nu, 2},
        {&j.dq_dtau, nv, nv, 2},     {&j.dq_ddt, nv, 0, 1},      {&j.dq_dparams, nv, np, 2}, {&j.dv_dq, nv, nv, 2},
        {&j.dv_dv, nv, nv, 2},       {&j.dv_dact, nv, na, 2},    {&j.dv_du, nv, nu, 2},      {&j.dv_dtau, nv, nv, 2},
        {&j.dv_ddt, nv, 0, 1},       {&j.dv_dparams, nv, np, 2}, {&j.dact_dq, na, nv, 2},    {&j.dact_dv, na, nv, 2},
        {&j.dact_dact, na, na, 2},   {&j.dact_du, na, nu, 2},    {&j.dact_dtau, na, nv, 2},  {&j.dact_ddt, na, 0, 1},
        {&j.dact_dparams, na, np, 2}};
    PyObject *tuple = tg_py_new_fields(fields, MAX_FIELDS, 1);
    if (tuple == NULL)
        return NULL;
    return tg_py_finish(self, tuple, tg_step_jacobian(self->model->m, self->loan.work, &j), &j.label);
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
    tg_py_argument given[3] = {
        {"gq", n->nv, &out.q, NULL}, {"gv", n->nv, &out.v, NULL}, {"gact", n->na, &out.act, NULL}};
    const tg_py_field fields[8] = {{&in.q, n->nv, 0, 1}, {&in.v, n->nv, 0, 1},          {&in.act, n->na, 0, 1},
                                   {&in.u, n->nu, 0, 1}, {&in.tau, n->nv, 0, 1},        {&in.wrench, n->nbody, 6, 2},
                                   {&in.dt, 1, 0, 1},    {&in.params, n->nparams, 0, 1}};
    PyObject *tuple = NULL;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "vjp() takes 3 arguments, got %zd", nargs);
    if (tg_py_stepper_idle(self) && tg_py_take(given, 3, args) && (tuple = tg_py_new_fields(fields, 8, 1)) != NULL)
        tuple = tg_py_finish(self, tuple, tg_step_vjp(self->model->m, self->loan.work, &out, &in, &label), &label);
    tg_py_drop(given, 3);
    return tuple;
}

PyObject *tg_py_stepper_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    tg_cotangent out = {0}, in = {0};
    tg_label label = {0};
    tg_py_argument given[8] = {{"q", n->nv, &in.q, NULL},     {"v", n->nv, &in.v, NULL},
                               {"act", n->na, &in.act, NULL}, {"u", n->nu, &in.u, NULL},
                               {"tau", n->nv, &in.tau, NULL}, {"wrench", (npy_intp)6 * n->nbody, &in.wrench, NULL},
                               {"dt", 1, &in.dt, NULL},       {"params", n->nparams, &in.params, NULL}};
    const tg_py_field fields[3] = {{&out.q, n->nv, 0, 1}, {&out.v, n->nv, 0, 1}, {&out.act, n->na, 0, 1}};
    PyObject *tuple = NULL;
    if (nargs != 8)
        return PyErr_Format(PyExc_TypeError, "jvp() takes 8 arguments, got %zd", nargs);
    if (tg_py_stepper_idle(self) && tg_py_take(given, 8, args) && (tuple = tg_py_new_fields(fields, 3, 1)) != NULL)
        tuple = tg_py_finish(self, tuple, tg_step_jvp(self->model->m, self->loan.work, &in, &out, &label), &label);
    tg_py_drop(given, 8);
    return tuple;
}
