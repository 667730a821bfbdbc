/* Least squares and first-order methods with functions of Python. Everything runs with the GIL held: the time is in the
 * functions. */
#include "_core_batch.h"

#include <string.h>

typedef struct problem
{
    PyObject *function, *progress;
    npy_intp n, rows, entries;
} problem;

/* An array over memory of the solver, good during the call. */
static PyObject *over(double *data, npy_intp length, bool write)
{
    PyObject *array = PyArray_SimpleNewFromData(1, &length, NPY_DOUBLE, data);
    if (array != NULL && !write)
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

/* False makes the point one of infinite cost; an exception ends the run. */
static tg_status outcome(PyObject *result)
{
    tg_status status = result == NULL ? TG_ERR_CANCELLED : result == Py_False ? TG_ERR_VALUE : TG_OK;
    Py_XDECREF(result);
    return status;
}

static tg_status call_residuals(void *user, const double *x, double *r, double *J)
{
    problem *p = user;
    PyObject *xs = PyArray_SimpleNew(1, &p->n, NPY_DOUBLE), *rs = over(r, p->rows, true);
    PyObject *js = J != NULL ? over(J, p->entries, true) : Py_NewRef(Py_None), *result = NULL;
    if (xs != NULL && rs != NULL && js != NULL)
    {
        memcpy(PyArray_DATA((PyArrayObject *)xs), x, (size_t)p->n * sizeof *x);
        result = PyObject_CallFunctionObjArgs(p->function, xs, rs, js, NULL);
    }
    Py_XDECREF(xs);
    Py_XDECREF(rs);
    Py_XDECREF(js);
    return outcome(result);
}

static tg_status call_cost(void *user, const double *x, double *f, double *g)
{
    problem *p = user;
    PyObject *xs = PyArray_SimpleNew(1, &p->n, NPY_DOUBLE);
    PyObject *gs = g != NULL ? over(g, p->n, true) : Py_NewRef(Py_None), *result = NULL;
    if (xs != NULL && gs != NULL)
    {
        memcpy(PyArray_DATA((PyArrayObject *)xs), x, (size_t)p->n * sizeof *x);
        result = PyObject_CallFunctionObjArgs(p->function, xs, gs, NULL);
    }
    Py_XDECREF(xs);
    Py_XDECREF(gs);
    if (result != NULL && result != Py_False)
    {
        *f = PyFloat_AsDouble(result);
        if (PyErr_Occurred())
            Py_CLEAR(result);
    }
    return outcome(result);
}

static bool call_progress(void *user, const tg_iteration *now)
{
    problem *p = user;
    if (p->progress == Py_None)
        return PyErr_CheckSignals() == 0;
    PyObject *xs = PyArray_SimpleNew(1, &p->n, NPY_DOUBLE), *result = NULL;
    if (xs != NULL)
    {
        memcpy(PyArray_DATA((PyArrayObject *)xs), now->x, (size_t)p->n * sizeof *now->x);
        result = PyObject_CallFunction(p->progress, "iiddddO", now->iteration, now->evaluations, now->cost, now->step,
                                       now->slope, now->damping, xs);
    }
    bool go_on = result != NULL && result != Py_False && PyErr_CheckSignals() == 0;
    Py_XDECREF(xs);
    Py_XDECREF(result);
    return go_on;
}

/* ---- arguments ---- */

static bool take_ints(PyObject *given, const char *name, npy_intp size, const int **at)
{
    *at = NULL;
    if (given == Py_None)
        return true;
    PyArrayObject *array = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_TYPE(array) != NPY_INT || !PyArray_ISCARRAY_RO(array) ||
        PyArray_SIZE(array) != size)
    {
        PyErr_Format(PyExc_TypeError, "%s: expected %zd integers", name, (Py_ssize_t)size);
        return false;
    }
    *at = PyArray_DATA(array);
    return true;
}

/* (transform, lower, upper, prior, spread, tie, factor), each an array [n] or None */
static bool take_unknowns(PyObject *tuple, npy_intp n, tg_unknowns *u)
{
    enum
    {
        FIELDS = 7
    };
    const int *transform;
    double *lower, *upper, *prior, *spread, *factor;
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != FIELDS)
    {
        PyErr_SetString(PyExc_TypeError, "unknowns: expected a tuple of 7 arrays");
        return false;
    }
    PyObject *const *item = ((PyTupleObject *)tuple)->ob_item;
    if (!take_ints(item[0], "transform", n, &transform) || !tg_py_numbers(item[1], "lower", n, false, &lower) ||
        !tg_py_numbers(item[2], "upper", n, false, &upper) || !tg_py_numbers(item[3], "prior", n, false, &prior) ||
        !tg_py_numbers(item[4], "spread", n, false, &spread) || !take_ints(item[5], "tie", n, &u->tie) ||
        !tg_py_numbers(item[6], "factor", n, false, &factor))
        return false;
    _Static_assert(sizeof(tg_transform) == sizeof(int), "arrays of integers are arrays of transforms");
    u->n = (int)n;
    u->transform = (const tg_transform *)transform;
    u->lower = lower;
    u->upper = upper;
    u->prior = prior;
    u->spread = spread;
    u->factor = factor;
    return true;
}

static PyObject *finish(tg_status status, const tg_error *error, const tg_optimum *o)
{
    if (PyErr_Occurred())
        return NULL;
    if (status != TG_OK)
        return tg_py_raise(status, error->message);
    return Py_BuildValue("(siiddd)", tg_stop_string(o->stop), o->iterations, o->evaluations, o->first_cost, o->cost,
                         o->slope);
}

/* ---- the two functions ---- */

static PyObject *least_squares(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *x, *unknowns, *rows, *locals;
    problem p = {0};
    tg_least_squares_def def = tg_default_least_squares();
    int shared, loss;
    if (!PyArg_ParseTuple(args, "OOOOiOOididdd", &p.function, &p.progress, &x, &unknowns, &shared, &rows, &locals,
                          &loss, &def.width, &def.iterations, &def.damping, &def.tolerance, &def.decrease))
        return NULL;
    double *at;
    const int *row_count, *local_count;
    npy_intp groups = PyArray_Check(rows) ? PyArray_SIZE((PyArrayObject *)rows) : 0;
    p.n = PyArray_Check(x) ? PyArray_SIZE((PyArrayObject *)x) : 0;
    if (!tg_py_numbers(x, "x", p.n, true, &at) || !take_unknowns(unknowns, p.n, &def.unknowns) ||
        !take_ints(rows, "rows", groups, &row_count) || !take_ints(locals, "locals", groups, &local_count))
        return NULL;
    for (npy_intp g = 0; g < groups; g++)
    {
        p.rows += row_count[g];
        p.entries += (npy_intp)row_count[g] * (shared + (local_count != NULL ? local_count[g] : 0));
    }
    def.shared = shared;
    def.groups = (int)groups;
    def.rows = row_count;
    def.locals = local_count;
    def.loss = (tg_loss)loss;
    def.residuals = call_residuals;
    def.progress = call_progress;
    def.user = &p;
    tg_least_squares *s = NULL;
    tg_optimum found = {0};
    tg_error error = {.message = ""};
    tg_status status = tg_least_squares_create(&def, NULL, &s, &error);
    if (status == TG_OK)
        status = tg_least_squares_run(s, at, &found, &error);
    tg_least_squares_destroy(s);
    return finish(status, &error, &found);
}

static PyObject *minimise(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *x, *unknowns;
    problem p = {0};
    tg_minimiser_def def = tg_default_minimiser();
    int method;
    if (!PyArg_ParseTuple(args, "OOOOiiddddidd", &p.function, &p.progress, &x, &unknowns, &method, &def.iterations,
                          &def.rate, &def.beta1, &def.beta2, &def.decay, &def.memory, &def.tolerance, &def.clip))
        return NULL;
    double *at;
    p.n = PyArray_Check(x) ? PyArray_SIZE((PyArrayObject *)x) : 0;
    if (!tg_py_numbers(x, "x", p.n, true, &at) || !take_unknowns(unknowns, p.n, &def.unknowns))
        return NULL;
    def.method = (tg_method)method;
    def.cost = call_cost;
    def.progress = call_progress;
    def.user = &p;
    tg_minimiser *s = NULL;
    tg_optimum found = {0};
    tg_error error = {.message = ""};
    tg_status status = tg_minimiser_create(&def, NULL, &s, &error);
    if (status == TG_OK)
        status = tg_minimiser_run(s, at, &found, &error);
    tg_minimiser_destroy(s);
    return finish(status, &error, &found);
}

static PyMethodDef functions[] = {
    {"least_squares", least_squares, METH_VARARGS, "See tangere.least_squares."},
    {"minimise", minimise, METH_VARARGS, "See tangere.minimise."},
    {0},
};

bool tg_py_control_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
