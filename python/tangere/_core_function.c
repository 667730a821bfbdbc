/* Steps and rollouts as functions, with q as nq numbers: what torch and JAX call. */
#include "_core_batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- in C: no Python below, so that XLA can call it from its threads ---- */

static tg_status fail(tg_function *f, tg_status status, const char *message)
{
    snprintf(f->message, sizeof f->message, "%s", message);
    return status;
}

static double *take(double **at, size_t n)
{
    double *taken = *at;
    *at += n;
    return taken;
}

/* q of unit length, and changes or gradients of what goes in and comes out, tangent */
typedef struct rooms
{
    double *q, *in, *out_q;
    size_t rows; /* states that come out */
} rooms;

static tg_status make_rooms(tg_function *f, const tg_function_input *in, rooms *r)
{
    size_t count = (size_t)in->count, nq = (size_t)f->n.nq, nv = (size_t)f->n.nv;
    r->rows = count * (in->steps > 0 ? (size_t)in->steps + 1 : 1);
    size_t size = count * (nq + nv) + r->rows * nv + 1;
    if (f->size < size)
    {
        free(f->scratch);
        f->scratch = malloc(sizeof(double) * size);
        f->size = f->scratch != NULL ? size : 0;
    }
    if (f->scratch == NULL)
        return fail(f, TG_ERR_MEMORY, "no memory");
    double *at = f->scratch;
    r->q = take(&at, count * nq);
    r->in = take(&at, count * nv);
    r->out_q = take(&at, r->rows * nv);
    tg_chart_normalise(&f->chart, count, in->q, r->q); /* what cannot be is refused by the step */
    return TG_OK;
}

static tg_batch_input batch_input(const tg_function_input *in, const rooms *r)
{
    return (tg_batch_input){.count = in->count,
                            .steps = in->steps,
                            .q = r->q,
                            .v = in->v,
                            .act = in->act,
                            .u = in->u,
                            .tau = in->tau,
                            .params = in->params,
                            .cold = true,
                            .strict = true};
}

static tg_status finish(tg_function *f, tg_status status)
{
    return status == TG_OK ? TG_OK : fail(f, status, tg_batch_message(f->batch));
}

tg_status tg_function_run(tg_function *f, const tg_function_input *in, tg_batch_tape *tape,
                          const tg_function_states *out)
{
    rooms r;
    tg_status status = make_rooms(f, in, &r);
    if (status != TG_OK)
        return status;
    tg_batch_input given = batch_input(in, &r);
    if (in->steps == 0)
        return finish(f, tg_batch_step(f->batch, &given, &(tg_batch_state){out->q, out->v, out->act}, NULL));
    tg_trajectory states = {.q = out->q, .v = out->v, .act = out->act};
    return finish(f, tg_batch_rollout(f->batch, &given, tape, &states, NULL, NULL));
}

static tg_status run_reverse(tg_function *f, const tg_batch_input *in, tg_batch_tape *tape, const tg_function_states *g,
                             const tg_function_gradient *out, double *gq)
{
    if (in->steps == 0)
    {
        tg_cotangent given = {.q = g->q, .v = g->v, .act = g->act},
                     wanted = {
                         .q = gq, .v = out->v, .act = out->act, .u = out->u, .tau = out->tau, .params = out->params};
        return tg_batch_step(f->batch, in, NULL, &(tg_batch_request){.vjp_out = &given, .vjp_in = &wanted});
    }
    tg_trajectory given = {.q = g->q, .v = g->v, .act = g->act};
    tg_rollout_gradient wanted = {
        .q = gq, .v = out->v, .act = out->act, .u = out->u, .tau = out->tau, .params = out->params};
    tg_batch_rollout_request request = {.vjp_out = &given, .vjp_in = &wanted};
    return tape != NULL ? tg_batch_rollout_derivatives(f->batch, tape, &request)
                        : tg_batch_rollout(f->batch, in, NULL, NULL, NULL, &request);
}

tg_status tg_function_vjp(tg_function *f, const tg_function_input *in, tg_batch_tape *tape, const double *q_out,
                          const tg_function_states *given, const tg_function_gradient *out)
{
    rooms r;
    tg_status status = make_rooms(f, in, &r);
    if (status != TG_OK)
        return status;
    tg_batch_input input = batch_input(in, &r);
    tg_function_states g = *given;
    if (given->q != NULL)
    {
        tg_chart_gradient_out(&f->chart, r.rows, q_out, given->q, r.out_q);
        g.q = r.out_q;
    }
    status = run_reverse(f, &input, tape, &g, out, out->q != NULL ? r.in : NULL);
    if (status == TG_OK && out->q != NULL)
        tg_chart_gradient_in(&f->chart, (size_t)in->count, in->q, r.in, out->q);
    return finish(f, status);
}

static tg_status run_forward(tg_function *f, const tg_batch_input *in, tg_batch_tape *tape,
                             const tg_function_gradient *along, double *dq, const tg_function_states *out,
                             double *out_q)
{
    if (in->steps == 0)
    {
        tg_cotangent given = {.q = dq,
                              .v = along->v,
                              .act = along->act,
                              .u = along->u,
                              .tau = along->tau,
                              .params = along->params},
                     wanted = {.q = out_q, .v = out->v, .act = out->act};
        return tg_batch_step(f->batch, in, NULL, &(tg_batch_request){.jvp_in = &given, .jvp_out = &wanted});
    }
    tg_rollout_gradient given = {
        .q = dq, .v = along->v, .act = along->act, .u = along->u, .tau = along->tau, .params = along->params};
    tg_trajectory wanted = {.q = out_q, .v = out->v, .act = out->act};
    tg_batch_rollout_request request = {.directions = 1, .jvp_in = &given, .jvp_out = &wanted};
    return tape != NULL ? tg_batch_rollout_derivatives(f->batch, tape, &request)
                        : tg_batch_rollout(f->batch, in, NULL, NULL, NULL, &request);
}

tg_status tg_function_jvp(tg_function *f, const tg_function_input *in, tg_batch_tape *tape, const double *q_out,
                          const tg_function_gradient *along, const tg_function_states *out)
{
    rooms r;
    tg_status status = make_rooms(f, in, &r);
    if (status != TG_OK)
        return status;
    tg_batch_input input = batch_input(in, &r);
    if (along->q != NULL)
        tg_chart_change_in(&f->chart, (size_t)in->count, in->q, along->q, r.in);
    status = run_forward(f, &input, tape, along, along->q != NULL ? r.in : NULL, out, r.out_q);
    if (status == TG_OK)
        tg_chart_change_out(&f->chart, r.rows, q_out, r.out_q, out->q);
    return finish(f, status);
}

/* ---- the Python type ---- */

typedef struct function
{
    PyObject_HEAD tg_py_crew crew;
    tg_function f;
} function;

/* (count, steps, q, v, act, u, tau, params) */
enum
{
    INPUTS = 8
};

/* Addresses of C-contiguous float64, whose number tangere.torch has checked: an array for each would take longer than a
 * step. None: NULL. */
static bool take_addresses(PyObject *const *args, int count, double **at)
{
    for (int i = 0; i < count; i++)
        at[i] = args[i] == Py_None ? NULL : PyLong_AsVoidPtr(args[i]);
    return !PyErr_Occurred();
}

static bool take_input(PyObject *const *args, tg_function_input *in)
{
    double *at[6];
    long count = PyLong_AsLong(args[0]), steps = PyLong_AsLong(args[1]);
    if (PyErr_Occurred() || !take_addresses(args + 2, 6, at))
        return false;
    if (count < 1 || count > 1000000000 || steps < 0 || steps > 100000000)
    {
        PyErr_Format(PyExc_ValueError, "%ld steps of %ld environments", steps, count);
        return false;
    }
    *in = (tg_function_input){(int)count, (int)steps, at[0], at[1], at[2], at[3], at[4], at[5]};
    return true;
}

static bool take_states(PyObject *const *args, tg_function_states *out)
{
    double *at[3];
    bool ok = take_addresses(args, 3, at);
    *out = (tg_function_states){at[0], at[1], at[2]};
    return ok;
}

static bool take_gradient(PyObject *const *args, tg_function_gradient *out)
{
    double *at[6];
    bool ok = take_addresses(args, 6, at);
    *out = (tg_function_gradient){at[0], at[1], at[2], at[3], at[4], at[5]};
    return ok;
}

/* A tape, or None. */
static bool take_tape(const function *self, const tg_function_input *in, PyObject *given, tg_batch_tape **tape)
{
    *tape = NULL;
    if (given == Py_None)
        return true;
    if (!PyObject_TypeCheck(given, &tg_py_batch_tape_type))
    {
        PyErr_SetString(PyExc_TypeError, "tape: expected a BatchTape or None");
        return false;
    }
    tg_py_batch_tape *t = (tg_py_batch_tape *)given;
    if (t->model != self->crew.model || t->count != in->count || t->steps != in->steps || t->k != self->crew.k)
    {
        PyErr_SetString(PyExc_ValueError, "tape: of another rollout");
        return false;
    }
    *tape = t->tape;
    return true;
}

static PyObject *finished(const function *self, tg_status status)
{
    return status == TG_OK ? Py_NewRef(Py_None) : tg_py_raise(status, self->f.message);
}

static void note_tape(const function *self, PyObject *given, int steps)
{
    if (given == Py_None)
        return;
    tg_py_batch_tape *t = (tg_py_batch_tape *)given;
    Py_XSETREF(t->params, Py_NewRef(self->crew.params));
    t->steps = steps;
    t->k = self->crew.k;
}

static PyObject *function_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    function *self = (function *)object;
    tg_function_input in;
    tg_function_states out;
    tg_batch_tape *tape = NULL;
    tg_status status;
    if (!tg_py_wants(nargs, INPUTS + 4) || !tg_py_crew_ready(&self->crew, NULL) || !take_input(args, &in) ||
        !take_states(args + INPUTS, &out))
        return NULL;
    note_tape(self, args[INPUTS + 3], in.steps);
    if (!take_tape(self, &in, args[INPUTS + 3], &tape))
        return NULL;
    TG_PY_RELEASED(&self->crew, tg_function_run(&self->f, &in, tape, &out));
    return finished(self, status);
}

static PyObject *function_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    function *self = (function *)object;
    tg_function_input in;
    tg_function_states given;
    tg_function_gradient out;
    tg_batch_tape *tape;
    double *q_out;
    tg_status status;
    if (!tg_py_wants(nargs, INPUTS + 12) || !tg_py_crew_ready(&self->crew, args[INPUTS + 11]) ||
        !take_input(args, &in) || !take_tape(self, &in, args[INPUTS + 10], &tape) ||
        !take_addresses(args + INPUTS, 1, &q_out) || !take_states(args + INPUTS + 1, &given) ||
        !take_gradient(args + INPUTS + 4, &out))
        return NULL;
    TG_PY_RELEASED(&self->crew, tg_function_vjp(&self->f, &in, tape, q_out, &given, &out));
    return finished(self, status);
}

static PyObject *function_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    function *self = (function *)object;
    tg_function_input in;
    tg_function_states out;
    tg_function_gradient along;
    tg_batch_tape *tape;
    double *q_out;
    tg_status status;
    if (!tg_py_wants(nargs, INPUTS + 12) || !tg_py_crew_ready(&self->crew, args[INPUTS + 11]) ||
        !take_input(args, &in) || !take_tape(self, &in, args[INPUTS + 10], &tape) ||
        !take_addresses(args + INPUTS, 1, &q_out) || !take_gradient(args + INPUTS + 1, &along) ||
        !take_states(args + INPUTS + 7, &out))
        return NULL;
    TG_PY_RELEASED(&self->crew, tg_function_jvp(&self->f, &in, tape, q_out, &along, &out));
    return finished(self, status);
}

/* Function(settings, threads, index) */
static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    PyObject *settings, *index;
    int threads;
    if (!PyArg_ParseTuple(args, "O!iO", &PyTuple_Type, &settings, &threads, &index))
        return NULL;
    function *self = (function *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (!tg_py_crew_open(&self->crew, settings, 1, threads) || !tg_py_crew_name(&self->crew, index))
        Py_CLEAR(self);
    else if (!tg_chart_make(self->crew.model->m, &self->f.chart))
    {
        PyErr_NoMemory();
        Py_CLEAR(self);
    }
    else
    {
        self->f.batch = self->crew.batch;
        self->f.n = self->crew.model->size;
    }
    return (PyObject *)self;
}

static void function_dealloc(PyObject *object)
{
    function *self = (function *)object;
    tg_py_jax_forget(&self->f);
    tg_py_crew_close(&self->crew);
    tg_chart_drop(&self->f.chart);
    free(self->f.scratch);
    Py_TYPE(object)->tp_free(object);
}

/* The capsule of the parameters that the model has now: what derivatives are to be taken with later. */
static PyObject *function_shared(PyObject *object, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(((function *)object)->crew.model->params);
}

static PyObject *function_tape(PyObject *object, PyObject *args)
{
    return tg_py_crew_tape(&((function *)object)->crew, args);
}

/* The number by which handlers of JAX know it, from now on. */
static PyObject *function_handle(PyObject *object, PyObject *unused)
{
    (void)unused;
    function *self = (function *)object;
    if (!tg_py_crew_ready(&self->crew, NULL))
        return NULL;
    return PyLong_FromLongLong(tg_py_jax_know(&self->f));
}

static PyMethodDef function_methods[] = {
    {"run", (PyCFunction)(void (*)(void))function_run, METH_FASTCALL,
     "run($self, count, steps, q, v, act, u, tau, params, out_q, out_v, out_act, tape, /)\n--\n\n"
     "A step (steps 0) or a rollout, into the arrays at the given addresses (C-contiguous float64; None: none)."},
    {"vjp", (PyCFunction)(void (*)(void))function_vjp, METH_FASTCALL,
     "vjp($self, count, steps, q, v, act, u, tau, params, q_out, gq, gv, gact, out_q, out_v, out_act, out_u, out_tau, "
     "out_params, tape, shared, /)\n--\n\nReverse mode, into the given arrays; None: zero, not wanted."},
    {"jvp", (PyCFunction)(void (*)(void))function_jvp, METH_FASTCALL,
     "jvp($self, count, steps, q, v, act, u, tau, params, q_out, dq, dv, dact, du, dtau, dparams, out_q, out_v, "
     "out_act, "
     "tape, shared, /)\n--\n\nForward mode, into the given arrays; None: zero."},
    {"shared", function_shared, METH_NOARGS,
     "shared($self, /)\n--\n\nThe parameters that the model has now, as vjp and jvp take them."},
    {"tape", function_tape, METH_VARARGS, "tape($self, count, steps, checkpoints, /)\n--\n\nA new BatchTape."},
    {"handle", function_handle, METH_NOARGS, "handle($self, /)\n--\n\nThe number by which handlers of JAX know it."},
    {0},
};

static PyTypeObject function_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Function",
    .tp_basicsize = sizeof(function),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Steps and rollouts of a model as functions of their arguments, over threads.",
    .tp_new = function_new,
    .tp_dealloc = function_dealloc,
    .tp_methods = function_methods,
};

bool tg_py_function_init(PyObject *module)
{
    return PyType_Ready(&function_type) == 0 &&
           PyModule_AddObjectRef(module, "Function", (PyObject *)&function_type) == 0 && tg_py_jax_init(module);
}
