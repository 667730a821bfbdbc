/* The Batch type. Arrays come from Python as they are: float64, C-contiguous and of the right size, which tangere.Batch
 * sees to. */
#include "_core_batch.h"

#include <string.h>

/* ---- arrays ---- */

bool tg_py_numbers(PyObject *given, const char *name, npy_intp size, bool write, double **at)
{
    *at = NULL;
    if (given == Py_None)
        return true;
    PyArrayObject *array = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_TYPE(array) != NPY_DOUBLE ||
        !(write ? PyArray_ISCARRAY(array) : PyArray_ISCARRAY_RO(array)))
        PyErr_Format(PyExc_TypeError, "%s: expected a C-contiguous array of float64%s", name,
                     write ? " that can be written to" : "");
    else if (PyArray_SIZE(array) != size)
        PyErr_Format(PyExc_ValueError, "%s: expected %zd numbers, got %zd", name, (Py_ssize_t)size,
                     (Py_ssize_t)PyArray_SIZE(array));
    else
        *at = PyArray_DATA(array);
    return !PyErr_Occurred();
}

/* Items of `bytes` bytes each, as many as environments. */
static bool take_items(PyObject *given, const char *name, npy_intp count, size_t bytes, void **at)
{
    *at = NULL;
    if (given == Py_None)
        return true;
    PyArrayObject *array = (PyArrayObject *)given;
    if (!PyArray_Check(given) || !PyArray_ISCARRAY(array) || (size_t)PyArray_ITEMSIZE(array) != bytes ||
        PyArray_SIZE(array) != count)
    {
        PyErr_Format(PyExc_TypeError, "%s: expected %zd items of %zu bytes", name, (Py_ssize_t)count, bytes);
        return false;
    }
    *at = PyArray_DATA(array);
    return true;
}

typedef struct wanted
{
    const char *name;
    npy_intp size;
    double **at;
} wanted;

/* A tuple of so many arrays; None: all are NULL. given: whether there was one. */
static bool take_tuple(PyObject *tuple, const wanted *w, int count, bool write, bool *given)
{
    *given = tuple != Py_None;
    if (tuple == Py_None)
        return true;
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != count)
    {
        PyErr_Format(PyExc_TypeError, "expected a tuple of %d arrays, the first %s", count, w[0].name);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!tg_py_numbers(PyTuple_GET_ITEM(tuple, i), w[i].name, w[i].size, write, w[i].at))
            return false;
    return true;
}

/* ---- the Batch type ---- */

typedef struct batch
{
    PyObject_HEAD tg_py_crew crew;
    int n;
} batch;

/* ---- what is wanted of a step ---- */

typedef struct request
{
    tg_jacobian jacobian;
    tg_cotangent vjp_out, vjp_in, jvp_in, jvp_out;
    tg_batch_request wanted;
} request;

static bool take_jacobian(const batch *self, PyObject *given, request *r)
{
    const tg_sizes *n = &self->crew.model->size;
    tg_jacobian *j = &r->jacobian;
    npy_intp count = self->n, v = n->nv, a = n->na, u = n->nu, k = self->crew.k;
    const wanted w[21] = {{"dq_dq", count * v * v, &j->dq_dq},
                          {"dq_dv", count * v * v, &j->dq_dv},
                          {"dq_dact", count * v * a, &j->dq_dact},
                          {"dq_du", count * v * u, &j->dq_du},
                          {"dq_dtau", count * v * v, &j->dq_dtau},
                          {"dq_ddt", count * v, &j->dq_ddt},
                          {"dq_dparams", count * v * k, &j->dq_dparams},
                          {"dv_dq", count * v * v, &j->dv_dq},
                          {"dv_dv", count * v * v, &j->dv_dv},
                          {"dv_dact", count * v * a, &j->dv_dact},
                          {"dv_du", count * v * u, &j->dv_du},
                          {"dv_dtau", count * v * v, &j->dv_dtau},
                          {"dv_ddt", count * v, &j->dv_ddt},
                          {"dv_dparams", count * v * k, &j->dv_dparams},
                          {"dact_dq", count * a * v, &j->dact_dq},
                          {"dact_dv", count * a * v, &j->dact_dv},
                          {"dact_dact", count * a * a, &j->dact_dact},
                          {"dact_du", count * a * u, &j->dact_du},
                          {"dact_dtau", count * a * v, &j->dact_dtau},
                          {"dact_ddt", count * a, &j->dact_ddt},
                          {"dact_dparams", count * a * k, &j->dact_dparams}};
    bool there;
    if (!take_tuple(given, w, 21, true, &there))
        return false;
    for (int i = 0; i < 21; i++) /* what is empty is not wanted */
        if (w[i].size == 0)
            *w[i].at = NULL;
    r->wanted.jacobian = there ? j : NULL;
    return true;
}

/* q, v, act of what came out; of what went in also u, tau, wrench, dt, params */
static bool take_cotangent(const batch *self, PyObject *given, bool in, bool write, tg_cotangent *c, bool *there)
{
    const tg_sizes *n = &self->crew.model->size;
    npy_intp count = self->n;
    const wanted w[8] = {{"q", count * n->nv, &c->q},     {"v", count * n->nv, &c->v},
                         {"act", count * n->na, &c->act}, {"u", count * n->nu, &c->u},
                         {"tau", count * n->nv, &c->tau}, {"wrench", count * 6 * n->nbody, &c->wrench},
                         {"dt", count, &c->dt},           {"params", count * self->crew.k, &c->params}};
    return take_tuple(given, w, in ? 8 : 3, write, there);
}

/* (info, contact, contacts, jacobian, vjp_out, vjp_in, params_sum, jvp_in, jvp_out, label) */
static bool take_request(const batch *self, PyObject *given, request *r)
{
    *r = (request){0};
    tg_batch_request *w = &r->wanted;
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 10)
    {
        PyErr_SetString(PyExc_TypeError, "request: expected a tuple of 10");
        return false;
    }
    PyObject **item = &PyTuple_GET_ITEM(given, 0);
    bool vo, vi, ji, jo;
    void *info, *contact, *contacts, *label;
    if (item[1] != Py_None && PyArray_Check(item[1]))
        w->room = (int)(PyArray_SIZE((PyArrayObject *)item[1]) / self->n);
    if (!take_items(item[0], "info", self->n, sizeof(tg_info), &info) ||
        !take_items(item[1], "contact", (npy_intp)self->n * w->room, sizeof(tg_step_contact), &contact) ||
        !take_items(item[2], "contacts", self->n, sizeof(int), &contacts) || !take_jacobian(self, item[3], r) ||
        !take_cotangent(self, item[4], false, false, &r->vjp_out, &vo) ||
        !take_cotangent(self, item[5], true, true, &r->vjp_in, &vi) ||
        !tg_py_numbers(item[6], "params_sum", self->crew.k, true, &w->params_sum) ||
        !take_cotangent(self, item[7], true, false, &r->jvp_in, &ji) ||
        !take_cotangent(self, item[8], false, true, &r->jvp_out, &jo) ||
        !take_items(item[9], "label", self->n, sizeof(tg_label), &label))
        return false;
    w->info = info;
    w->contact = contact;
    w->contacts = contacts;
    w->label = label;
    w->vjp_out = vo ? &r->vjp_out : NULL;
    w->vjp_in = vi ? &r->vjp_in : NULL;
    w->jvp_in = ji ? &r->jvp_in : NULL;
    w->jvp_out = jo ? &r->jvp_out : NULL;
    return true;
}

/* ---- steps ---- */

/* (q, v, act), in place, (u, tau), (wrench), (params) */
static bool take_state(const batch *self, PyObject *const *args, tg_batch_state *state)
{
    const tg_sizes *n = &self->crew.model->size;
    npy_intp count = self->n;
    return tg_py_numbers(args[0], "q", count * n->nq, true, &state->q) &&
           tg_py_numbers(args[1], "v", count * n->nv, true, &state->v) &&
           tg_py_numbers(args[2], "act", count * n->na, true, &state->act);
}

static PyObject *batch_step(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    batch *self = (batch *)object;
    if (!tg_py_wants(nargs, 9) || !tg_py_crew_ready(&self->crew, NULL))
        return NULL;
    const tg_sizes *n = &self->crew.model->size;
    npy_intp count = self->n;
    tg_batch_state state;
    double *u, *tau, *wrench, *params;
    request r;
    if (!take_state(self, args, &state) || !tg_py_numbers(args[3], "u", count * n->nu, false, &u) ||
        !tg_py_numbers(args[4], "tau", count * n->nv, false, &tau) ||
        !tg_py_numbers(args[5], "wrench", count * 6 * n->nbody, false, &wrench) ||
        !tg_py_numbers(args[6], "params", count * self->crew.k, false, &params) || !take_request(self, args[8], &r))
        return NULL;
    tg_batch_input in = {.count = self->n,
                         .q = state.q,
                         .v = state.v,
                         .act = state.act,
                         .u = u,
                         .tau = tau,
                         .wrench = wrench,
                         .params = params,
                         .strict = args[7] == Py_True};
    tg_status status;
    TG_PY_RELEASED(&self->crew, tg_batch_step(self->crew.batch, &in, &state, &r.wanted));
    return PyLong_FromLong(status);
}

static PyObject *batch_derivatives(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    batch *self = (batch *)object;
    double *params;
    request r;
    tg_status status;
    if (!tg_py_wants(nargs, 2) || !tg_py_crew_ready(&self->crew, NULL) ||
        !tg_py_numbers(args[0], "params", (npy_intp)self->n * self->crew.k, false, &params) ||
        !take_request(self, args[1], &r))
        return NULL;
    TG_PY_RELEASED(&self->crew, tg_batch_derivatives(self->crew.batch, params, &r.wanted));
    return PyLong_FromLong(status);
}

/* ---- rollouts ---- */

/* False ends the rollout: an exception is set then, which the caller finds. */
static bool progress(void *user, int64_t done, int64_t total)
{
    PyGILState_STATE state = PyGILState_Ensure();
    bool go_on = PyErr_CheckSignals() == 0;
    if (go_on && user != Py_None)
    {
        PyObject *result = PyObject_CallFunction(user, "LL", (long long)done, (long long)total);
        go_on = result != NULL && result != Py_False;
        Py_XDECREF(result);
    }
    PyGILState_Release(state);
    return go_on;
}

static bool take_trajectory(PyObject *given, const tg_sizes *n, npy_intp rows, npy_intp steps, tg_trajectory *t)
{
    bool there;
    const wanted w[4] = {{"q", rows * n->nq, &t->q},
                         {"v", rows * n->nv, &t->v},
                         {"act", rows * n->na, &t->act},
                         {"residual", steps, &t->residual}};
    return take_tuple(given, w, 4, true, &there);
}

/* (steps, hold, q, v, act, u, tau, wrench, params, strict, out, tape, progress) */
static PyObject *batch_rollout(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    batch *self = (batch *)object;
    if (!tg_py_wants(nargs, 13) || !tg_py_crew_ready(&self->crew, NULL))
        return NULL;
    const tg_sizes *n = &self->crew.model->size;
    long steps = PyLong_AsLong(args[0]), hold = PyLong_AsLong(args[1]);
    npy_intp all = (npy_intp)self->n * steps, rows = hold > 0 ? self->n * ((steps + hold - 1) / hold) : 0;
    tg_batch_state state;
    tg_trajectory out = {0};
    double *u, *tau, *wrench, *params;
    bool kept = args[11] != Py_None;
    tg_py_batch_tape *tape = (tg_py_batch_tape *)args[11];
    if (PyErr_Occurred() || !take_state(self, args + 2, &state) ||
        !tg_py_numbers(args[5], "controls", rows * n->nu, false, &u) ||
        !tg_py_numbers(args[6], "tau", rows * n->nv, false, &tau) ||
        !tg_py_numbers(args[7], "wrench", rows * 6 * n->nbody, false, &wrench) ||
        !tg_py_numbers(args[8], "params", (npy_intp)self->n * self->crew.k, false, &params) ||
        !take_trajectory(args[10], n, all + self->n, all, &out))
        return NULL;
    if (kept && !PyObject_TypeCheck(args[11], &tg_py_batch_tape_type))
        return PyErr_Format(PyExc_TypeError, "tape: expected a BatchTape");
    tg_batch_input in = {.count = self->n,
                         .steps = (int)steps,
                         .hold = (int)hold,
                         .q = state.q,
                         .v = state.v,
                         .act = state.act,
                         .u = u,
                         .tau = tau,
                         .wrench = wrench,
                         .params = params,
                         .strict = args[9] == Py_True,
                         .progress = progress,
                         .user = args[12]};
    tg_status status;
    TG_PY_RELEASED(&self->crew, tg_batch_rollout(self->crew.batch, &in, kept ? tape->tape : NULL, &out, &state, NULL));
    if (kept)
    {
        Py_XSETREF(tape->params, Py_NewRef(self->crew.params));
        tape->steps = (int)steps;
        tape->rows = (int)((steps + hold - 1) / hold);
        tape->k = self->crew.k;
    }
    return PyErr_Occurred() ? NULL : PyLong_FromLong(status);
}

/* (q, v, act, u, tau, wrench, dt, params) of so many rollouts on the tape */
static bool take_rollout_gradient(const batch *self, PyObject *given, const tg_py_batch_tape *t, npy_intp count,
                                  bool write, tg_rollout_gradient *g, bool *there)
{
    const tg_sizes *n = &self->crew.model->size;
    npy_intp rows = count * t->rows;
    const wanted w[8] = {{"q", count * n->nv, &g->q},     {"v", count * n->nv, &g->v},
                         {"act", count * n->na, &g->act}, {"u", rows * n->nu, &g->u},
                         {"tau", rows * n->nv, &g->tau},  {"wrench", rows * 6 * n->nbody, &g->wrench},
                         {"dt", count, &g->dt},           {"params", count * t->k, &g->params}};
    return take_tuple(given, w, 8, write, there);
}

/* (tape, vjp_out, vjp_in, params_sum, directions, jvp_in, jvp_out, label) */
static PyObject *batch_rollout_derivatives(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    batch *self = (batch *)object;
    if (!tg_py_wants(nargs, 8) || !tg_py_crew_idle(&self->crew))
        return NULL;
    tg_py_batch_tape *t = (tg_py_batch_tape *)args[0];
    if (!PyObject_TypeCheck(args[0], &tg_py_batch_tape_type) || t->params == NULL)
        return PyErr_Format(PyExc_TypeError, "tape: expected a BatchTape with a rollout");
    const tg_sizes *n = &self->crew.model->size;
    long directions = PyLong_AsLong(args[4]);
    npy_intp c = t->count, rows = c * (t->steps + 1), drows = rows * directions;
    tg_trajectory vo = {0}, jo = {0};
    tg_rollout_gradient vi = {0}, ji = {0};
    tg_batch_rollout_request r = {.directions = (int)directions};
    const wanted given[3] = {{"gq", rows * n->nv, &vo.q}, {"gv", rows * n->nv, &vo.v}, {"gact", rows * n->na, &vo.act}};
    const wanted change[3] = {
        {"q", drows * n->nv, &jo.q}, {"v", drows * n->nv, &jo.v}, {"act", drows * n->na, &jo.act}};
    bool has[4];
    void *label;
    if (PyErr_Occurred() || !take_tuple(args[1], given, 3, false, &has[0]) ||
        !take_rollout_gradient(self, args[2], t, c, true, &vi, &has[1]) ||
        !tg_py_numbers(args[3], "params_sum", t->k, true, &r.params_sum) ||
        !take_rollout_gradient(self, args[5], t, c * directions, false, &ji, &has[2]) ||
        !take_tuple(args[6], change, 3, true, &has[3]) || !take_items(args[7], "label", c, sizeof(tg_label), &label))
        return NULL;
    r.vjp_out = has[0] ? &vo : NULL;
    r.vjp_in = has[1] ? &vi : NULL;
    r.jvp_in = has[2] ? &ji : NULL;
    r.jvp_out = has[3] ? &jo : NULL;
    r.label = label;
    tg_status status;
    TG_PY_RELEASED(&self->crew, tg_batch_rollout_derivatives(self->crew.batch, t->tape, &r));
    return PyLong_FromLong(status);
}

/* ---- states ---- */

/* Empties the caches of environments (an array of numbers), or of all (None). */
static PyObject *batch_forget(PyObject *object, PyObject *given)
{
    batch *self = (batch *)object;
    tg_status status;
    if (!tg_py_crew_idle(&self->crew))
        return NULL;
    if (given == Py_None)
        status = tg_batch_reset(self->crew.batch, NULL, 0, -1, NULL);
    else
    {
        PyArrayObject *ids = (PyArrayObject *)PyArray_FROMANY(given, NPY_INT, 1, 1, NPY_ARRAY_IN_ARRAY);
        if (ids == NULL)
            return NULL;
        status = tg_batch_reset(self->crew.batch, PyArray_DATA(ids), (int)PyArray_SIZE(ids), -1, NULL);
        Py_DECREF(ids);
    }
    return status == TG_OK ? Py_NewRef(Py_None) : tg_py_raise(status, tg_batch_message(self->crew.batch));
}

static PyObject *batch_cache(PyObject *object, PyObject *given)
{
    batch *self = (batch *)object;
    long i = PyLong_AsLong(given);
    if (PyErr_Occurred() || !tg_py_crew_idle(&self->crew))
        return NULL;
    const tg_cache *cache = tg_batch_cache(self->crew.batch, (int)i);
    if (cache == NULL)
        return PyErr_Format(PyExc_IndexError, "environment %ld of %d", i, self->n);
    return tg_py_cache_array(cache);
}

static PyObject *batch_set_cache(PyObject *object, PyObject *args)
{
    batch *self = (batch *)object;
    int i;
    PyArrayObject *array;
    if (!tg_py_crew_idle(&self->crew) || !PyArg_ParseTuple(args, "iO!", &i, &PyArray_Type, &array))
        return NULL;
    if ((size_t)PyArray_ITEMSIZE(array) != sizeof(tg_cache_entry) || !PyArray_ISCARRAY_RO(array))
        return PyErr_Format(PyExc_TypeError, "cache: expected an array of CACHE_ENTRY");
    tg_cache cache = {
        .capacity = (int)PyArray_SIZE(array), .count = (int)PyArray_SIZE(array), .entry = PyArray_DATA(array)};
    tg_status status = tg_batch_set_cache(self->crew.batch, i, &cache);
    return status == TG_OK ? Py_NewRef(Py_None) : tg_py_raise(status, tg_batch_message(self->crew.batch));
}

static PyObject *batch_name(PyObject *object, PyObject *index)
{
    batch *self = (batch *)object;
    if (!tg_py_crew_idle(&self->crew) || !tg_py_crew_name(&self->crew, index))
        return NULL;
    return Py_NewRef(Py_None);
}

static PyObject *batch_tape(PyObject *object, PyObject *args)
{
    return tg_py_crew_tape(&((batch *)object)->crew, args);
}

/* [(environment, status, message)] of the last call */
static PyObject *batch_errors(PyObject *object, PyObject *unused)
{
    (void)unused;
    batch *self = (batch *)object;
    PyObject *list = tg_py_crew_idle(&self->crew) ? PyList_New(0) : NULL;
    for (int i = 0; list != NULL && i < self->n; i++)
    {
        const tg_error *e = tg_batch_error(self->crew.batch, i);
        if (e == NULL || e->status == TG_OK)
            continue;
        PyObject *item = Py_BuildValue("iss", i, tg_status_string(e->status), e->message);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *batch_raise(PyObject *object, PyObject *given)
{
    batch *self = (batch *)object;
    long status = PyLong_AsLong(given);
    if (PyErr_Occurred() || !tg_py_crew_idle(&self->crew))
        return NULL;
    return tg_py_raise((tg_status)status, tg_batch_message(self->crew.batch));
}

static PyObject *batch_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    batch *self = (batch *)object;
    if (self->crew.busy)
        return PyErr_Format(PyExc_RuntimeError, "another thread is using this batch");
    tg_batch_destroy(self->crew.batch);
    self->crew.batch = NULL;
    return Py_NewRef(Py_None);
}

static PyObject *get_bytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tg_batch_bytes(((batch *)object)->crew.batch));
}

static PyObject *get_threads(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLong(tg_batch_threads(((batch *)object)->crew.batch));
}

static PyObject *get_closed(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((batch *)object)->crew.batch == NULL);
}

/* Batch(settings, n, threads) */
static PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    PyObject *settings;
    int n, threads;
    if (!PyArg_ParseTuple(args, "O!ii", &PyTuple_Type, &settings, &n, &threads))
        return NULL;
    batch *self = (batch *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->n = n;
    if (!tg_py_crew_open(&self->crew, settings, n, threads))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void batch_dealloc(PyObject *object)
{
    tg_py_crew_close(&((batch *)object)->crew);
    Py_TYPE(object)->tp_free(object);
}

#define FASTCALL(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

static PyMethodDef batch_methods[] = {
    {"step", FASTCALL(batch_step),
     "step($self, q, v, act, u, tau, wrench, params, strict, request, /)\n--\n\n"
     "One step in place; request: (info, contact, contacts, jacobian, vjp_out, vjp_in, params_sum, jvp_in, jvp_out, "
     "label). Returns the status."},
    {"derivatives", FASTCALL(batch_derivatives),
     "derivatives($self, params, request, /)\n--\n\nOf the last step. Returns the status."},
    {"rollout", FASTCALL(batch_rollout),
     "rollout($self, steps, hold, q, v, act, u, tau, wrench, params, strict, out, tape, progress, /)\n--\n\n"
     "Rollouts, from q, v, act, which then hold the last states. Returns the status."},
    {"rollout_derivatives", FASTCALL(batch_rollout_derivatives),
     "rollout_derivatives($self, tape, vjp_out, vjp_in, params_sum, directions, jvp_in, jvp_out, label, /)\n--\n\n"
     "Of the rollouts on a tape. Returns the status."},
    {"forget", batch_forget, METH_O, "forget($self, ids, /)\n--\n\nEmpties caches; None: all."},
    {"cache", batch_cache, METH_O, "cache($self, environment, /)\n--\n\nIts impulses."},
    {"set_cache", batch_set_cache, METH_VARARGS, "set_cache($self, environment, cache, /)\n--\n\nCopies them."},
    {"name", batch_name, METH_O, "name($self, index, /)\n--\n\nNames parameters by position."},
    {"tape", batch_tape, METH_VARARGS, "tape($self, count, steps, checkpoints, /)\n--\n\nA new BatchTape."},
    {"errors", batch_errors, METH_NOARGS,
     "errors($self, /)\n--\n\n[(environment, status, message)] of those that failed in the last call."},
    {"raise_", batch_raise, METH_O, "raise_($self, status, /)\n--\n\nRaises what the last call has returned."},
    {"close", batch_close, METH_NOARGS, "close($self, /)\n--\n\nEnds the threads and frees the memory."},
    {0},
};

static PyGetSetDef batch_fields[] = {
    {"nbytes", get_bytes, NULL, "Memory that the batch takes, tapes not among it.", NULL},
    {"threads", get_threads, NULL, "How many threads it has.", NULL},
    {"closed", get_closed, NULL, "Whether it was closed.", NULL},
    {0},
};

static PyTypeObject batch_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Batch",
    .tp_basicsize = sizeof(batch),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Many environments of a model over threads.",
    .tp_new = batch_new,
    .tp_dealloc = batch_dealloc,
    .tp_methods = batch_methods,
    .tp_getset = batch_fields,
};

/* ---- structs as NumPy sees them ---- */

typedef struct field
{
    const char *name, *format;
    size_t offset;
} field;

static PyArray_Descr *struct_type(const field *f, int count, size_t bytes)
{
    PyObject *names = PyList_New(0), *formats = PyList_New(0), *offsets = PyList_New(0), *spec = NULL;
    PyArray_Descr *type = NULL;
    bool ok = names != NULL && formats != NULL && offsets != NULL;
    for (int i = 0; ok && i < count; i++)
    {
        PyObject *name = PyUnicode_FromString(f[i].name), *format = PyUnicode_FromString(f[i].format),
                 *offset = PyLong_FromSize_t(f[i].offset);
        ok = name != NULL && format != NULL && offset != NULL && PyList_Append(names, name) == 0 &&
             PyList_Append(formats, format) == 0 && PyList_Append(offsets, offset) == 0;
        Py_XDECREF(name);
        Py_XDECREF(format);
        Py_XDECREF(offset);
    }
    if (ok)
        spec = Py_BuildValue("{sOsOsOsn}", "names", names, "formats", formats, "offsets", offsets, "itemsize",
                             (Py_ssize_t)bytes);
    if (spec != NULL)
        PyArray_DescrConverter(spec, &type);
    Py_XDECREF(spec);
    Py_XDECREF(names);
    Py_XDECREF(formats);
    Py_XDECREF(offsets);
    return type;
}

static bool add_type(PyObject *module, const char *name, const field *f, int count, size_t bytes)
{
    PyArray_Descr *type = struct_type(f, count, bytes);
    bool ok = type != NULL && PyModule_AddObjectRef(module, name, (PyObject *)type) == 0;
    Py_XDECREF(type);
    return ok;
}

bool tg_py_batch_init(PyObject *module)
{
    _Static_assert(sizeof(tg_step_status) == 4 && sizeof(tg_solved_by) == 4 && sizeof(tg_label_kind) == 4 &&
                       sizeof(int) == 4,
                   "i4 below");
    static const field info[] = {{"status", "i4", offsetof(tg_info, status)},
                                 {"iterations", "i4", offsetof(tg_info, iterations)},
                                 {"sweeps", "i4", offsetof(tg_info, sweeps)},
                                 {"ncontact", "i4", offsetof(tg_info, contacts)},
                                 {"rows", "i4", offsetof(tg_info, rows)},
                                 {"islands", "i4", offsetof(tg_info, islands)},
                                 {"residual", "f8", offsetof(tg_info, residual)},
                                 {"primal", "f8", offsetof(tg_info, primal)},
                                 {"dual", "f8", offsetof(tg_info, dual)},
                                 {"complementarity", "f8", offsetof(tg_info, complementarity)},
                                 {"penetration", "f8", offsetof(tg_info, penetration)},
                                 {"work", "f8", offsetof(tg_info, work)},
                                 {"capacity", "f8", offsetof(tg_info, capacity)},
                                 {"unrelaxed", "f8", offsetof(tg_info, unrelaxed)},
                                 {"worst", "i4", offsetof(tg_info, worst)},
                                 {"stage", "i4", offsetof(tg_info, stage)}};
    static const field label[] = {{"kind", "i4", offsetof(tg_label, kind)},
                                  {"margin", "f8", offsetof(tg_label, margin)},
                                  {"condition", "f8", offsetof(tg_label, condition)},
                                  {"residual", "f8", offsetof(tg_label, residual)}};
    static const field contact[] = {{"geom1", "i4", offsetof(tg_step_contact, at.geom1)},
                                    {"geom2", "i4", offsetof(tg_step_contact, at.geom2)},
                                    {"point", "3f8", offsetof(tg_step_contact, at.point)},
                                    {"normal", "3f8", offsetof(tg_step_contact, at.normal)},
                                    {"distance", "f8", offsetof(tg_step_contact, at.distance)},
                                    {"force", "3f8", offsetof(tg_step_contact, force)},
                                    {"torque", "3f8", offsetof(tg_step_contact, torque)},
                                    {"mode", "i4", offsetof(tg_step_contact, mode)},
                                    {"margin", "f8", offsetof(tg_step_contact, margin)},
                                    {"immaterial", "?", offsetof(tg_step_contact, immaterial)},
                                    {"local", "6f8", offsetof(tg_step_contact, local)},
                                    {"gap", "f8", offsetof(tg_step_contact, at.gap)},
                                    {"id", "u8", offsetof(tg_step_contact, at.id)}};
    return PyType_Ready(&batch_type) == 0 && PyType_Ready(&tg_py_batch_tape_type) == 0 &&
           add_type(module, "INFO", info, sizeof info / sizeof info[0], sizeof(tg_info)) &&
           add_type(module, "LABEL", label, sizeof label / sizeof label[0], sizeof(tg_label)) &&
           add_type(module, "STEP_CONTACT", contact, sizeof contact / sizeof contact[0], sizeof(tg_step_contact)) &&
           PyModule_AddObjectRef(module, "BatchTape", (PyObject *)&tg_py_batch_tape_type) == 0 &&
           PyModule_AddObjectRef(module, "Batch", (PyObject *)&batch_type) == 0;
}
