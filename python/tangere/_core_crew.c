/* What the Batch and Function types share: a tg_batch with what Python keeps alive for it, and tapes. */
#include "_core_batch.h"

bool tg_py_wants(Py_ssize_t nargs, Py_ssize_t expected)
{
    if (nargs != expected)
        PyErr_Format(PyExc_TypeError, "takes %zd arguments, got %zd", expected, nargs);
    return nargs == expected;
}

bool tg_py_crew_open(tg_py_crew *crew, PyObject *settings, int n, int threads)
{
    tg_py_settings s = {0};
    tg_error error;
    bool ok = tg_py_read_settings(settings, &s);
    crew->model = s.model;
    crew->solver = s.solver;
    if (!ok)
        return false;
    tg_batch_def def = tg_default_batch();
    def.n = n;
    def.threads = threads;
    def.max_contacts = s.most_contacts;
    def.options = s.options;
    tg_status status = tg_batch_create(crew->model->m, &def, &crew->batch, &error);
    if (status != TG_OK)
        tg_py_raise(status, error.message);
    return status == TG_OK && tg_py_crew_ready(crew, NULL);
}

void tg_py_crew_close(tg_py_crew *crew)
{
    tg_batch_destroy(crew->batch);
    crew->batch = NULL;
    Py_CLEAR(crew->params);
    Py_CLEAR(crew->solver);
    Py_CLEAR(crew->model);
}

bool tg_py_crew_name(tg_py_crew *crew, PyObject *given)
{
    PyArrayObject *index = (PyArrayObject *)PyArray_FROMANY(given, NPY_INT, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (index == NULL)
        return false;
    int k = (int)PyArray_SIZE(index);
    tg_status status = tg_batch_name(crew->batch, PyArray_DATA(index), k);
    Py_DECREF(index);
    if (status != TG_OK)
        tg_py_raise(status, tg_batch_message(crew->batch));
    else
        crew->k = k;
    return status == TG_OK;
}

bool tg_py_crew_idle(const tg_py_crew *crew)
{
    if (crew->batch == NULL)
        tg_py_raise(TG_ERR_STALE, "the batch is closed");
    else if (crew->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread is using this object; make one for each thread");
    return !PyErr_Occurred();
}

bool tg_py_crew_ready(tg_py_crew *crew, PyObject *params)
{
    if (!tg_py_crew_idle(crew))
        return false;
    if (params == NULL)
        params = crew->model->params;
    if (params == crew->params)
        return true;
    tg_status status = tg_batch_set_params(crew->batch, tg_py_params(params));
    if (status != TG_OK)
        tg_py_raise(status, tg_batch_message(crew->batch));
    else
        Py_XSETREF(crew->params, Py_NewRef(params));
    return status == TG_OK;
}

/* ---- tapes ---- */

static void tape_dealloc(PyObject *object)
{
    tg_py_batch_tape *self = (tg_py_batch_tape *)object;
    tg_batch_tape_destroy(self->tape);
    Py_XDECREF(self->params);
    Py_XDECREF(self->model);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *tape_bytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tg_batch_tape_bytes(((tg_py_batch_tape *)object)->tape));
}

static PyGetSetDef tape_fields[] = {
    {"nbytes", tape_bytes, NULL, "Memory that the tape takes.", NULL},
    {0},
};

PyTypeObject tg_py_batch_tape_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.BatchTape",
    .tp_basicsize = sizeof(tg_py_batch_tape),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The data of rollouts that their derivatives need.",
    .tp_dealloc = tape_dealloc,
    .tp_getset = tape_fields,
};

PyObject *tg_py_crew_tape(const tg_py_crew *crew, PyObject *args)
{
    int count, steps, checkpoints;
    tg_error error;
    if (!tg_py_crew_idle(crew) || !PyArg_ParseTuple(args, "iip:tape", &count, &steps, &checkpoints))
        return NULL;
    tg_py_batch_tape *tape = (tg_py_batch_tape *)tg_py_batch_tape_type.tp_alloc(&tg_py_batch_tape_type, 0);
    if (tape == NULL)
        return NULL;
    tape->model = (tg_py_model *)Py_NewRef(crew->model);
    tape->count = count;
    tape->capacity = steps;
    tg_status status = tg_batch_tape_create(crew->batch, count, steps, checkpoints != 0, &tape->tape, &error);
    if (status != TG_OK)
    {
        tg_py_raise(status, error.message);
        Py_CLEAR(tape);
    }
    return (PyObject *)tape;
}
