/* Derivatives of a Stepper's last step: matrices, reverse mode, forward mode. */
#include "_core_step.h"

enum
{
    MATRICES = 35,
    MAX_FIELDS = 39
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
        numbers = Py_BuildValue("sdddO", tg_label_string(label->kind), label->margin, label->condition, label->residual,
                                label->twofold ? Py_True : Py_False);
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

/* What is asked for beside states, controls and forces. */
typedef struct request
{
    PyArrayObject *index; /* parameters */
    int dt, contacts, wrench, given;
} request;

/* a row of matrices: of nv, na or 3 a contact rows */
static void fields_of(tg_py_field *f, const tg_sizes *n, double **at[7], npy_intp rows, const request *r)
{
    const npy_intp columns[7] = {n->nv, n->nv, n->na, n->nu, n->nv, 0, PyArray_SIZE(r->index)};
    for (int i = 0; i < 7; ++i)
        f[i] = (tg_py_field){at[i], i == 5 && !r->dt ? 0 : rows, columns[i], i == 5 ? 1 : 2};
}

/* the kind of each parameter's derivative */
static PyObject *labels_of(tg_py_stepper *self, const int *index, int count)
{
    enum
    {
        FEW = 64
    };
    tg_label_kind few[FEW], *kind = count <= FEW ? few : PyMem_RawMalloc(sizeof *kind * (size_t)count);
    if (kind == NULL)
        return PyErr_NoMemory();
    PyObject *list = NULL;
    tg_status status = count > 0 ? tg_step_param_labels(self->model->m, self->loan.work, index, count, kind) : TG_OK;
    if (status != TG_OK)
        tg_py_raise(status, tg_work_message(self->loan.work));
    else
        list = PyList_New(count);
    for (int i = 0; list != NULL && i < count; ++i)
    {
        PyObject *name = PyUnicode_InternFromString(tg_label_string(kind[i]));
        if (name == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, name);
    }
    if (kind != few)
        PyMem_RawFree(kind);
    return list;
}

static PyObject *jacobian_of(tg_py_stepper *self, const request *r)
{
    const tg_sizes *n = &self->model->size;
    tg_jacobian j = {.index = PyArray_DATA(r->index), .nindex = (int)PyArray_SIZE(r->index)};
    double **at[5][7] = {
        {&j.dq_dq, &j.dq_dv, &j.dq_dact, &j.dq_du, &j.dq_dtau, &j.dq_ddt, &j.dq_dparams},
        {&j.dv_dq, &j.dv_dv, &j.dv_dact, &j.dv_du, &j.dv_dtau, &j.dv_ddt, &j.dv_dparams},
        {&j.dact_dq, &j.dact_dv, &j.dact_dact, &j.dact_du, &j.dact_dtau, &j.dact_ddt, &j.dact_dparams},
        {&j.dforce_dq, &j.dforce_dv, &j.dforce_dact, &j.dforce_du, &j.dforce_dtau, &j.dforce_ddt, &j.dforce_dparams},
        {&j.dpoint_dq, &j.dpoint_dv, &j.dpoint_dact, &j.dpoint_du, &j.dpoint_dtau, &j.dpoint_ddt, &j.dpoint_dparams}};
    tg_status status = TG_OK;
    if (r->contacts)
        status = tg_step_contacts(self->model->m, self->loan.work, NULL, 0, &j.ncontact);
    if (status != TG_OK)
        return tg_py_raise(status, tg_work_message(self->loan.work));
    const npy_intp rows[5] = {n->nv, n->nv, n->na, (npy_intp)3 * j.ncontact, (npy_intp)3 * j.ncontact};
    tg_py_field fields[MAX_FIELDS];
    for (int i = 0; i < 5; ++i)
        fields_of(fields + 7 * i, n, at[i], rows[i], r);
    double **by_wrench[2] = {&j.dq_dwrench, &j.dv_dwrench};
    for (int i = 0; i < 2; ++i)
        fields[MATRICES + i] = (tg_py_field){by_wrench[i], r->wrench ? n->nv : 0, (npy_intp)6 * n->nbody, 2};
    double **by_contact[2] = {&j.dq_dcontact, &j.dv_dcontact};
    for (int i = 0; i < 2; ++i)
        fields[MATRICES + 2 + i] =
            (tg_py_field){by_contact[i], r->given ? n->nv : 0, (npy_intp)TG_GIVEN_NUMBERS * self->given, 2};
    PyObject *tuple = tg_py_new_fields(fields, MAX_FIELDS, 2);
    if (tuple == NULL)
        return NULL;
    for (int i = 0; i < MAX_FIELDS; ++i) /* what is empty is not wanted */
        if (fields[i].rows == 0)
            *fields[i].at = NULL;
    tuple = tg_py_finish(self, tuple, tg_step_jacobian(self->model->m, self->loan.work, &j), &j.label);
    PyObject *labels = tuple != NULL ? labels_of(self, j.index, j.nindex) : NULL;
    if (labels == NULL)
        Py_CLEAR(tuple);
    else
        PyTuple_SET_ITEM(tuple, MAX_FIELDS, labels);
    return tuple;
}

PyObject *tg_py_stepper_param_labels(PyObject *object, PyObject *given)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    if (!tg_py_stepper_idle(self))
        return NULL;
    PyArrayObject *index = (PyArrayObject *)PyArray_FROMANY(given, NPY_INT, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (index == NULL)
        return NULL;
    PyObject *list = labels_of(self, PyArray_DATA(index), (int)PyArray_SIZE(index));
    Py_DECREF(index);
    return list;
}

PyObject *tg_py_stepper_jacobian(PyObject *object, PyObject *args)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    PyObject *given, *out = NULL;
    request r = {0};
    if (!tg_py_stepper_idle(self) || !PyArg_ParseTuple(args, "Opppp", &given, &r.dt, &r.contacts, &r.wrench, &r.given))
        return NULL;
    r.index = (PyArrayObject *)PyArray_FROMANY(given, NPY_INT, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (r.index != NULL)
        out = jacobian_of(self, &r);
    Py_XDECREF(r.index);
    return out;
}

/* ---- reverse and forward mode ---- */

PyObject *tg_py_stepper_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    enum
    {
        GIVEN = 6
    };
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    tg_cotangent out = {0}, in = {0};
    tg_label label = {0};
    int contacts = 0;
    if (nargs != GIVEN)
        return PyErr_Format(PyExc_TypeError, "vjp() takes %d arguments, got %zd", GIVEN, nargs);
    if (!tg_py_stepper_idle(self))
        return NULL;
    tg_status status = tg_step_contacts(self->model->m, self->loan.work, NULL, 0, &contacts);
    if (status != TG_OK)
        return tg_py_raise(status, tg_work_message(self->loan.work));
    npy_intp three = (npy_intp)3 * contacts;
    tg_py_argument given[GIVEN] = {{"gq", n->nv, &out.q, NULL},           {"gv", n->nv, &out.v, NULL},
                                   {"gact", n->na, &out.act, NULL},       {"gforce", three, &out.force, NULL},
                                   {"gtorque", three, &out.torque, NULL}, {"gpoint", three, &out.point, NULL}};
    const tg_py_field fields[9] = {{&in.q, n->nv, 0, 1},
                                   {&in.v, n->nv, 0, 1},
                                   {&in.act, n->na, 0, 1},
                                   {&in.u, n->nu, 0, 1},
                                   {&in.tau, n->nv, 0, 1},
                                   {&in.wrench, n->nbody, 6, 2},
                                   {&in.contact, self->given, TG_GIVEN_NUMBERS, 2},
                                   {&in.dt, 1, 0, 1},
                                   {&in.params, n->nparams, 0, 1}};
    PyObject *tuple = NULL;
    if (tg_py_take(given, GIVEN, args) && (tuple = tg_py_new_fields(fields, 9, 1)) != NULL)
        tuple = tg_py_finish(self, tuple, tg_step_vjp(self->model->m, self->loan.work, &out, &in, &label), &label);
    tg_py_drop(given, GIVEN);
    return tuple;
}

PyObject *tg_py_stepper_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    tg_cotangent out = {0}, in = {0};
    tg_label label = {0};
    tg_py_argument given[9] = {{"q", n->nv, &in.q, NULL},
                               {"v", n->nv, &in.v, NULL},
                               {"act", n->na, &in.act, NULL},
                               {"u", n->nu, &in.u, NULL},
                               {"tau", n->nv, &in.tau, NULL},
                               {"wrench", (npy_intp)6 * n->nbody, &in.wrench, NULL},
                               {"dt", 1, &in.dt, NULL},
                               {"params", n->nparams, &in.params, NULL},
                               {"contact", (npy_intp)TG_GIVEN_NUMBERS * self->given, &in.contact, NULL}};
    const tg_py_field fields[3] = {{&out.q, n->nv, 0, 1}, {&out.v, n->nv, 0, 1}, {&out.act, n->na, 0, 1}};
    PyObject *tuple = NULL;
    if (nargs != 9)
        return PyErr_Format(PyExc_TypeError, "jvp() takes 9 arguments, got %zd", nargs);
    if (tg_py_stepper_idle(self) && tg_py_take(given, 9, args) && (tuple = tg_py_new_fields(fields, 3, 1)) != NULL)
        tuple = tg_py_finish(self, tuple, tg_step_jvp(self->model->m, self->loan.work, &in, &out, &label), &label);
    tg_py_drop(given, 9);
    return tuple;
}
