/* The Stepper type: a workspace of its own, options, and one step as a function of its arguments. tangere.Sim and
 * tangere.step are made of it. */
#include "_core_step.h"

#include <string.h>

enum
{
    MOST_CONTACTS = 100000 /* room that is made by itself */
};

static PyArray_Descr *cache_type; /* of one tg_cache_entry */
static PyArray_Descr *given_type; /* of one tg_given_contact */

/* ---- the workspace ---- */

bool tg_py_stepper_follow(tg_py_stepper *self)
{
    PyObject *params = self->model->params;
    if (params == self->loan.params)
        return true;
    tg_status status = tg_work_set_params(self->loan.work, tg_py_params(params));
    if (status != TG_OK)
    {
        tg_py_raise(status, tg_work_message(self->loan.work));
        return false;
    }
    Py_INCREF(params);
    Py_SETREF(self->loan.params, params);
    return true;
}

static bool check_count(const tg_py_stepper *self, int contacts)
{
    char message[100];
    if (contacts <= self->most_contacts)
        return true;
    snprintf(message, sizeof message, "%d contact points in one step; max_contacts is %d", contacts,
             self->most_contacts);
    tg_py_raise(TG_ERR_CAPACITY, message);
    return false;
}

bool tg_py_stepper_grow(tg_py_stepper *self)
{
    tg_work *larger = NULL;
    tg_error error;
    int room, found;
    tg_work_contacts(self->loan.work, &room, &found);
    if (found <= room)
    {
        tg_py_raise(TG_ERR_CAPACITY, tg_work_message(self->loan.work));
        return false;
    }
    if (!check_count(self, found))
        return false;
    tg_status status = tg_work_create_for(self->model->m, found + found / 2, &larger, &error);
    if (status != TG_OK)
    {
        tg_py_raise(status, error.message);
        return false;
    }
    tg_work_destroy(self->loan.work);
    self->loan.work = larger;
    tg_work_set_params(larger, tg_py_params(self->loan.params));
    return true;
}

/* ---- arguments ---- */

/* What a step reads, and what Python must keep alive meanwhile. */
typedef struct arguments
{
    PyArrayObject *q, *v, *act, *cache, *u, *tau, *wrench, *contacts;
    tg_given_contacts given;
    tg_cache start;
    tg_state in;
    tg_control control;
} arguments;

static void drop_arguments(arguments *a)
{
    PyArrayObject *const array[] = {a->q, a->v, a->act, a->cache, a->u, a->tau, a->wrench, a->contacts};
    for (size_t i = 0; i < sizeof array / sizeof array[0]; ++i)
        Py_XDECREF(array[i]);
}

static PyArrayObject *new_vector(npy_intp length)
{
    return (PyArrayObject *)PyArray_ZEROS(1, &length, NPY_DOUBLE, 0);
}

static bool take_vector(PyObject *given, const char *name, npy_intp length, PyArrayObject **array)
{
    if (given == Py_None)
        return true;
    *array = tg_py_input(given, name, length);
    return *array != NULL;
}

static double *data_of(PyArrayObject *array)
{
    return array == NULL ? NULL : PyArray_DATA(array);
}

static bool take_cache(PyObject *given, arguments *a)
{
    if (given == Py_None)
        return true;
    Py_INCREF(cache_type);
    a->cache = (PyArrayObject *)PyArray_FromAny(given, cache_type, 1, 1, NPY_ARRAY_IN_ARRAY, NULL);
    if (a->cache == NULL)
        return false;
    int count = (int)PyArray_SIZE(a->cache);
    a->start = (tg_cache){.capacity = count, .count = count, .entry = PyArray_DATA(a->cache)};
    a->in.cache = &a->start;
    return true;
}

PyArrayObject *tg_py_given_array(PyObject *given)
{
    Py_INCREF(given_type);
    return (PyArrayObject *)PyArray_FromAny(given, given_type, 1, 1, NPY_ARRAY_IN_ARRAY, NULL);
}

static bool take_contacts(PyObject *given, arguments *a)
{
    if (given == Py_None)
        return true;
    a->contacts = tg_py_given_array(given);
    if (a->contacts == NULL)
        return false;
    a->given = (tg_given_contacts){(int)PyArray_SIZE(a->contacts), PyArray_DATA(a->contacts)};
    return true;
}

/* (q, v, act, cache, u, tau, wrench, contacts) */
static bool take_arguments(const tg_sizes *n, PyObject *const *args, arguments *a)
{
    *a = (arguments){0};
    if (!take_vector(args[0], "q", n->nq, &a->q) || !take_vector(args[1], "v", n->nv, &a->v) ||
        !take_vector(args[2], "act", n->na, &a->act) || !take_cache(args[3], a) ||
        !take_vector(args[4], "u", n->nu, &a->u) || !take_vector(args[5], "tau", n->nv, &a->tau) ||
        !take_vector(args[6], "wrench", (npy_intp)6 * n->nbody, &a->wrench) || !take_contacts(args[7], a))
        return false;
    if (a->act == NULL)
        a->act = new_vector(n->na);
    if (a->act == NULL)
        return false;
    a->in.q = data_of(a->q);
    a->in.v = data_of(a->v);
    a->in.act = data_of(a->act);
    a->control = (tg_control){.u = data_of(a->u), .tau = data_of(a->tau), .wrench = data_of(a->wrench)};
    a->control.contacts = a->contacts != NULL ? &a->given : NULL;
    return true;
}

/* ---- results ---- */

typedef struct results
{
    PyArrayObject *q, *v, *act;
    tg_cache cache;
    tg_state out;
    tg_info info;
} results;

/* A place in the cache for every constraint that can be there at once. */
static int cache_room(const tg_py_stepper *self)
{
    const tg_sizes *n = &self->model->size;
    int room;
    tg_work_contacts(self->loan.work, &room, NULL);
    return room + n->nequality + n->nv + 2 * n->njoint + 3 * n->ntendon;
}

static void drop_results(results *r)
{
    Py_XDECREF(r->q);
    Py_XDECREF(r->v);
    Py_XDECREF(r->act);
    PyMem_RawFree(r->cache.entry);
}

static bool make_results(const tg_py_stepper *self, results *r)
{
    const tg_sizes *n = &self->model->size;
    int room = cache_room(self);
    *r = (results){.q = new_vector(n->nq), .v = new_vector(n->nv), .act = new_vector(n->na)};
    r->cache = (tg_cache){.capacity = room, .entry = PyMem_RawMalloc((size_t)room * sizeof(tg_cache_entry) + 1)};
    if (r->q == NULL || r->v == NULL || r->act == NULL || r->cache.entry == NULL)
    {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return false;
    }
    r->out = (tg_state){data_of(r->q), data_of(r->v), data_of(r->act), &r->cache};
    return true;
}

/* States are not changed once they are there, so that they can be handed out without a copy. */
static PyObject *sealed(PyArrayObject **array)
{
    PyObject *out = (PyObject *)*array;
    PyArray_CLEARFLAGS(*array, NPY_ARRAY_WRITEABLE);
    *array = NULL;
    return out;
}

PyObject *tg_py_cache_array(const tg_cache *cache)
{
    npy_intp count = cache->count;
    Py_INCREF(cache_type);
    PyArrayObject *array = (PyArrayObject *)PyArray_SimpleNewFromDescr(1, &count, cache_type);
    if (array == NULL)
        return NULL;
    memcpy(PyArray_DATA(array), cache->entry, (size_t)count * sizeof(tg_cache_entry));
    return sealed(&array);
}

/* The numbers of an info as Python's, from the bytes that a step returns: most of them nobody asks for. */
static PyObject *stepper_numbers(PyObject *object, PyObject *raw)
{
    (void)object;
    if (!PyBytes_Check(raw) || PyBytes_GET_SIZE(raw) != sizeof(tg_info))
        return PyErr_Format(PyExc_TypeError, "numbers() takes the last part of what step() returns");
    tg_info i;
    memcpy(&i, PyBytes_AS_STRING(raw), sizeof i);
    return Py_BuildValue("iiiiiidddddddddzii", (int)i.status, i.iterations, i.sweeps, i.contacts, i.rows, i.islands,
                         i.residual, i.primal, i.dual, i.complementarity, i.penetration, i.work, i.capacity, i.balance,
                         i.unrelaxed, i.law, i.worst, (int)i.stage);
}

/* (q, v, act, cache, bytes of the info) */
static PyObject *pack_results(results *r)
{
    PyObject *cache = tg_py_cache_array(&r->cache), *out = NULL;
    PyObject *info = PyBytes_FromStringAndSize((const char *)&r->info, sizeof r->info);
    if (cache != NULL && info != NULL)
        out = PyTuple_New(5);
    if (out == NULL)
    {
        Py_XDECREF(cache);
        Py_XDECREF(info);
        return NULL;
    }
    PyTuple_SET_ITEM(out, 0, sealed(&r->q));
    PyTuple_SET_ITEM(out, 1, sealed(&r->v));
    PyTuple_SET_ITEM(out, 2, sealed(&r->act));
    PyTuple_SET_ITEM(out, 3, cache);
    PyTuple_SET_ITEM(out, 4, info);
    return out;
}

/* ---- the step ---- */

static tg_status run_step(tg_py_stepper *self, const arguments *a, results *r)
{
    self->busy = true;
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status = tg_step(self->model->m, self->loan.work, &self->options, &a->in, &a->control, &r->out, &r->info);
    PyEval_RestoreThread(thread);
    self->busy = false;
    self->given = a->given.count;
    return status;
}

static PyObject *step_with(tg_py_stepper *self, const arguments *a)
{
    results r = {0};
    PyObject *out = NULL;
    bool ok = tg_py_stepper_follow(self) && make_results(self, &r);
    tg_status status = ok ? run_step(self, a, &r) : TG_OK;
    while (status == TG_ERR_CAPACITY && tg_py_stepper_grow(self))
    {
        drop_results(&r);
        ok = make_results(self, &r);
        status = ok ? run_step(self, a, &r) : TG_OK;
    }
    if (status != TG_OK && status != TG_ERR_CAPACITY)
        tg_py_raise(status, tg_work_message(self->loan.work));
    else if (status == TG_OK && ok && check_count(self, r.info.contacts))
        out = pack_results(&r);
    drop_results(&r);
    return out;
}

bool tg_py_stepper_idle(const tg_py_stepper *self)
{
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError,
                        "another thread is taking a step with this object; make one for each thread");
    return !self->busy;
}

static PyObject *stepper_step(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    arguments a;
    PyObject *out = NULL;
    if (nargs != 8)
        return PyErr_Format(PyExc_TypeError, "step() takes 8 arguments, got %zd", nargs);
    if (!tg_py_stepper_idle(self))
        return NULL;
    if (take_arguments(&self->model->size, args, &a))
        out = step_with(self, &a);
    drop_arguments(&a);
    return out;
}

/* ---- contacts of the last step ---- */

typedef struct column
{
    int type, width;
    size_t offset;
} column;

/* geom1, geom2, point, normal, distance, force, torque, mode, margin, immaterial, local, id, gap */
static const column columns[] = {
    {NPY_INT, 1, offsetof(tg_step_contact, at.geom1)},       {NPY_INT, 1, offsetof(tg_step_contact, at.geom2)},
    {NPY_DOUBLE, 3, offsetof(tg_step_contact, at.point)},    {NPY_DOUBLE, 3, offsetof(tg_step_contact, at.normal)},
    {NPY_DOUBLE, 1, offsetof(tg_step_contact, at.distance)}, {NPY_DOUBLE, 3, offsetof(tg_step_contact, force)},
    {NPY_DOUBLE, 3, offsetof(tg_step_contact, torque)},      {NPY_INT, 1, offsetof(tg_step_contact, mode)},
    {NPY_DOUBLE, 1, offsetof(tg_step_contact, margin)},      {NPY_BOOL, 1, offsetof(tg_step_contact, immaterial)},
    {NPY_DOUBLE, 6, offsetof(tg_step_contact, local)},       {NPY_UINT64, 1, offsetof(tg_step_contact, at.id)},
    {NPY_DOUBLE, 1, offsetof(tg_step_contact, at.gap)},
};
_Static_assert(sizeof(tg_contact_mode) == sizeof(int) && sizeof(bool) == 1, "columns are read as they lie");

enum
{
    NCOLUMNS = sizeof columns / sizeof columns[0]
};

static PyObject *column_array(const column *c, const tg_step_contact *contact, int count)
{
    npy_intp shape[2] = {count, c->width};
    PyArrayObject *array = (PyArrayObject *)PyArray_SimpleNew(c->width > 1 ? 2 : 1, shape, c->type);
    if (array == NULL)
        return NULL;
    size_t bytes = (size_t)c->width * (size_t)PyArray_ITEMSIZE(array);
    for (int i = 0; i < count; ++i)
        memcpy(PyArray_BYTES(array) + (size_t)i * bytes, (const char *)&contact[i] + c->offset, bytes);
    return (PyObject *)array;
}

static PyObject *contact_columns(const tg_step_contact *contact, int count)
{
    PyObject *tuple = PyTuple_New(NCOLUMNS);
    for (int k = 0; tuple != NULL && k < NCOLUMNS; ++k)
    {
        PyObject *array = column_array(&columns[k], contact, count);
        if (array == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, k, array);
    }
    return tuple;
}

static PyObject *stepper_contacts(PyObject *object, PyObject *unused)
{
    (void)unused;
    tg_py_stepper *self = (tg_py_stepper *)object;
    int count = 0;
    if (!tg_py_stepper_idle(self))
        return NULL;
    tg_status status = tg_step_contacts(self->model->m, self->loan.work, NULL, 0, &count);
    if (status != TG_OK)
        return tg_py_raise(status, tg_work_message(self->loan.work));
    tg_step_contact *contact = PyMem_RawMalloc((size_t)(count + 1) * sizeof *contact);
    if (contact == NULL)
        return PyErr_NoMemory();
    status = tg_step_contacts(self->model->m, self->loan.work, contact, count, &count);
    PyObject *out =
        status == TG_OK ? contact_columns(contact, count) : tg_py_raise(status, tg_work_message(self->loan.work));
    PyMem_RawFree(contact);
    return out;
}

/* contacts of the last step, as a step takes them from outside */
static PyObject *stepper_given(PyObject *object, PyObject *unused)
{
    (void)unused;
    tg_py_stepper *self = (tg_py_stepper *)object;
    const tg_model *m = self->model->m;
    tg_work *w = self->loan.work;
    int count = 0;
    if (!tg_py_stepper_idle(self))
        return NULL;
    tg_status status = tg_step_contacts(m, w, NULL, 0, &count);
    tg_step_contact *contact = PyMem_RawMalloc((size_t)(count + 1) * sizeof *contact);
    if (contact == NULL)
        return PyErr_NoMemory();
    if (status == TG_OK)
        status = tg_step_contacts(m, w, contact, count, &count);
    npy_intp length = count;
    Py_INCREF(given_type);
    PyArrayObject *array = (PyArrayObject *)PyArray_Zeros(1, &length, given_type, 0);
    for (int i = 0; array != NULL && i < count && status == TG_OK; ++i)
        status = tg_give_contact(m, w, &contact[i].at, (tg_given_contact *)PyArray_DATA(array) + i);
    PyMem_RawFree(contact);
    if (status != TG_OK)
    {
        Py_CLEAR(array);
        tg_py_raise(status, tg_work_message(w));
    }
    return (PyObject *)array;
}

/* ---- the type ---- */

/* The library's own text of a law's name, or NULL with an exception set. */
static const char *law_name(const char *given)
{
    char message[200] = "";
    for (int i = 0; tg_law_name(i) != NULL; i++)
    {
        if (strcmp(tg_law_name(i), given) == 0)
            return tg_law_name(i);
        size_t used = strlen(message);
        snprintf(message + used, sizeof message - used, "%s'%s'", i > 0 ? ", " : "", tg_law_name(i));
    }
    PyErr_Format(PyExc_ValueError, "law: expected one of %s, got '%s'", message, given);
    return NULL;
}

bool tg_py_read_settings(PyObject *args, tg_py_settings *out)
{
    tg_options *o = &out->options;
    int damping, springs, actuators, gyroscopic, tendons, cold, project, poisson, impact, backward;
    PyObject *solver;
    const char *law;
    *o = tg_default_options();
    if (!PyArg_ParseTuple(args, "O!dUsdidippiiipppiiddddddddddi", &tg_py_model_type, &out->model, &o->dt, &solver, &law,
                          &o->eps, &o->staggered_steps, &o->tolerance, &o->effort, &damping, &springs, &actuators,
                          &gyroscopic, &tendons, &cold, &project, &poisson, &impact, &backward, &o->smooth_speed,
                          &o->smooth_width, &o->smooth_reach, &o->push_speed, &o->push_rate, &o->lever, &o->push_gain,
                          &o->friction_share, &o->reach, &o->rest_speed, &out->most_contacts))
    {
        out->model = NULL;
        return false;
    }
    Py_INCREF(out->model);
    Py_INCREF(solver);
    out->solver = solver;
    o->solver = PyUnicode_AsUTF8(solver);
    o->law = law_name(law);
    o->implicit_damping = damping != 0;
    o->implicit_springs = springs != 0;
    o->implicit_actuators = (tg_switch)actuators;
    o->implicit_gyroscopic = (tg_switch)gyroscopic;
    o->implicit_tendons = (tg_switch)tendons;
    o->cold = cold != 0;
    o->project = project != 0;
    o->restitution = poisson ? TG_RESTITUTION_POISSON : TG_RESTITUTION_NEWTON;
    o->impact = (tg_impact)impact;
    o->backward = (tg_backward)backward;
    o->energy = false; /* tangere.Info computes it when it is asked for */
    return o->solver != NULL && o->law != NULL;
}

static bool read_options(tg_py_stepper *self, PyObject *args)
{
    tg_py_settings s = {0};
    bool ok = tg_py_read_settings(args, &s);
    self->model = s.model;
    self->solver = s.solver;
    self->options = s.options;
    self->most_contacts = s.most_contacts;
    return ok;
}

static PyObject *stepper_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    tg_py_stepper *self = (tg_py_stepper *)type->tp_alloc(type, 0);
    if (self != NULL && (!read_options(self, args) || !tg_py_borrow(self->model, &self->loan)))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void stepper_dealloc(PyObject *object)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    tg_py_drop_tape(self);
    if (self->loan.work != NULL)
        tg_py_give_back(self->model, &self->loan);
    Py_XDECREF(self->solver);
    Py_XDECREF(self->model);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *stepper_stable_dt(PyObject *object, PyObject *unused)
{
    tg_py_stepper *self = (tg_py_stepper *)object;
    double dt = 0;
    (void)unused;
    tg_status status = tg_stable_dt(self->model->m, self->loan.work, &self->options, &dt);
    return status == TG_OK ? PyFloat_FromDouble(dt) : tg_py_raise(status, tg_work_message(self->loan.work));
}

static PyMethodDef stepper_methods[] = {
    {"stable_dt", stepper_stable_dt, METH_NOARGS,
     "stable_dt() -> float: the largest time step for which explicit springs, dampers and servos are stable, s"},
    {"numbers", stepper_numbers, METH_O, "numbers($self, info, /)\n--\n\nThe numbers of the info of a step."},
    {"step", (PyCFunction)(void (*)(void))stepper_step, METH_FASTCALL,
     "step($self, q, v, act, cache, u, tau, wrench, contacts, /)\n--\n\n"
     "One step; any argument but q and v may be None. Returns (q, v, act, cache, numbers of tangere.Info)."},
    {"contacts", stepper_contacts, METH_NOARGS,
     "contacts($self, /)\n--\n\nThe columns of tangere.StepContacts, of the last step."},
    {"given", stepper_given, METH_NOARGS,
     "given($self, /)\n--\n\nContacts of the last step as an array of GIVEN_CONTACT, which a step takes."},
    {"jacobian", tg_py_stepper_jacobian, METH_VARARGS,
     "jacobian($self, index, dt, contacts, wrench, given, /)\n--\n\nThe fields of tangere.Jacobian, of the last step; "
     "index: "
     "positions of "
     "parameters; dt, contacts: whether theirs are wanted."},
    {"vjp", (PyCFunction)(void (*)(void))tg_py_stepper_vjp, METH_FASTCALL,
     "vjp($self, gq, gv, gact, gforce, gtorque, gpoint, /)\n--\n\nThe fields of tangere.StepGradient; any argument may "
     "be "
     "None, those of contacts are flat."},
    {"jvp", (PyCFunction)(void (*)(void))tg_py_stepper_jvp, METH_FASTCALL,
     "jvp($self, q, v, act, u, tau, wrench, dt, params, contact, /)\n--\n\nThe fields of tangere.StepChange; any "
     "argument may "
     "be None."},
    {"rollout", (PyCFunction)(void (*)(void))tg_py_stepper_rollout, METH_FASTCALL,
     "rollout($self, steps, q, v, act, u, tau, wrench, hold, kind, contacts, counts, /)\n--\n\nSteps with rows of "
     "controls, flat. "
     "Returns "
     "(q, v, act, "
     "residual), row by row."},
    {"param_labels", tg_py_stepper_param_labels, METH_O,
     "param_labels($self, index, /)\n--\n\nWhat the derivative of the last step by each parameter is."},
    {"rollout_return", tg_py_stepper_rollout_return, METH_O,
     "rollout_return($self, step, /)\n--\n\nThe workspace holds that step of the rollout, as if it was the last."},
    {"rollout_labels", tg_py_stepper_rollout_labels, METH_NOARGS,
     "rollout_labels($self, /)\n--\n\nThe label of every step of the rollout."},
    {"rollout_vjp", (PyCFunction)(void (*)(void))tg_py_stepper_rollout_vjp, METH_FASTCALL,
     "rollout_vjp($self, gq, gv, gact, /)\n--\n\nThe fields of tangere.RolloutGradient; arguments are flat, or None."},
    {"rollout_jvp", (PyCFunction)(void (*)(void))tg_py_stepper_rollout_jvp, METH_FASTCALL,
     "rollout_jvp($self, count, q, v, act, u, tau, wrench, dt, params, /)\n--\n\nFor count directions: (q, v, act, "
     "label); "
     "arguments are "
     "flat, or None."},
    {0},
};

static PyTypeObject stepper_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Stepper",
    .tp_basicsize = sizeof(tg_py_stepper),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A workspace and options for steps of a model.",
    .tp_new = stepper_new,
    .tp_dealloc = stepper_dealloc,
    .tp_methods = stepper_methods,
};

/* id (8 bytes), impulse (6 numbers): what lies in a tg_cache_entry */
static PyArray_Descr *make_cache_type(void)
{
    PyArray_Descr *type = NULL;
    PyObject *fields = Py_BuildValue("[(s,s),(s,s,(i))]", "id", "u8", "impulse", "f8", 6);
    if (fields != NULL)
        PyArray_DescrConverter(fields, &type);
    Py_XDECREF(fields);
    _Static_assert(sizeof(tg_cache_entry) == 56 && offsetof(tg_cache_entry, impulse) == 8, "no padding");
    return type;
}

/* what lies in a tg_given_contact */
static PyArray_Descr *make_given_type(void)
{
    PyArray_Descr *type = NULL;
    PyObject *fields = Py_BuildValue("[(s,s),(s,s),(s,s),(s,s),(s,s,(i)),(s,s,(i)),(s,s),(s,s,(i)),(s,s),(s,s),(s,s),"
                                     "(s,s),(s,s)]",
                                     "body1", "i4", "body2", "i4", "condim", "i4", "id", "u8", "point", "f8", 3,
                                     "normal", "f8", 3, "gap", "f8", "friction", "f8", 3, "kinetic", "f8", "slip_speed",
                                     "f8", "restitution", "f8", "compliance", "f8", "damping", "f8");
    if (fields != NULL)
        PyArray_DescrAlignConverter(fields, &type);
    Py_XDECREF(fields);
    _Static_assert(sizeof(tg_given_contact) == 144 && offsetof(tg_given_contact, id) == 16 &&
                       offsetof(tg_given_contact, point) == 24,
                   "as the fields lie");
    return type;
}

bool tg_py_step_init(PyObject *module)
{
    cache_type = make_cache_type();
    given_type = make_given_type();
    return cache_type != NULL && given_type != NULL &&
           PyModule_AddObjectRef(module, "GIVEN_CONTACT", (PyObject *)given_type) == 0 &&
           PyType_Ready(&stepper_type) == 0 &&
           PyModule_AddObjectRef(module, "CACHE_ENTRY", (PyObject *)cache_type) == 0 &&
           PyModule_AddIntConstant(module, "MOST_CONTACTS", MOST_CONTACTS) == 0 &&
           PyModule_AddObjectRef(module, "Stepper", (PyObject *)&stepper_type) == 0;
}
