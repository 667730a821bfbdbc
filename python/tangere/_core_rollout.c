/* Rollouts of a Stepper: a tape of its own, reverse and forward mode. */
#include "_core_step.h"

#include <string.h>

void tg_py_drop_tape(tg_py_stepper *self)
{
    tg_tape_destroy(self->tape);
    self->tape = NULL;
    Py_CLEAR(self->u);
    Py_CLEAR(self->tau);
    Py_CLEAR(self->wrench);
    Py_CLEAR(self->contacts);
    PyMem_RawFree(self->lists);
    self->lists = NULL;
}

/* a number of steps or directions; -1 with an exception set */
static int count_of(PyObject *given, const char *name, long least, long most)
{
    long n = PyLong_AsLong(given);
    if (n == -1 && PyErr_Occurred())
        return -1;
    if (n >= least && n <= most)
        return (int)n;
    PyErr_Format(PyExc_ValueError, "%s: expected %ld .. %ld, got %ld", name, least, most, n);
    return -1;
}

/* ---- forward ---- */

static bool make_tape(tg_py_stepper *self, int steps, int hold, tg_tape_kind kind)
{
    tg_error error;
    tg_py_drop_tape(self);
    tg_status status = tg_tape_create(self->model->m, steps, kind, &self->tape, &error);
    self->steps = steps;
    self->given = 0;
    self->rows = (steps + hold - 1) / hold;
    if (status != TG_OK)
        tg_py_raise(status, error.message);
    return status == TG_OK;
}

/* contacts: those of all steps, one after the other, or None; counts: of every step. False with an exception set. */
static bool take_lists(tg_py_stepper *self, PyObject *contacts, PyObject *counts)
{
    if (contacts == Py_None)
        return true;
    PyArrayObject *count = (PyArrayObject *)PyArray_FROMANY(counts, NPY_INT, 1, 1, NPY_ARRAY_IN_ARRAY);
    self->contacts = count == NULL ? NULL : tg_py_given_array(contacts);
    self->lists = self->contacts == NULL ? NULL : PyMem_RawMalloc(sizeof *self->lists * (size_t)self->steps);
    npy_intp first = 0;
    if (self->lists == NULL && !PyErr_Occurred())
        PyErr_NoMemory();
    else if (self->lists != NULL && PyArray_SIZE(count) != self->steps)
        PyErr_Format(PyExc_ValueError, "contacts: expected %d lists, one per step, got %zd", self->steps,
                     PyArray_SIZE(count));
    for (int i = 0; i < self->steps && !PyErr_Occurred(); ++i)
    {
        int n = ((const int *)PyArray_DATA(count))[i];
        self->lists[i] = (tg_given_contacts){n, (const tg_given_contact *)PyArray_DATA(self->contacts) + first};
        first += n;
        if (n < 0 || first > PyArray_SIZE(self->contacts))
            PyErr_Format(PyExc_ValueError, "contacts: %d in step %d, of %zd in all", n, i,
                         PyArray_SIZE(self->contacts));
    }
    Py_XDECREF(count);
    return !PyErr_Occurred();
}

static tg_status run(tg_py_stepper *self, const tg_state *start, const tg_controls *controls, tg_trajectory *out)
{
    self->busy = true;
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status =
        tg_rollout(self->model->m, self->loan.work, self->tape, &self->options, start, controls, out, NULL);
    PyEval_RestoreThread(thread);
    self->busy = false;
    return status;
}

/* what a step tells, as a row of numbers in the order of tangere.Info */
enum
{
    INFO_NUMBERS = 16
};

static void put_info(const tg_info *i, double *row)
{
    const double numbers[INFO_NUMBERS] = {(double)i->status, i->iterations,      i->sweeps,      i->contacts,
                                          i->rows,           i->islands,         i->residual,    i->primal,
                                          i->dual,           i->complementarity, i->penetration, i->work,
                                          i->capacity,       i->unrelaxed,       i->worst,       (double)i->stage};
    memcpy(row, numbers, sizeof numbers);
}

static PyObject *roll(tg_py_stepper *self, const tg_state *start, const tg_controls *controls)
{
    const tg_sizes *n = &self->model->size;
    npy_intp steps = controls->steps;
    tg_trajectory out = {0};
    double *numbers = NULL;
    const tg_py_field fields[4] = {{&out.q, steps + 1, n->nq, 2},
                                   {&out.v, steps + 1, n->nv, 2},
                                   {&out.act, steps + 1, n->na, 2},
                                   {&numbers, steps, INFO_NUMBERS, 2}};
    PyObject *tuple = tg_py_new_fields(fields, 4, 0);
    out.info = tuple == NULL ? NULL : PyMem_RawMalloc(sizeof(tg_info) * (size_t)steps);
    if (out.info == NULL)
    {
        Py_XDECREF(tuple);
        return tuple == NULL ? NULL : PyErr_NoMemory();
    }
    tg_status status = run(self, start, controls, &out);
    while (status == TG_ERR_CAPACITY && tg_py_stepper_grow(self))
        status = run(self, start, controls, &out);
    if (status != TG_OK && status != TG_ERR_CAPACITY)
        tg_py_raise(status, tg_work_message(self->loan.work));
    for (npy_intp i = 0; i < steps && status == TG_OK; ++i)
        put_info(&out.info[i], numbers + INFO_NUMBERS * i);
    PyMem_RawFree(out.info);
    if (status != TG_OK)
        Py_CLEAR(tuple);
    return tuple;
}

PyObject *tg_py_stepper_rollout(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    if (nargs != 11)
        return PyErr_Format(PyExc_TypeError, "rollout() takes 11 arguments, got %zd", nargs);
    int steps = count_of(args[0], "steps", 1, 100000000);
    int hold = steps < 0 ? -1 : count_of(args[7], "hold", 1, 100000000);
    int kind = hold < 0 ? -1 : count_of(args[8], "kind", 0, TG_TAPE_NONE);
    if (kind < 0 || !tg_py_stepper_idle(self))
        return NULL;
    tg_state start = {0};
    npy_intp rows = (steps + hold - 1) / hold;
    double *u = NULL, *tau = NULL, *wrench = NULL;
    tg_py_argument given[6] = {{"q0", n->nq, &start.q, NULL},     {"v0", n->nv, &start.v, NULL},
                               {"act0", n->na, &start.act, NULL}, {"controls", rows * n->nu, &u, NULL},
                               {"tau", rows * n->nv, &tau, NULL}, {"wrench", rows * 6 * n->nbody, &wrench, NULL}};
    PyObject *tuple = NULL;
    if (tg_py_take(given, 6, args + 1) && tg_py_stepper_follow(self) &&
        make_tape(self, steps, hold, (tg_tape_kind)kind) && take_lists(self, args[9], args[10]))
    {
        self->u = given[3].array;
        self->tau = given[4].array;
        self->wrench = given[5].array;
        Py_XINCREF(self->u);
        Py_XINCREF(self->tau);
        Py_XINCREF(self->wrench);
        tg_controls controls = {.steps = steps, .u = u, .tau = tau, .wrench = wrench, .hold = hold};
        controls.contacts = self->lists;
        tuple = roll(self, &start, &controls);
    }
    tg_py_drop(given, 6);
    return tuple;
}

/* ---- derivatives ---- */

static bool has_tape(const tg_py_stepper *self)
{
    if (self->tape == NULL) /* the parameters are those it was made with, which the loan keeps */
        tg_py_raise(TG_ERR_STALE, "there was no rollout");
    return !PyErr_Occurred();
}

PyObject *tg_py_stepper_rollout_vjp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    if (nargs != 4)
        return PyErr_Format(PyExc_TypeError, "rollout_vjp() takes 4 arguments, got %zd", nargs);
    if (!tg_py_stepper_idle(self) || !has_tape(self))
        return NULL;
    npy_intp rows = self->steps + 1, held = self->rows;
    tg_trajectory out = {0};
    tg_rollout_gradient in = {0};
    tg_label label = {0};
    tg_py_argument given[3] = {
        {"gq", rows * n->nv, &out.q, NULL}, {"gv", rows * n->nv, &out.v, NULL}, {"gact", rows * n->na, &out.act, NULL}};
    npy_intp wrenches = self->wrench != NULL || args[3] == Py_True ? held : 0;
    npy_intp contacts = self->contacts != NULL ? PyArray_SIZE(self->contacts) : 0;
    const tg_py_field fields[9] = {
        {&in.q, n->nv, 0, 1},    {&in.v, n->nv, 0, 1},           {&in.act, n->na, 0, 1},
        {&in.u, held, n->nu, 2}, {&in.tau, held, n->nv, 2},      {&in.wrench, wrenches, (npy_intp)6 * n->nbody, 2},
        {&in.dt, 1, 0, 1},       {&in.params, n->nparams, 0, 1}, {&in.contact, contacts, TG_GIVEN_NUMBERS, 2}};
    PyObject *tuple = NULL;
    if (tg_py_take(given, 3, args) && (tuple = tg_py_new_fields(fields, 9, 1)) != NULL)
    {
        in.wrench = wrenches > 0 ? in.wrench : NULL;
        in.contact = contacts > 0 ? in.contact : NULL;
        self->busy = true;
        PyThreadState *thread = PyEval_SaveThread();
        tg_status status = tg_rollout_vjp(self->model->m, self->loan.work, self->tape, &out, &in, &label);
        PyEval_RestoreThread(thread);
        self->busy = false;
        tuple = tg_py_finish(self, tuple, status, &label);
    }
    tg_py_drop(given, 3);
    return tuple;
}

/* direction i of arrays that hold all of them, one after the other */
static double *part(double *all, int i, size_t size)
{
    return all == NULL ? NULL : all + (size_t)i * size;
}

static tg_status changes(tg_py_stepper *self, int count, const tg_rollout_gradient *in, const tg_trajectory *out,
                         tg_label *label)
{
    const tg_sizes *n = &self->model->size;
    size_t held = (size_t)self->rows, rows = (size_t)self->steps + 1;
    size_t contacts = self->contacts != NULL ? (size_t)PyArray_SIZE(self->contacts) : 0;
    tg_rollout_gradient *ins = PyMem_RawMalloc((sizeof *ins + sizeof(tg_trajectory)) * (size_t)count + 1);
    tg_trajectory *outs = (tg_trajectory *)(void *)(ins + count);
    if (ins == NULL)
        return TG_ERR_MEMORY;
    for (int i = 0; i < count; ++i)
    {
        ins[i] = (tg_rollout_gradient){.q = part(in->q, i, (size_t)n->nv),
                                       .v = part(in->v, i, (size_t)n->nv),
                                       .act = part(in->act, i, (size_t)n->na),
                                       .u = part(in->u, i, held * (size_t)n->nu),
                                       .tau = part(in->tau, i, held * (size_t)n->nv),
                                       .wrench = part(in->wrench, i, held * 6 * (size_t)n->nbody),
                                       .dt = part(in->dt, i, 1),
                                       .contact = part(in->contact, i, TG_GIVEN_NUMBERS * contacts),
                                       .params = part(in->params, i, (size_t)n->nparams)};
        outs[i] = (tg_trajectory){.q = part(out->q, i, rows * (size_t)n->nv),
                                  .v = part(out->v, i, rows * (size_t)n->nv),
                                  .act = part(out->act, i, rows * (size_t)n->na)};
    }
    tg_status status = tg_rollout_jvp(self->model->m, self->loan.work, self->tape, count, ins, outs, label);
    PyMem_RawFree(ins);
    return status;
}

PyObject *tg_py_stepper_rollout_jvp(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_sizes *n = &self->model->size;
    enum
    {
        GIVEN = 9
    };
    if (nargs != GIVEN + 1)
        return PyErr_Format(PyExc_TypeError, "rollout_jvp() takes 10 arguments, got %zd", nargs);
    int count = count_of(args[0], "count", 1, 1000000);
    if (count < 0 || !tg_py_stepper_idle(self) || !has_tape(self))
        return NULL;
    npy_intp rows = self->steps + 1, held = self->rows;
    npy_intp contacts = self->contacts != NULL ? PyArray_SIZE(self->contacts) : 0;
    tg_rollout_gradient in = {0};
    tg_trajectory out = {0};
    tg_label label = {0};
    tg_py_argument given[GIVEN] = {{"q", (npy_intp)count * n->nv, &in.q, NULL},
                                   {"v", (npy_intp)count * n->nv, &in.v, NULL},
                                   {"act", (npy_intp)count * n->na, &in.act, NULL},
                                   {"u", count * held * n->nu, &in.u, NULL},
                                   {"tau", count * held * n->nv, &in.tau, NULL},
                                   {"wrench", count * held * 6 * n->nbody, &in.wrench, NULL},
                                   {"dt", count, &in.dt, NULL},
                                   {"params", (npy_intp)count * n->nparams, &in.params, NULL},
                                   {"contact", count * contacts * TG_GIVEN_NUMBERS, &in.contact, NULL}};
    const tg_py_field fields[3] = {
        {&out.q, count * rows, n->nv, 2}, {&out.v, count * rows, n->nv, 2}, {&out.act, count * rows, n->na, 2}};
    PyObject *tuple = NULL;
    if (tg_py_take(given, GIVEN, args + 1) && (tuple = tg_py_new_fields(fields, 3, 1)) != NULL)
    {
        self->busy = true;
        PyThreadState *thread = PyEval_SaveThread();
        tg_status status = changes(self, count, &in, &out, &label);
        PyEval_RestoreThread(thread);
        self->busy = false;
        tuple = tg_py_finish(self, tuple, status, &label);
    }
    tg_py_drop(given, GIVEN);
    return tuple;
}

/* ---- one step ---- */

PyObject *tg_py_stepper_rollout_return(PyObject *object, PyObject *step)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    if (!tg_py_stepper_idle(self) || !has_tape(self))
        return NULL;
    int at = count_of(step, "step", 0, self->steps - 1);
    if (at < 0)
        return NULL;
    tg_status status = tg_rollout_return(self->model->m, self->loan.work, self->tape, at);
    if (status != TG_OK)
        return tg_py_raise(status, tg_work_message(self->loan.work));
    Py_RETURN_NONE;
}

PyObject *tg_py_stepper_rollout_labels(PyObject *object, PyObject *unused)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    (void)unused;
    if (!tg_py_stepper_idle(self) || !has_tape(self))
        return NULL;
    tg_label *label = PyMem_RawMalloc(sizeof *label * (size_t)self->steps);
    if (label == NULL)
        return PyErr_NoMemory();
    tg_status status = tg_rollout_labels(self->model->m, self->loan.work, self->tape, label);
    PyObject *list = NULL;
    if (status != TG_OK)
        tg_py_raise(status, tg_work_message(self->loan.work));
    else
        list = PyList_New(self->steps);
    for (int i = 0; list != NULL && i < self->steps; ++i)
    {
        PyObject *one = Py_BuildValue("sdddO", tg_label_string(label[i].kind), label[i].margin, label[i].condition,
                                      label[i].residual, label[i].twofold ? Py_True : Py_False);
        if (one == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, one);
    }
    PyMem_RawFree(label);
    return list;
}
