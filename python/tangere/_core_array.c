/* Arrays in and out, exceptions. */
#include "_core.h"

static PyObject *error_type, *unknown_type, *unknown_name;

bool tg_py_errors_init(void)
{
    PyObject *module = PyImport_ImportModule("tangere._errors");
    if (module == NULL)
        return false;
    error_type = PyObject_GetAttrString(module, "Error");
    unknown_type = PyObject_GetAttrString(module, "UnknownNameError");
    unknown_name = PyObject_GetAttrString(module, "unknown_name");
    Py_DECREF(module);
    return error_type != NULL && unknown_type != NULL && unknown_name != NULL;
}

PyObject *tg_py_raise(tg_status status, const char *message)
{
    if (message == NULL || message[0] == '\0')
        message = tg_status_string(status);
    if (status == TG_ERR_MEMORY)
        return PyErr_NoMemory();
    if (status == TG_ERR_FILE)
    {
        PyErr_SetString(PyExc_OSError, message);
        return NULL;
    }
    PyObject *type = status == TG_ERR_NAME ? unknown_type : error_type;
    PyObject *value = PyObject_CallFunction(type, "ss", message, tg_status_string(status));
    if (value != NULL)
        PyErr_SetObject(type, value);
    Py_XDECREF(value);
    return NULL;
}

PyObject *tg_py_raise_unknown(const char *kind, PyObject *name, PyObject *known)
{
    PyObject *value = known == NULL ? NULL : PyObject_CallFunction(unknown_name, "sOO", kind, name, known);
    if (value != NULL)
        PyErr_SetObject(unknown_type, value);
    Py_XDECREF(value);
    return NULL;
}

/* "(3, 4)", "(5,)", "()" */
static PyObject *shape_text(int ndim, const npy_intp *shape)
{
    PyObject *tuple = PyTuple_New(ndim);
    if (tuple == NULL)
        return NULL;
    for (int i = 0; i < ndim; ++i)
    {
        PyObject *n = PyLong_FromSsize_t(shape[i]);
        if (n == NULL)
        {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, n);
    }
    PyObject *text = PyObject_Repr(tuple);
    Py_DECREF(tuple);
    return text;
}

static void raise_shape(const char *name, int ndim, const npy_intp *shape, PyArrayObject *got)
{
    PyObject *expected = shape_text(ndim, shape);
    PyObject *actual = shape_text(PyArray_NDIM(got), PyArray_SHAPE(got));
    if (expected != NULL && actual != NULL)
        PyErr_Format(PyExc_ValueError, "%s: expected shape %U, got %U", name, expected, actual);
    Py_XDECREF(expected);
    Py_XDECREF(actual);
}

static bool has_shape(PyArrayObject *array, int ndim, const npy_intp *shape)
{
    return PyArray_NDIM(array) == ndim && PyArray_CompareLists(PyArray_SHAPE(array), shape, ndim);
}

PyArrayObject *tg_py_input(PyObject *value, const char *name, npy_intp length)
{
    PyArrayObject *given = (PyArrayObject *)PyArray_FROM_O(value);
    if (given == NULL)
        return NULL;
    int type = PyArray_TYPE(given);
    PyArrayObject *array = NULL;
    if (!PyTypeNum_ISBOOL(type) && !PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISFLOAT(type))
        PyErr_Format(PyExc_TypeError, "%s: expected real numbers, got dtype %S", name,
                     (PyObject *)PyArray_DESCR(given));
    else if (!has_shape(given, 1, &length))
        raise_shape(name, 1, &length, given);
    else
        array = (PyArrayObject *)PyArray_FROM_OTF((PyObject *)given, NPY_DOUBLE,
                                                  NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST);
    Py_DECREF(given);
    return array;
}

PyArrayObject *tg_py_output(PyObject *out, const char *name, int ndim, const npy_intp *shape)
{
    if (out == NULL || out == Py_None)
        return (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_DOUBLE);
    if (!PyArray_Check(out))
        return (PyArrayObject *)PyErr_Format(PyExc_TypeError, "out %s: expected a NumPy array, got %s", name,
                                             Py_TYPE(out)->tp_name);
    PyArrayObject *array = (PyArrayObject *)out;
    if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY(array))
        return (PyArrayObject *)PyErr_Format(
            PyExc_ValueError, "out %s: expected a writeable C-contiguous array of float64, got dtype %S%s%s", name,
            (PyObject *)PyArray_DESCR(array), PyArray_ISWRITEABLE(array) ? "" : ", read-only",
            PyArray_IS_C_CONTIGUOUS(array) ? "" : ", not C-contiguous");
    if (!has_shape(array, ndim, shape))
    {
        char label[64];
        PyOS_snprintf(label, sizeof label, "out %s", name);
        raise_shape(label, ndim, shape, array);
        return NULL;
    }
    Py_INCREF(array);
    return array;
}

bool tg_py_overlap(PyArrayObject *a, PyArrayObject *b)
{
    const char *a0 = PyArray_BYTES(a), *b0 = PyArray_BYTES(b);
    return a0 < b0 + PyArray_NBYTES(b) && b0 < a0 + PyArray_NBYTES(a);
}

PyObject *tg_py_view(PyObject *base, const double *data, npy_intp length)
{
    /* NumPy takes no pointer to const; the array is made read-only before anybody sees it */
    PyObject *array = PyArray_SimpleNewFromData(1, &length, NPY_DOUBLE, (void *)(uintptr_t)data);
    if (array == NULL)
        return NULL;
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    Py_INCREF(base);
    if (PyArray_SetBaseObject((PyArrayObject *)array, base) < 0)
    {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}
