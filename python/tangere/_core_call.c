#include "_core_call.h"

#include <stdio.h>
#include <string.h>

/* One call under way: what Python gave, and what it keeps alive. */
typedef struct invocation
{
    const tg_py_function *f;
    tg_py_model *model;
    PyObject *given[TG_PY_MAX_IN]; /* borrowed; NULL: not given */
    PyObject *given_out;
    PyArrayObject *in[TG_PY_MAX_IN];
    PyArrayObject *out[TG_PY_MAX_OUT];
    int nout;
    tg_py_call c;
} invocation;

static int argument_count(const tg_py_function *f)
{
    int n = 0;
    while (f->in[n].name != NULL)
        ++n;
    return n;
}

static int result_count(const tg_py_function *f)
{
    int n = 0;
    while (f->out[n].name != NULL)
        ++n;
    return n;
}

/* An argument can be left out if it and all that follow have a default. */
static bool may_omit(const tg_py_function *f, int i)
{
    while (f->in[i].name != NULL && f->in[i].fallback != NULL)
        ++i;
    return f->in[i].name == NULL;
}

static npy_intp length_of(const tg_py_call *c, tg_py_dim dim)
{
    const tg_sizes *n = c->n;
    const npy_intp length[] = {
        [NONE] = 0,
        [NQ] = n->nq,
        [NV] = n->nv,
        [NU] = n->nu,
        [NA] = n->na,
        [NPARAMS] = n->nparams,
        [NBODY] = n->nbody,
        [NGEOM] = n->ngeom,
        [NSITE] = n->nsite,
        [NINERTIAL] = (npy_intp)10 * n->nbody,
        [NINDEX] = c->nindex,
        [N3] = 3,
        [N4] = 4,
        [N6] = 6,
    };
    return length[dim];
}

/* ---- which argument is which ---- */

static PyObject **slot_of(invocation *call, PyObject *keyword)
{
    for (int i = 0; call->f->in[i].name != NULL; ++i)
        if (PyUnicode_CompareWithASCIIString(keyword, call->f->in[i].name) == 0)
            return &call->given[i];
    return PyUnicode_CompareWithASCIIString(keyword, "out") == 0 ? &call->given_out : NULL;
}

static bool bind_keywords(invocation *call, PyObject *const *values, PyObject *names)
{
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < count; ++i)
    {
        PyObject *keyword = PyTuple_GET_ITEM(names, i);
        PyObject **slot = slot_of(call, keyword);
        if (slot == NULL || *slot != NULL)
        {
            PyErr_Format(PyExc_TypeError, "%s() got %s argument '%U'", call->f->name,
                         slot == NULL ? "an unexpected" : "twice the", keyword);
            return false;
        }
        *slot = values[i];
    }
    return true;
}

static bool bind(invocation *call, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    const tg_py_function *f = call->f;
    int count = argument_count(f);
    if (nargs > count)
    {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments, got %zd", f->name, count, nargs);
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; ++i)
        call->given[i] = args[i];
    if (!bind_keywords(call, args + nargs, names))
        return false;
    for (int i = 0; i < count; ++i)
        if (call->given[i] == NULL && !may_omit(f, i))
        {
            PyErr_Format(PyExc_TypeError, "%s() is missing the argument '%s'", f->name, f->in[i].name);
            return false;
        }
    return true;
}

/* ---- conversion of the arguments ---- */

static bool convert_vector(invocation *call, int i)
{
    const tg_py_argument *a = &call->f->in[i];
    if (call->given[i] == Py_None && a->fallback != NULL)
        return true;
    call->in[i] = tg_py_input(call->given[i], a->name, length_of(&call->c, a->dim));
    call->c.in[i] = call->in[i] == NULL ? NULL : PyArray_DATA(call->in[i]);
    return call->in[i] != NULL;
}

/* An array of int; positions are checked by the library. */
static bool convert_indices(invocation *call, int i)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_OTF(call->given[i], NPY_INT, NPY_ARRAY_IN_ARRAY);
    if (array == NULL)
        return false;
    call->in[i] = array;
    call->c.index = PyArray_DATA(array);
    call->c.nindex = (int)PyArray_SIZE(array);
    return true;
}

static bool convert_frame(invocation *call, int i)
{
    static const char *const name[] = {
        [TG_FRAME_LOCAL] = "local", [TG_FRAME_WORLD] = "world", [TG_FRAME_ALIGNED] = "aligned"};
    PyObject *given = call->given[i];
    for (int k = 0; k < 3; ++k)
        if (PyUnicode_Check(given) && PyUnicode_CompareWithASCIIString(given, name[k]) == 0)
        {
            call->c.frame = (tg_frame)k;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "frame: expected 'local', 'world' or 'aligned', got %R", given);
    return false;
}

static bool convert_seed(invocation *call, int i)
{
    PyObject *number = PyNumber_Index(call->given[i]);
    call->c.seed = number == NULL ? 0 : PyLong_AsUnsignedLongLong(number);
    Py_XDECREF(number);
    if (!PyErr_Occurred())
        return true;
    PyObject *kind = PyErr_ExceptionMatches(PyExc_TypeError) ? PyExc_TypeError : PyExc_OverflowError;
    PyErr_Format(kind, "seed: expected a whole number from 0 to 2^64 - 1, got %R", call->given[i]);
    return false;
}

/* "body_pose(name, q)": how a function is called, for messages */
static void call_text(const tg_py_function *f, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s(", f->name);
    for (int i = 0; f->in[i].name != NULL && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ", f->in[i].name);
    if (used < size)
        snprintf(text + used, size - used, ")");
}

static bool convert_element(invocation *call, int i)
{
    PyObject *given = call->given[i];
    bool number = PyIndex_Check(given) && !(PyArray_Check(given) && PyArray_NDIM((PyArrayObject *)given) > 0);
    if (!number && !PyUnicode_Check(given))
    {
        char usage[160];
        call_text(call->f, usage, sizeof usage);
        PyErr_Format(PyExc_TypeError,
                     "%s: expected the name or the index of a %s, got %s; the order of arguments is %s",
                     call->f->in[i].name, tg_element_string(call->f->in[i].element), Py_TYPE(given)->tp_name, usage);
        return false;
    }
    call->c.element = tg_py_element(call->model, call->f->in[i].element, call->given[i]);
    return call->c.element >= 0;
}

static bool convert_arguments(invocation *call)
{
    static bool (*const convert[])(invocation *, int) = {
        [VECTOR] = convert_vector, [ELEMENT] = convert_element, [INDICES] = convert_indices,
        [FRAME] = convert_frame,   [SEED] = convert_seed,
    };
    call->c.frame = TG_FRAME_ALIGNED;
    for (int i = 0; call->f->in[i].name != NULL; ++i)
        if (call->given[i] != NULL && !convert[call->f->in[i].kind](call, i))
            return false;
    return true;
}

/* ---- results ---- */

static bool make_results(invocation *call)
{
    PyObject *given = call->given_out == Py_None ? NULL : call->given_out;
    bool several = call->f->tuple != NULL;
    if (given != NULL && several && (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != call->nout))
    {
        PyErr_Format(PyExc_TypeError, "%s(): out is a tuple of %d arrays", call->f->name, call->nout);
        return false;
    }
    for (int i = 0; i < call->nout; ++i)
    {
        const tg_py_result *r = &call->f->out[i];
        npy_intp shape[2] = {length_of(&call->c, r->rows), length_of(&call->c, r->cols)};
        int ndim = (r->rows != NONE) + (r->cols != NONE);
        PyObject *out = given != NULL && several ? PyTuple_GET_ITEM(given, i) : given;
        call->out[i] = tg_py_output(out, r->name, ndim, shape);
        if (call->out[i] == NULL)
            return false;
        call->c.out[i] = PyArray_DATA(call->out[i]);
    }
    return true;
}

/* The library writes while it still reads: an argument that shares memory with a result is copied first. */
static bool separate(invocation *call)
{
    if (call->given_out == NULL || call->given_out == Py_None)
        return true;
    for (int k = 0; k < call->nout; ++k)
    {
        for (int i = 0; i < TG_PY_MAX_IN; ++i)
        {
            if (call->c.in[i] == NULL || !tg_py_overlap(call->in[i], call->out[k]))
                continue;
            PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(call->in[i], NPY_CORDER);
            if (copy == NULL)
                return false;
            Py_SETREF(call->in[i], copy);
            call->c.in[i] = PyArray_DATA(copy);
        }
        for (int i = 0; i < k; ++i)
            if (tg_py_overlap(call->out[i], call->out[k]))
            {
                PyErr_Format(PyExc_ValueError, "%s(): two arrays of out share memory", call->f->name);
                return false;
            }
    }
    return true;
}

static bool run(invocation *call)
{
    tg_py_loan loan;
    if (!tg_py_borrow(call->model, &loan))
        return false;
    call->c.w = loan.work;
    PyThreadState *thread = call->f->parallel ? PyEval_SaveThread() : NULL;
    tg_status status = call->f->run(&call->c);
    if (thread != NULL)
        PyEval_RestoreThread(thread);
    if (status != TG_OK)
        tg_py_raise(status, call->f->plain ? call->c.error.message : tg_work_message(loan.work));
    tg_py_give_back(call->model, &loan);
    return status == TG_OK;
}

/* Takes an array out of the call; of no dimension: as a scalar. */
static PyObject *take(invocation *call, int i)
{
    PyArrayObject *array = call->out[i];
    call->out[i] = NULL;
    return PyArray_Return(array);
}

static PyObject *pack(invocation *call)
{
    if (call->f->tuple == NULL)
        return take(call, 0);
    PyObject *tuple = PyStructSequence_New(call->f->tuple->type);
    for (int i = 0; tuple != NULL && i < call->nout; ++i)
    {
        PyObject *item = take(call, i);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyStructSequence_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

PyObject *tg_py_invoke(const tg_py_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *names)
{
    tg_py_model *model = (tg_py_model *)self;
    invocation call = {.f = f, .model = model, .nout = result_count(f), .c = {.m = model->m, .n = &model->size}};
    PyObject *result = NULL;
    if (bind(&call, args, nargs, names) && convert_arguments(&call) && make_results(&call) && separate(&call) &&
        run(&call))
        result = pack(&call);
    for (int i = 0; i < TG_PY_MAX_IN; ++i)
        Py_XDECREF(call.in[i]);
    for (int i = 0; i < TG_PY_MAX_OUT; ++i)
        Py_XDECREF(call.out[i]);
    return result;
}

/* ---- documentation and types, from the same description ---- */

const char *tg_py_doc(const tg_py_function *f)
{
    size_t size = strlen(f->doc) + 256, used = 0;
    char *text = PyMem_RawMalloc(size);
    if (text == NULL)
        return (const char *)PyErr_NoMemory();
    used += (size_t)snprintf(text + used, size - used, "%s($self", f->name);
    for (int i = 0; f->in[i].name != NULL; ++i)
    {
        const char *fallback = may_omit(f, i) ? f->in[i].fallback : "";
        used += (size_t)snprintf(text + used, size - used, ", %s%s%s", f->in[i].name, fallback[0] == '\0' ? "" : "=",
                                 fallback);
    }
    snprintf(text + used, size - used, ", *, out=None)\n--\n\n%s", f->doc);
    return text;
}

bool tg_py_make_tuple(const tg_py_function *f)
{
    if (f->tuple->type != NULL)
        return true;
    PyStructSequence_Field field[TG_PY_MAX_OUT] = {{0}};
    for (int i = 0; f->out[i].name != NULL; ++i)
        field[i].name = f->out[i].name;
    PyStructSequence_Desc description = {f->tuple->name, "Named results of a method of `Model`.", field,
                                         result_count(f)};
    f->tuple->type = PyStructSequence_NewType(&description);
    return f->tuple->type != NULL;
}
