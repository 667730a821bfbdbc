/* Cartesian systems, behind tangere.cartesian. Arrays come as [count, ...] blocks of float64; the package gives them
 * their shapes. */
#include "_core.h"

#include <string.h>

typedef struct tg_py_cartesian
{
    PyObject_HEAD tg_cartesian *c;
    tg_cartesian_work *work;
    tg_cartesian_sizes size;
    npy_intp n; /* points dim */
} tg_py_cartesian;

static void dealloc(tg_py_cartesian *self)
{
    tg_cartesian_work_destroy(self->work);
    tg_cartesian_destroy(self->c);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* ---- arrays ---- */

/* value as contiguous float64 with `count` numbers (-1: any); NULL with an exception that names it */
static PyArrayObject *numbers(PyObject *value, const char *name, npy_intp count)
{
    PyArrayObject *a = (PyArrayObject *)PyArray_FROM_OTF(value, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED);
    if (a != NULL && count >= 0 && PyArray_SIZE(a) != count)
    {
        PyErr_Format(PyExc_ValueError, "%s: expected %zd numbers, got %zd", name, (Py_ssize_t)count,
                     (Py_ssize_t)PyArray_SIZE(a));
        Py_CLEAR(a);
    }
    return a;
}

static const double *data(PyArrayObject *a)
{
    return a == NULL ? NULL : (const double *)PyArray_DATA(a);
}

static double *room(PyArrayObject *a)
{
    return (double *)PyArray_DATA(a);
}

enum
{
    MOST_ARRAYS = 8
};

/* The inputs and outputs of a call, released together. */
typedef struct arrays
{
    PyArrayObject *in[MOST_ARRAYS], *out[MOST_ARRAYS];
    int nin, nout;
} arrays;

static bool take(arrays *a, PyObject *value, const char *name, npy_intp count)
{
    PyArrayObject *in = value == Py_None ? NULL : numbers(value, name, count);
    a->in[a->nin++] = in;
    return value == Py_None || in != NULL;
}

static bool make(arrays *a, int type, npy_intp rows, npy_intp columns)
{
    npy_intp shape[2] = {rows, columns};
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(2, shape, type);
    a->out[a->nout++] = out;
    return out != NULL;
}

/* The outputs as a tuple if the call went well, otherwise an exception. */
static PyObject *finish(tg_py_cartesian *self, arrays *a, tg_status status, bool ready)
{
    PyObject *result = NULL;
    if (ready && status != TG_OK)
        tg_py_raise(status, tg_cartesian_message(self->work));
    else if (ready)
    {
        result = PyTuple_New(a->nout);
        for (int i = 0; result != NULL && i < a->nout; i++)
            PyTuple_SET_ITEM(result, i, Py_NewRef((PyObject *)a->out[i]));
    }
    for (int i = 0; i < a->nin; i++)
        Py_XDECREF(a->in[i]);
    for (int i = 0; i < a->nout; i++)
        Py_XDECREF(a->out[i]);
    return result;
}

/* ---- the calls ---- */

static PyObject *rollout(tg_py_cartesian *self, PyObject *args)
{
    int count, steps;
    PyObject *params, *x, *v;
    if (!PyArg_ParseTuple(args, "iiOOO", &count, &steps, &params, &x, &v))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = steps >= 0 && take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, v, "v", count * n) && make(&a, NPY_DOUBLE, count, (steps + 1) * 2 * n) &&
                 make(&a, NPY_INT, count, steps + 1) && make(&a, NPY_DOUBLE, count, steps + 1);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_rollout(self->work, count, steps, data(a.in[0]), data(a.in[1]), data(a.in[2]),
                                      room(a.out[0]), (int *)PyArray_DATA(a.out[1]), room(a.out[2]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *rollout_vjp(tg_py_cartesian *self, PyObject *args)
{
    int count, steps;
    PyObject *params, *states, *bar;
    if (!PyArg_ParseTuple(args, "iiOOO", &count, &steps, &params, &states, &bar))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n, all = count * (npy_intp)(steps + 1) * 2 * n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, states, "states", all) &&
                 take(&a, bar, "states_bar", all) && make(&a, NPY_DOUBLE, count, n) && make(&a, NPY_DOUBLE, count, n) &&
                 make(&a, NPY_DOUBLE, count, self->size.params);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_rollout_vjp(self->work, count, steps, data(a.in[0]), data(a.in[1]), data(a.in[2]),
                                          room(a.out[0]), room(a.out[1]), room(a.out[2]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *rollout_jvp(tg_py_cartesian *self, PyObject *args)
{
    int count, steps;
    PyObject *params, *states, *dx, *dv, *dparams;
    if (!PyArg_ParseTuple(args, "iiOOOOO", &count, &steps, &params, &states, &dx, &dv, &dparams))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n, width = (npy_intp)(steps + 1) * 2 * n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, states, "states", count * width) &&
                 take(&a, dx, "dx", count * n) && take(&a, dv, "dv", count * n) &&
                 take(&a, dparams, "dparams", count * (npy_intp)self->size.params) &&
                 make(&a, NPY_DOUBLE, count, width);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_rollout_jvp(self->work, count, steps, data(a.in[0]), data(a.in[1]), data(a.in[2]),
                                          data(a.in[3]), data(a.in[4]), room(a.out[0]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *acceleration(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *v, *force;
    if (!PyArg_ParseTuple(args, "iOOOO", &count, &params, &x, &v, &force))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, v, "v", count * n) && take(&a, force, "force", count * n) && make(&a, NPY_DOUBLE, count, n);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_acceleration(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]),
                                           data(a.in[3]), room(a.out[0]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *acceleration_vjp(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *v, *force, *bar;
    if (!PyArg_ParseTuple(args, "iOOOOO", &count, &params, &x, &v, &force, &bar))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, v, "v", count * n) && take(&a, force, "force", count * n) &&
                 take(&a, bar, "a_bar", count * n) && make(&a, NPY_DOUBLE, count, n) &&
                 make(&a, NPY_DOUBLE, count, n) && make(&a, NPY_DOUBLE, count, n) &&
                 make(&a, NPY_DOUBLE, count, self->size.params);
    if (ready)
    {
        memset(room(a.out[2]), 0, sizeof(double) * (size_t)(count * n));
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_acceleration_vjp(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]),
                                               data(a.in[3]), data(a.in[4]), room(a.out[0]), room(a.out[1]),
                                               room(a.out[2]), room(a.out[3]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *hamiltonian(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *p, *force;
    if (!PyArg_ParseTuple(args, "iOOOO", &count, &params, &x, &p, &force))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, p, "p", count * n) && take(&a, force, "force", count * n) && make(&a, NPY_DOUBLE, count, n) &&
                 make(&a, NPY_DOUBLE, count, n);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_hamiltonian(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]), data(a.in[3]),
                                          room(a.out[0]), room(a.out[1]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *hamiltonian_vjp(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *p, *force, *x_bar, *p_bar;
    if (!PyArg_ParseTuple(args, "iOOOOOO", &count, &params, &x, &p, &force, &x_bar, &p_bar))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, p, "p", count * n) && take(&a, force, "force", count * n) &&
                 take(&a, x_bar, "xdot_bar", count * n) && take(&a, p_bar, "pdot_bar", count * n);
    for (int i = 0; i < 3 && ready; i++)
        ready = make(&a, NPY_DOUBLE, count, n);
    ready = ready && make(&a, NPY_DOUBLE, count, self->size.params);
    if (ready)
    {
        memset(room(a.out[2]), 0, sizeof(double) * (size_t)(count * n));
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_hamiltonian_vjp(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]),
                                              data(a.in[3]), data(a.in[4]), data(a.in[5]), room(a.out[0]),
                                              room(a.out[1]), room(a.out[2]), room(a.out[3]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *jump(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *v;
    if (!PyArg_ParseTuple(args, "iOOO", &count, &params, &x, &v))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, v, "v", count * n) && make(&a, NPY_DOUBLE, count, n) && make(&a, NPY_INT, count, 1) &&
                 make(&a, NPY_DOUBLE, count, 1);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_jump(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]), room(a.out[0]),
                                   (int *)PyArray_DATA(a.out[1]), room(a.out[2]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

/* how many contacts are active */
static PyObject *touching(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *x;
    if (!PyArg_ParseTuple(args, "iO", &count, &x))
        return NULL;
    arrays a = {.nin = 0};
    tg_status status = TG_OK;
    bool ready = take(&a, x, "x", count * self->n) && make(&a, NPY_INT, count, 1);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status =
            tg_cartesian_jump(self->work, count, NULL, data(a.in[0]), NULL, NULL, (int *)PyArray_DATA(a.out[0]), NULL);
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *jump_vjp(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *v, *bar;
    if (!PyArg_ParseTuple(args, "iOOOO", &count, &params, &x, &v, &bar))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, v, "v", count * n) && take(&a, bar, "v1_bar", count * n) && make(&a, NPY_DOUBLE, count, n) &&
                 make(&a, NPY_DOUBLE, count, n) && make(&a, NPY_DOUBLE, count, self->size.params);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_jump_vjp(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]), data(a.in[3]),
                                       room(a.out[0]), room(a.out[1]), room(a.out[2]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

static PyObject *energy(tg_py_cartesian *self, PyObject *args)
{
    int count;
    PyObject *params, *x, *v;
    if (!PyArg_ParseTuple(args, "iOOO", &count, &params, &x, &v))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", count * n) &&
                 take(&a, v, "v", count * n) && make(&a, NPY_DOUBLE, count, 2) && make(&a, NPY_DOUBLE, count, 1);
    if (ready)
    {
        Py_BEGIN_ALLOW_THREADS;
        status = tg_cartesian_energy(self->work, count, data(a.in[0]), data(a.in[1]), data(a.in[2]), room(a.out[0]),
                                     room(a.out[1]));
        Py_END_ALLOW_THREADS;
    }
    return finish(self, &a, status, ready);
}

/* G, g, v*, J, slots, f of one sample, with room for all rows; the package cuts them */
static PyObject *problem(tg_py_cartesian *self, PyObject *args)
{
    int most, rows = 0;
    PyObject *params, *x, *v;
    if (!PyArg_ParseTuple(args, "iOOO", &most, &params, &x, &v))
        return NULL;
    arrays a = {.nin = 0};
    npy_intp n = self->n;
    tg_status status = TG_OK;
    bool ready = take(&a, params, "params", self->size.params) && take(&a, x, "x", n) && take(&a, v, "v", n) &&
                 make(&a, NPY_DOUBLE, most, most) && make(&a, NPY_DOUBLE, 1, most) && make(&a, NPY_DOUBLE, 1, most) &&
                 make(&a, NPY_DOUBLE, most, n) && make(&a, NPY_INT, 1, most) && make(&a, NPY_DOUBLE, 1, most);
    if (ready)
        status = tg_cartesian_problem(self->work, data(a.in[0]), data(a.in[1]), data(a.in[2]), most, &rows,
                                      room(a.out[0]), room(a.out[1]), room(a.out[2]), room(a.out[3]),
                                      (int *)PyArray_DATA(a.out[4]), room(a.out[5]));
    PyObject *result = finish(self, &a, status, ready);
    return result == NULL ? NULL : Py_BuildValue("(iN)", rows, result);
}

static PyObject *sizes(tg_py_cartesian *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("(iiiiiii)", self->size.dim, self->size.points, self->size.bodies, self->size.types,
                         self->size.constraints, self->size.contacts, self->size.params);
}

static PyObject *regularised(tg_py_cartesian *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(tg_cartesian_regularised(self->work));
}

static PyObject *params(tg_py_cartesian *self, PyObject *unused)
{
    (void)unused;
    npy_intp shape[1] = {self->size.params};
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(1, shape, NPY_DOUBLE);
    if (out != NULL)
        memcpy(room(out), tg_cartesian_params(self->c), sizeof(double) * (size_t)self->size.params);
    return (PyObject *)out;
}

/* ---- making ---- */

/* rows of a table of numbers: [count, width] */
static PyArrayObject *table(PyObject *value, const char *name, int width, int *count)
{
    PyArrayObject *a = numbers(value, name, -1);
    if (a == NULL)
        return NULL;
    *count = (int)(PyArray_SIZE(a) / width);
    if ((npy_intp)*count * width != PyArray_SIZE(a))
    {
        PyErr_Format(PyExc_ValueError, "%s: rows must have %d numbers", name, width);
        Py_CLEAR(a);
    }
    return a;
}

enum
{
    BODY_WIDTH = 5,        /* points, mass, lambda[3] */
    CONSTRAINT_WIDTH = 10, /* kind, i, j, length, c[3], anchor[3] */
    SPRING_WIDTH = 7,      /* i, j, stiffness, rest, anchor[3] */
    CONTACT_WIDTH = 17     /* kind, i, j, k, type, mesh, radius, other, normal[3], offset, low, high, anchor[3] */
};

static void read_bodies(const double *t, int count, tg_cartesian_body *out)
{
    for (int i = 0; i < count; i++, t += BODY_WIDTH)
        out[i] = (tg_cartesian_body){.points = (int)t[0], .mass = t[1], .lambda = {t[2], t[3], t[4]}};
}

static void read_constraints(const double *t, int count, tg_cartesian_constraint *out)
{
    for (int i = 0; i < count; i++, t += CONSTRAINT_WIDTH)
        out[i] = (tg_cartesian_constraint){.kind = (tg_cartesian_constraint_kind)t[0],
                                           .i = (int)t[1],
                                           .j = (int)t[2],
                                           .length = t[3],
                                           .c = {t[4], t[5], t[6]},
                                           .anchor = {t[7], t[8], t[9]}};
}

static void read_springs(const double *t, int count, tg_cartesian_spring *out)
{
    for (int i = 0; i < count; i++, t += SPRING_WIDTH)
        out[i] = (tg_cartesian_spring){
            .i = (int)t[0], .j = (int)t[1], .stiffness = t[2], .rest = t[3], .anchor = {t[4], t[5], t[6]}};
}

static void read_contacts(const double *t, int count, tg_cartesian_contact *out)
{
    for (int i = 0; i < count; i++, t += CONTACT_WIDTH)
        out[i] = (tg_cartesian_contact){.kind = (tg_cartesian_contact_kind)t[0],
                                        .i = (int)t[1],
                                        .j = (int)t[2],
                                        .k = (int)t[3],
                                        .type = (int)t[4],
                                        .mesh = (int)t[5],
                                        .radius = t[6],
                                        .other = t[7],
                                        .normal = {t[8], t[9], t[10]},
                                        .offset = t[11],
                                        .low = t[12],
                                        .high = t[13],
                                        .anchor = {t[14], t[15], t[16]}};
}

static bool create(tg_py_cartesian *self, tg_cartesian_def *def, PyArrayObject *const t[6],
                   const tg_cartesian_options *options)
{
    tg_cartesian_body *body = PyMem_Calloc((size_t)def->bodies + 1, sizeof *body);
    tg_cartesian_constraint *constraint = PyMem_Calloc((size_t)def->constraints + 1, sizeof *constraint);
    tg_cartesian_spring *spring = PyMem_Calloc((size_t)def->springs + 1, sizeof *spring);
    tg_cartesian_contact *contact = PyMem_Calloc((size_t)def->contacts + 1, sizeof *contact);
    tg_error error = {0};
    tg_status status = TG_ERR_MEMORY;
    if (body != NULL && constraint != NULL && spring != NULL && contact != NULL)
    {
        read_bodies(data(t[0]), def->bodies, body);
        read_constraints(data(t[1]), def->constraints, constraint);
        read_springs(data(t[2]), def->springs, spring);
        read_contacts(data(t[3]), def->contacts, contact);
        def->body = body;
        def->constraint = constraint;
        def->spring = spring;
        def->contact = contact;
        def->mu = data(t[4]);
        def->e = data(t[5]);
        status = tg_cartesian_create(def, NULL, &self->c, &error);
        if (status == TG_OK)
            status = tg_cartesian_work_create(self->c, options, &self->work, &error);
    }
    PyMem_Free(body);
    PyMem_Free(constraint);
    PyMem_Free(spring);
    PyMem_Free(contact);
    if (status != TG_OK)
        tg_py_raise(status, error.message);
    return status == TG_OK;
}

static int init(tg_py_cartesian *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "dim", "bodies",     "constraints", "springs",     "contacts", "mu",   "e",   "eps",
                            "g",    "dt",  "integrator", "law",         "hamiltonian", "threads",  "rows", "toi", NULL};
    tg_cartesian_def def = {0};
    tg_cartesian_options options = tg_cartesian_default_options();
    PyObject *value[6];
    int integrator = 0, law = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "siOOOOOOd(ddd)diiiiii", names, &def.name, &def.dim, &value[0],
                                     &value[1], &value[2], &value[3], &value[4], &value[5], &def.eps, &def.gravity[0],
                                     &def.gravity[1], &def.gravity[2], &options.dt, &integrator, &law,
                                     &options.hamiltonian, &options.threads, &options.rows, &options.toi))
        return -1;
    if (self->c != NULL)
    {
        PyErr_SetString(PyExc_RuntimeError, "a system is made once");
        return -1;
    }
    options.integrator = (tg_cartesian_integrator)integrator;
    options.law = (tg_cartesian_law)law;
    static const char *const what[6] = {"bodies", "constraints", "springs", "contacts", "mu", "e"};
    static const int width[6] = {BODY_WIDTH, CONSTRAINT_WIDTH, SPRING_WIDTH, CONTACT_WIDTH, 1, 1};
    int count[6] = {0};
    PyArrayObject *t[6] = {NULL};
    bool good = true;
    for (int i = 0; i < 6 && good; i++)
    {
        t[i] = table(value[i], what[i], width[i], &count[i]);
        good = t[i] != NULL;
    }
    if (good && count[4] != count[5])
    {
        PyErr_Format(PyExc_ValueError, "mu has %d numbers, e %d", count[4], count[5]);
        good = false;
    }
    def.bodies = count[0];
    def.constraints = count[1];
    def.springs = count[2];
    def.contacts = count[3];
    def.types = count[4];
    good = good && create(self, &def, t, &options);
    for (int i = 0; i < 6; i++)
        Py_XDECREF(t[i]);
    if (!good)
        return -1;
    self->size = tg_cartesian_size(self->c);
    self->n = (npy_intp)self->size.points * self->size.dim;
    return 0;
}

static PyMethodDef methods[] = {
    {"rollout", (PyCFunction)rollout, METH_VARARGS, "(count, steps, params, x, v) -> states, contacts, residual"},
    {"rollout_vjp", (PyCFunction)rollout_vjp, METH_VARARGS, "(count, steps, params, states, bar) -> x, v, params"},
    {"rollout_jvp", (PyCFunction)rollout_jvp, METH_VARARGS,
     "(count, steps, params, states, dx, dv, dparams) -> dstates"},
    {"acceleration", (PyCFunction)acceleration, METH_VARARGS, "(count, params, x, v, force) -> a"},
    {"acceleration_vjp", (PyCFunction)acceleration_vjp, METH_VARARGS, "(..., a_bar) -> x, v, force, params"},
    {"hamiltonian", (PyCFunction)hamiltonian, METH_VARARGS, "(count, params, x, p, force) -> xdot, pdot"},
    {"hamiltonian_vjp", (PyCFunction)hamiltonian_vjp, METH_VARARGS, "(..., xdot_bar, pdot_bar) -> x, p, force, params"},
    {"jump", (PyCFunction)jump, METH_VARARGS, "(count, params, x, v) -> v1, contacts, residual"},
    {"touching", (PyCFunction)touching, METH_VARARGS, "(count, x) -> contacts"},
    {"jump_vjp", (PyCFunction)jump_vjp, METH_VARARGS, "(count, params, x, v, v1_bar) -> x, v, params"},
    {"energy", (PyCFunction)energy, METH_VARARGS, "(count, params, x, v) -> energy, violation"},
    {"problem", (PyCFunction)problem, METH_VARARGS, "(room, params, x, v) -> rows, (G, g, target, J, slot, f)"},
    {"sizes", (PyCFunction)sizes, METH_NOARGS, "dim, points, bodies, types, constraints, contacts, params"},
    {"regularised", (PyCFunction)regularised, METH_NOARGS, "jumps of the last reverse call with redundant rows"},
    {"params", (PyCFunction)params, METH_NOARGS, "the parameters it was made with"},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Cartesian",
    .tp_basicsize = sizeof(tg_py_cartesian),
    .tp_dealloc = (destructor)dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A Cartesian system and its workspace.",
    .tp_methods = methods,
    .tp_init = (initproc)init,
    .tp_new = PyType_GenericNew,
};

bool tg_py_cartesian_init(PyObject *module)
{
    return PyType_Ready(&type) == 0 && PyModule_AddObjectRef(module, "Cartesian", (PyObject *)&type) == 0;
}
