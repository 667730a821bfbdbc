/* The Planner type: tg_planner with costs of Python; and the function behind tangere.control.lqr. Arrays come as
 * float64, C-contiguous and of the right size, which tangere.control sees to. */
#include "_core_batch.h"

#include <string.h>

typedef struct planner
{
    PyObject_HEAD tg_py_model *model;
    PyObject *solver, *params; /* keep what the planner points to */
    PyObject *cost, *callback; /* the tuple with the arrays; a function, or NULL */
    tg_planner *p;
    int rows;
    bool busy;
} planner;

/* ---- callbacks ---- */

static PyObject *view_of(const double *data, npy_intp count, npy_intp columns, bool write)
{
    npy_intp shape[2] = {count, columns};
    PyObject *array = PyArray_SimpleNewFromData(2, shape, NPY_DOUBLE, (void *)data);
    if (array != NULL && !write)
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

/* callback(row, q, v, act, u, value, gradient): writes value (count) and, unless gradient is None, gradient: (gq, gv,
 * gact, gu). False: there is no gradient. */
static tg_status call_points(void *user, const tg_cost_points *at, double *value, const tg_cost_gradient *g)
{
    planner *self = user;
    const tg_sizes *n = &self->model->size;
    npy_intp count = at->count;
    tg_status status = TG_ERR_CANCELLED; /* an exception is set */
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *row = PyArray_SimpleNewFromData(1, &count, NPY_INT, (void *)at->row);
    PyObject *values = PyArray_SimpleNewFromData(1, &count, NPY_DOUBLE, value);
    PyObject *q = view_of(at->q, count, n->nq, false), *v = view_of(at->v, count, n->nv, false);
    PyObject *act = view_of(at->act, count, n->na, false), *u = view_of(at->u, count, n->nu, false);
    PyObject *gradient =
        g == NULL ? Py_NewRef(Py_None)
                  : Py_BuildValue("(NNNN)", view_of(g->q, count, n->nv, true), view_of(g->v, count, n->nv, true),
                                  view_of(g->act, count, n->na, true), view_of(g->u, count, n->nu, true));
    if (row != NULL && values != NULL && q != NULL && v != NULL && act != NULL && u != NULL && gradient != NULL)
    {
        PyObject *result = PyObject_CallFunctionObjArgs(self->callback, row, q, v, act, u, values, gradient, NULL);
        if (result != NULL)
            status = result == Py_False ? TG_ERR_UNSUPPORTED : TG_OK;
        Py_XDECREF(result);
    }
    PyObject *owned[] = {row, values, q, v, act, u, gradient};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        Py_XDECREF(owned[i]);
    PyGILState_Release(state);
    return status;
}

/* ---- costs ---- */

typedef struct part
{
    const char *name;
    npy_intp size;
    const double **at;
} part;

/* (moving, site, q, v, act, u, weights of them, ...) in the order below; None: NULL. */
static bool take_cost(const planner *self, PyObject *tuple, tg_plan_cost *c)
{
    const tg_sizes *n = &self->model->size;
    *c = (tg_plan_cost){.together = true};
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 22)
    {
        PyErr_SetString(PyExc_TypeError, "cost: expected a tuple of 22");
        return false;
    }
    PyObject *const *item = ((PyTupleObject *)tuple)->ob_item;
    PyArrayObject *site = (PyArrayObject *)item[1];
    if (!PyArray_Check(item[1]) || PyArray_TYPE(site) != NPY_INT || !PyArray_ISCARRAY_RO(site))
    {
        PyErr_SetString(PyExc_TypeError, "site: expected an array of integers");
        return false;
    }
    c->moving = item[0] == Py_True;
    c->nsite = (int)PyArray_SIZE(site);
    c->site = PyArray_DATA(site);
    npy_intp rows = c->moving ? self->rows + 1 : 1, s = 3 * (npy_intp)c->nsite;
    const part parts[] = {{"q", rows * n->nq, &c->q},
                          {"v", rows * n->nv, &c->v},
                          {"act", rows * n->na, &c->act},
                          {"u", rows * n->nu, &c->u},
                          {"weight_q", n->nv, &c->weight_q},
                          {"weight_v", n->nv, &c->weight_v},
                          {"weight_act", n->na, &c->weight_act},
                          {"weight_u", n->nu, &c->weight_u},
                          {"site_target", rows * s, &c->site_target},
                          {"weight_site", s, &c->weight_site},
                          {"com", rows * 3, &c->com},
                          {"com_velocity", rows * 3, &c->com_velocity},
                          {"weight_com", 3, &c->weight_com},
                          {"weight_com_velocity", 3, &c->weight_com_velocity},
                          {"last_q", n->nv, &c->last_q},
                          {"last_v", n->nv, &c->last_v},
                          {"last_act", n->na, &c->last_act},
                          {"last_site", s, &c->last_site},
                          {"last_com", 3, &c->last_com},
                          {"last_com_velocity", 3, &c->last_com_velocity}};
    _Static_assert(sizeof parts / sizeof *parts == 20, "all but moving and site");
    for (size_t i = 0; i < 20; i++)
    {
        double *at;
        if (!tg_py_numbers(item[i + 2], parts[i].name, parts[i].size, false, &at))
            return false;
        *parts[i].at = at;
    }
    if (self->callback != NULL)
    {
        c->points = call_points;
        c->user = (void *)self;
    }
    return true;
}

static bool planner_idle(const planner *self)
{
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread is using this planner; make one for each thread");
    return !self->busy;
}

static PyObject *planner_set_cost(PyObject *object, PyObject *tuple)
{
    planner *self = (planner *)object;
    tg_plan_cost cost;
    tg_error error;
    if (!planner_idle(self) || !take_cost(self, tuple, &cost))
        return NULL;
    tg_status status = tg_planner_set_cost(self->p, &cost, &error);
    if (status != TG_OK)
        return tg_py_raise(status, error.message);
    Py_XSETREF(self->cost, Py_NewRef(tuple));
    return Py_NewRef(Py_None);
}

/* ---- plans ---- */

/* The parameters that the model has now. */
static bool follow(planner *self)
{
    tg_error error;
    if (self->params == self->model->params)
        return true;
    tg_status status = tg_planner_set_params(self->p, tg_py_params(self->model->params), &error);
    if (status != TG_OK)
        tg_py_raise(status, error.message);
    else
        Py_XSETREF(self->params, Py_NewRef(self->model->params));
    return status == TG_OK;
}

/* plan(q, v, act, cache, u): u in place; (stop, iterations, first_cost, cost, rollouts, blown, share) */
static PyObject *planner_plan(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    planner *self = (planner *)object;
    if (!tg_py_wants(nargs, 5) || !planner_idle(self) || !follow(self))
        return NULL;
    const tg_sizes *n = &self->model->size;
    tg_state now = {0};
    tg_cache cache = {0};
    double *u;
    if (!tg_py_numbers(args[0], "q", n->nq, false, &now.q) || !tg_py_numbers(args[1], "v", n->nv, false, &now.v) ||
        !tg_py_numbers(args[2], "act", n->na, false, &now.act) ||
        !tg_py_numbers(args[4], "u", (npy_intp)self->rows * n->nu, true, &u))
        return NULL;
    if (args[3] != Py_None)
    {
        PyArrayObject *given = (PyArrayObject *)args[3];
        if (!PyArray_Check(args[3]) || (size_t)PyArray_ITEMSIZE(given) != sizeof(tg_cache_entry) ||
            !PyArray_ISCARRAY_RO(given))
            return PyErr_Format(PyExc_TypeError, "cache: expected an array of CACHE_ENTRY");
        int count = (int)PyArray_SIZE(given);
        cache = (tg_cache){.capacity = count, .count = count, .entry = PyArray_DATA(given)};
        now.cache = &cache;
    }
    tg_plan_result r = {0};
    tg_error error = {.message = ""};
    tg_status status;
    TG_PY_RELEASED(self, tg_plan(self->p, &now, u, &r, &error));
    if (PyErr_Occurred())
        return NULL;
    if (status != TG_OK)
        return tg_py_raise(status, error.message);
    return Py_BuildValue("(siddiid)", tg_stop_string(r.stop), r.iterations, r.first_cost, r.cost, r.rollouts, r.blown,
                         r.share);
}

static PyObject *planner_shift(PyObject *object, PyObject *given)
{
    planner *self = (planner *)object;
    double *u;
    if (!planner_idle(self) || !tg_py_numbers(given, "u", (npy_intp)self->rows * self->model->size.nu, true, &u))
        return NULL;
    tg_plan_shift(self->p, u, NULL);
    return Py_NewRef(Py_None);
}

static PyObject *planner_reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    planner *self = (planner *)object;
    if (!planner_idle(self))
        return NULL;
    tg_planner_reset(self->p);
    return Py_NewRef(Py_None);
}

static PyObject *copy_of(const double *data, int ndim, const npy_intp *shape)
{
    PyObject *array = PyArray_SimpleNew(ndim, shape, NPY_DOUBLE);
    npy_intp size = 1;
    for (int i = 0; i < ndim; i++)
        size *= shape[i];
    if (array != NULL && size > 0)
        memcpy(PyArray_DATA((PyArrayObject *)array), data, sizeof(double) * (size_t)size);
    return array;
}

/* (q, v, act, gains or None) of the last plan, copied */
static PyObject *planner_states(PyObject *object, PyObject *unused)
{
    (void)unused;
    planner *self = (planner *)object;
    if (!planner_idle(self))
        return NULL;
    const tg_sizes *n = &self->model->size;
    tg_trajectory t = tg_planner_states(self->p);
    const double *K = tg_planner_gains(self->p);
    npy_intp q[] = {self->rows + 1, n->nq}, v[] = {self->rows + 1, n->nv}, act[] = {self->rows + 1, n->na},
             gains[] = {self->rows, n->nu, 2 * n->nv + n->na};
    return Py_BuildValue("(NNNN)", copy_of(t.q, 2, q), copy_of(t.v, 2, v), copy_of(t.act, 2, act),
                         K != NULL ? copy_of(K, 3, gains) : Py_NewRef(Py_None));
}

/* ---- the type ---- */

/* Planner(settings, cost, callback or None, lower, upper, noise, method, rows, hold, threads, iterations, samples,
 * seed, searches,
 *         (speed, correlation, elite, smoothing, floor, temperature, regularisation, tolerance, kl), absolute,
 *             importance) */
static bool read_definition(planner *self, PyObject *args, tg_planner_def *d)
{
    PyObject *settings, *cost, *callback, *lower, *upper, *noise;
    int method, absolute, importance;
    unsigned long long seed;
    double *low, *high, *sigma;
    tg_py_settings s = {0};
    if (!PyArg_ParseTuple(args, "O!OOOOOiiiiiiKi(ddddddddd)pp", &PyTuple_Type, &settings, &cost, &callback, &lower,
                          &upper, &noise, &method, &d->rows, &d->hold, &d->threads, &d->iterations, &d->samples, &seed,
                          &d->searches, &d->speed, &d->correlation, &d->elite, &d->smoothing, &d->floor,
                          &d->temperature, &d->regularisation, &d->tolerance, &d->kl, &absolute, &importance))
        return false;
    bool ok = tg_py_read_settings(settings, &s);
    self->model = s.model;
    self->solver = s.solver;
    if (!ok)
        return false;
    self->callback = callback != Py_None ? Py_NewRef(callback) : NULL;
    self->cost = Py_NewRef(cost);
    self->rows = d->rows;
    npy_intp nu = self->model->size.nu;
    if (!tg_py_numbers(lower, "lower", nu, false, &low) || !tg_py_numbers(upper, "upper", nu, false, &high) ||
        !tg_py_numbers(noise, "noise", nu, false, &sigma) || !take_cost(self, cost, &d->cost))
        return false;
    d->options = s.options;
    d->method = (tg_plan_method)method;
    d->seed = seed;
    d->lower = low;
    d->upper = high;
    d->noise = sigma;
    d->absolute = absolute != 0;
    d->importance = importance != 0;
    return true;
}

static PyObject *planner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    planner *self = (planner *)type->tp_alloc(type, 0);
    tg_planner_def def = tg_default_planner();
    tg_error error;
    if (self == NULL)
        return NULL;
    bool ok = read_definition(self, args, &def);
    if (ok)
    {
        tg_status status = tg_planner_create(self->model->m, &def, &self->p, &error);
        if (status != TG_OK)
            tg_py_raise(status, error.message);
        ok = status == TG_OK && follow(self);
    }
    if (!ok)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void planner_dealloc(PyObject *object)
{
    planner *self = (planner *)object;
    tg_planner_destroy(self->p);
    PyObject *owned[] = {(PyObject *)self->model, self->solver, self->params, self->cost, self->callback};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        Py_XDECREF(owned[i]);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef planner_methods[] = {
    {"plan", (PyCFunction)(void (*)(void))planner_plan, METH_FASTCALL,
     "plan($self, q, v, act, cache, u, /)\n--\n\nPlans in place; returns (stop, iterations, first_cost, cost, "
     "rollouts, blown, share)."},
    {"set_cost", planner_set_cost, METH_O, "set_cost($self, cost, /)\n--\n\nAnother cost."},
    {"shift", planner_shift, METH_O, "shift($self, u, /)\n--\n\nThe first row is done."},
    {"reset", planner_reset, METH_NOARGS, "reset($self, /)\n--\n\nThe first plan is next."},
    {"states", planner_states, METH_NOARGS, "states($self, /)\n--\n\n(q, v, act, gains) of the last plan."},
    {0},
};

static PyTypeObject planner_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Planner",
    .tp_basicsize = sizeof(planner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Plans of a receding horizon.",
    .tp_new = planner_new,
    .tp_dealloc = planner_dealloc,
    .tp_methods = planner_methods,
};

/* ---- linear systems ---- */

/* lqr(n, nu, A, B, Q, R, N or None, K, P) */
static PyObject *lqr(PyObject *module, PyObject *args)
{
    (void)module;
    int n, nu;
    PyObject *given[7];
    double *at[7];
    tg_error error;
    static const char *const names[] = {"A", "B", "Q", "R", "N", "K", "P"};
    if (!PyArg_ParseTuple(args, "iiOOOOOOO", &n, &nu, &given[0], &given[1], &given[2], &given[3], &given[4], &given[5],
                          &given[6]))
        return NULL;
    npy_intp x = n, y = nu;
    const npy_intp size[] = {x * x, x * y, x * x, y * y, x * y, y * x, x * x};
    for (int i = 0; i < 7; i++)
        if (!tg_py_numbers(given[i], names[i], size[i], i > 4, &at[i]))
            return NULL;
    tg_status status = tg_lqr(n, nu, at[0], at[1], at[2], at[3], at[4], at[5], at[6], &error);
    return status == TG_OK ? Py_NewRef(Py_None) : tg_py_raise(status, error.message);
}

static PyMethodDef functions[] = {
    {"lqr", lqr, METH_VARARGS, "See tangere.control.lqr."},
    {0},
};

bool tg_py_planner_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0 && PyType_Ready(&planner_type) == 0 &&
           PyModule_AddObjectRef(module, "Planner", (PyObject *)&planner_type) == 0;
}
