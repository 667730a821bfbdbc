/* Workspaces of quadratic programs, behind tangere.qcqp. Arrays come from qcqp.py: C-contiguous, float64, of the right
 * sizes; what is not is refused here again. One call at a time: qcqp.py holds a lock. */
#include "_core.h"

typedef struct workspace
{
    PyObject_HEAD tg_qcqp *q;
} workspace;

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *names)
{
    (void)names;
    tg_qcqp_def def = tg_default_qcqp();
    PyArrayObject *sizes;
    int nonnegative, semidefinite;
    if (!PyArg_ParseTuple(args, "pO!idp:Qcqp", &nonnegative, &PyArray_Type, &sizes, &def.threads, &def.tolerance,
                          &semidefinite))
        return NULL;
    if (PyArray_TYPE(sizes) != NPY_INT || !PyArray_IS_C_CONTIGUOUS(sizes))
        return PyErr_Format(PyExc_TypeError, "Qcqp: sizes must be contiguous integers");
    workspace *self = (workspace *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    tg_error error;
    def.kind = nonnegative ? TG_QCQP_NONNEGATIVE : TG_QCQP_BALLS;
    def.blocks = (int)PyArray_SIZE(sizes);
    def.sizes = PyArray_DATA(sizes);
    def.semidefinite = semidefinite != 0;
    tg_status status = tg_qcqp_create(&def, &self->q, &error);
    if (status == TG_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return tg_py_raise(status, error.message);
}

static void drop(PyObject *object)
{
    tg_qcqp_destroy(((workspace *)object)->q);
    Py_TYPE(object)->tp_free(object);
}

/* the numbers of an array of count entries; NULL: None. *ok becomes false for anything else. */
static double *numbers(PyObject *object, npy_intp count, const char *name, bool *ok)
{
    if (object == Py_None || !*ok)
        return NULL;
    PyArrayObject *a = (PyArrayObject *)object;
    if (PyArray_Check(object) && PyArray_TYPE(a) == NPY_DOUBLE && PyArray_IS_C_CONTIGUOUS(a) &&
        PyArray_SIZE(a) == count)
        return PyArray_DATA(a);
    PyErr_Format(PyExc_TypeError, "Qcqp: %s must be %zd contiguous float64 numbers", name, (Py_ssize_t)count);
    *ok = false;
    return NULL;
}

/* G, g, mu, l; from the first four of args */
static bool data_of(const workspace *self, int count, PyObject **arg, tg_qcqp_data *data)
{
    npy_intp n = tg_qcqp_rows(self->q), blocks = tg_qcqp_blocks(self->q);
    bool ok = true;
    *data = (tg_qcqp_data){.count = count,
                           .G = numbers(arg[0], count * n * n, "G", &ok),
                           .g = numbers(arg[1], count * n, "g", &ok),
                           .mu = numbers(arg[2], count * blocks, "mu", &ok),
                           .l = numbers(arg[3], count * blocks, "l", &ok)};
    return ok;
}

static bool tangent_of(const workspace *self, int count, PyObject **arg, tg_qcqp_tangent *t)
{
    npy_intp n = tg_qcqp_rows(self->q), blocks = tg_qcqp_blocks(self->q);
    bool ok = true;
    *t = (tg_qcqp_tangent){.G = numbers(arg[0], count * n * n, "dG", &ok),
                           .g = numbers(arg[1], count * n, "dg", &ok),
                           .mu = numbers(arg[2], count * blocks, "dmu", &ok),
                           .l = numbers(arg[3], count * blocks, "dl", &ok)};
    return ok;
}

static PyObject *done(const workspace *self, tg_status status)
{
    if (status != TG_OK)
        return tg_py_raise(status, tg_qcqp_message(self->q));
    Py_RETURN_NONE;
}

enum
{
    INFO = 7,
    LABEL = 4
};

static PyObject *solve(PyObject *object, PyObject *args)
{
    workspace *self = (workspace *)object;
    PyObject *a[7];
    int count;
    if (!PyArg_ParseTuple(args, "iOOOOOOO:solve", &count, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6]))
        return NULL;
    npy_intp n = tg_qcqp_rows(self->q);
    bool ok = true;
    tg_qcqp_data data;
    double *warm = numbers(a[4], count * n, "warm", &ok), *x = numbers(a[5], count * n, "x", &ok);
    double *out = numbers(a[6], (npy_intp)count * INFO, "info", &ok);
    if (!ok || !data_of(self, count, a, &data))
        return NULL;
    tg_qcqp_info *info = PyMem_RawCalloc((size_t)count + 1, sizeof *info);
    if (info == NULL)
        return PyErr_NoMemory();
    tg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tg_qcqp_solve(self->q, &data, warm, x, info);
    Py_END_ALLOW_THREADS;
    for (int i = 0; status == TG_OK && out != NULL && i < count; i++)
    {
        const double row[INFO] = {info[i].status,     info[i].newton,   info[i].interior, info[i].redundant,
                                  info[i].least_norm, info[i].residual, info[i].value};
        for (int k = 0; k < INFO; k++)
            out[INFO * (npy_intp)i + k] = row[k];
    }
    PyMem_RawFree(info);
    return done(self, status);
}

static void write_labels(int count, const tg_qcqp_label *label, double *out)
{
    for (int i = 0; out != NULL && i < count; i++)
    {
        const double row[LABEL] = {label[i].kind, label[i].margin, label[i].condition, label[i].residual};
        for (int k = 0; k < LABEL; k++)
            out[LABEL * (npy_intp)i + k] = row[k];
    }
}

/* count, G, g, mu, l, x, dG, dg, dmu, dl, dx, label */
static PyObject *product(PyObject *object, PyObject *args, bool reverse)
{
    workspace *self = (workspace *)object;
    PyObject *a[11];
    int count;
    if (!PyArg_ParseTuple(args, "iOOOOOOOOOOO", &count, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6], &a[7], &a[8],
                          &a[9], &a[10]))
        return NULL;
    npy_intp n = tg_qcqp_rows(self->q);
    bool ok = true;
    tg_qcqp_data data;
    tg_qcqp_tangent tangent;
    double *x = numbers(a[4], count * n, "x", &ok), *dx = numbers(a[9], count * n, "dx", &ok);
    double *out = numbers(a[10], (npy_intp)count * LABEL, "label", &ok);
    if (!ok || !data_of(self, count, a, &data) || !tangent_of(self, count, a + 5, &tangent))
        return NULL;
    tg_qcqp_label *label = PyMem_RawCalloc((size_t)count + 1, sizeof *label);
    if (label == NULL)
        return PyErr_NoMemory();
    tg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = reverse ? tg_qcqp_vjp(self->q, &data, x, dx, &tangent, label)
                     : tg_qcqp_jvp(self->q, &data, x, &tangent, dx, label);
    Py_END_ALLOW_THREADS;
    write_labels(count, label, status == TG_OK ? out : NULL);
    PyMem_RawFree(label);
    return done(self, status);
}

static PyObject *jvp(PyObject *object, PyObject *args)
{
    return product(object, args, false);
}

static PyObject *vjp(PyObject *object, PyObject *args)
{
    return product(object, args, true);
}

/* count, G, g, mu, l, x, dx_dG, dx_dg, dx_dmu, dx_dl, label */
static PyObject *jacobians(PyObject *object, PyObject *args)
{
    workspace *self = (workspace *)object;
    PyObject *a[10];
    int count;
    if (!PyArg_ParseTuple(args, "iOOOOOOOOOO:jacobians", &count, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6], &a[7],
                          &a[8], &a[9]))
        return NULL;
    npy_intp n = tg_qcqp_rows(self->q), blocks = tg_qcqp_blocks(self->q);
    bool ok = true;
    tg_qcqp_data data;
    double *x = numbers(a[4], count * n, "x", &ok), *out = numbers(a[9], (npy_intp)count * LABEL, "label", &ok);
    tg_qcqp_jacobian jacobian = {.dx_dG = numbers(a[5], count * n * n * n, "dx_dG", &ok),
                                 .dx_dg = numbers(a[6], count * n * n, "dx_dg", &ok),
                                 .dx_dmu = numbers(a[7], count * n * blocks, "dx_dmu", &ok),
                                 .dx_dl = numbers(a[8], count * n * blocks, "dx_dl", &ok)};
    if (!ok || !data_of(self, count, a, &data))
        return NULL;
    tg_qcqp_label *label = PyMem_RawCalloc((size_t)count + 1, sizeof *label);
    if (label == NULL)
        return PyErr_NoMemory();
    tg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tg_qcqp_jacobians(self->q, &data, x, &jacobian, label);
    Py_END_ALLOW_THREADS;
    write_labels(count, label, status == TG_OK ? out : NULL);
    PyMem_RawFree(label);
    return done(self, status);
}

static PyMethodDef methods[] = {
    {"solve", solve, METH_VARARGS, "solve($self, count, G, g, mu, l, warm, x, info, /)\n--\n\nWrites x and info."},
    {"jvp", jvp, METH_VARARGS,
     "jvp($self, count, G, g, mu, l, x, dG, dg, dmu, dl, dx, label, /)\n--\n\nWrites dx and label."},
    {"vjp", vjp, METH_VARARGS,
     "vjp($self, count, G, g, mu, l, x, dG, dg, dmu, dl, dx, label, /)\n--\n\nWrites dG, dg, dmu, dl and label."},
    {"jacobians", jacobians, METH_VARARGS,
     "jacobians($self, count, G, g, mu, l, x, dx_dG, dx_dg, dx_dmu, dx_dl, label, /)\n--\n\nWrites the matrices and "
     "label."},
    {0}};

static PyTypeObject qcqp_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Qcqp",
    .tp_basicsize = sizeof(workspace),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Qcqp(nonnegative, sizes, threads, tolerance, semidefinite, /)\n--\n\nA workspace of quadratic programs.",
    .tp_new = make,
    .tp_dealloc = drop,
    .tp_methods = methods,
};

bool tg_py_qcqp_init(PyObject *module)
{
    return PyType_Ready(&qcqp_type) == 0 && PyModule_AddObjectRef(module, "Qcqp", (PyObject *)&qcqp_type) == 0;
}
