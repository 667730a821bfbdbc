/* Contacts of a model, distances of shapes. The public faces are in model.py and shape.py. */
#include "_core.h"

#include <string.h>

#include "tangere/collision.h"
#include "tangere/contact.h"

/* ---- contacts of a model ---- */

/* Contact points, and where wanted their derivatives, in memory of their own. */
typedef struct contact_list
{
    tg_contact *contact;
    double *dpoint, *dnormal, *ddistance; /* NULL: not wanted */
    int capacity, count;
} contact_list;

static void free_list(contact_list *list)
{
    PyMem_RawFree(list->contact);
    PyMem_RawFree(list->dpoint);
    PyMem_RawFree(list->dnormal);
    PyMem_RawFree(list->ddistance);
    *list = (contact_list){0};
}

static bool make_list(contact_list *list, int capacity, size_t nv, bool derivatives)
{
    size_t n = (size_t)capacity;
    list->capacity = capacity;
    list->contact = PyMem_RawMalloc(n * sizeof *list->contact);
    if (derivatives)
    {
        list->dpoint = PyMem_RawCalloc(3 * n * nv, sizeof(double));
        list->dnormal = PyMem_RawCalloc(3 * n * nv, sizeof(double));
        list->ddistance = PyMem_RawCalloc(n * nv, sizeof(double));
    }
    if (list->contact != NULL &&
        (!derivatives || (list->dpoint != NULL && list->dnormal != NULL && list->ddistance != NULL)))
        return true;
    free_list(list);
    PyErr_NoMemory();
    return false;
}

static tg_status run(const tg_model *m, tg_work *w, const double *q, double margin, contact_list *list)
{
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status = list->dpoint == NULL
                           ? tg_collide(m, w, q, margin, list->contact, list->capacity, &list->count)
                           : tg_collide_derivatives(m, w, q, margin, list->contact, list->capacity, &list->count,
                                                    list->dpoint, list->dnormal, list->ddistance);
    PyEval_RestoreThread(thread);
    return status;
}

/* Once with room for what most states need, and again with room for all where that was not enough. */
static bool fill_list(tg_py_model *self, const double *q, double margin, bool derivatives, contact_list *list)
{
    enum
    {
        USUAL = 64
    };
    tg_py_loan loan;
    if (!tg_py_borrow(self, &loan))
        return false;
    bool ok = make_list(list, USUAL, (size_t)self->size.nv, derivatives);
    tg_status status = ok ? run(self->m, loan.work, q, margin, list) : TG_OK;
    if (ok && status == TG_OK && list->count > list->capacity)
    {
        int all = list->count;
        free_list(list);
        ok = make_list(list, all, (size_t)self->size.nv, derivatives);
        status = ok ? run(self->m, loan.work, q, margin, list) : TG_OK;
    }
    if (status != TG_OK)
    {
        tg_py_raise(status, tg_work_message(loan.work));
        free_list(list);
    }
    tg_py_give_back(self, &loan);
    return ok && status == TG_OK;
}

/* ---- as arrays ---- */

static PyObject *new_array(int ndim, const npy_intp *shape, int type, const void *data)
{
    PyObject *array = PyArray_SimpleNew(ndim, shape, type);
    if (array != NULL && data != NULL)
        memcpy(PyArray_DATA((PyArrayObject *)array), data, (size_t)PyArray_NBYTES((PyArrayObject *)array));
    return array;
}

enum
{
    NCOLUMNS = 7
};

/* (geom1, geom2, point, normal, distance, id, gap) */
static PyObject *contact_arrays(const contact_list *list)
{
    static const struct
    {
        int type, width;
        size_t offset;
    } column[NCOLUMNS] = {
        {NPY_INT, 1, offsetof(tg_contact, geom1)},       {NPY_INT, 1, offsetof(tg_contact, geom2)},
        {NPY_DOUBLE, 3, offsetof(tg_contact, point)},    {NPY_DOUBLE, 3, offsetof(tg_contact, normal)},
        {NPY_DOUBLE, 1, offsetof(tg_contact, distance)}, {NPY_UINT64, 1, offsetof(tg_contact, id)},
        {NPY_DOUBLE, 1, offsetof(tg_contact, gap)},
    };
    PyObject *tuple = PyTuple_New(NCOLUMNS);
    for (int k = 0; tuple != NULL && k < NCOLUMNS; ++k)
    {
        npy_intp shape[2] = {list->count, column[k].width};
        PyObject *array = new_array(column[k].width > 1 ? 2 : 1, shape, column[k].type, NULL);
        if (array == NULL)
        {
            Py_CLEAR(tuple);
            break;
        }
        size_t bytes = (size_t)column[k].width * (size_t)PyArray_ITEMSIZE((PyArrayObject *)array);
        char *to = PyArray_BYTES((PyArrayObject *)array);
        for (int i = 0; i < list->count; ++i)
            memcpy(to + (size_t)i * bytes, (const char *)&list->contact[i] + column[k].offset, bytes);
        PyTuple_SET_ITEM(tuple, k, array);
    }
    return tuple;
}

static PyObject *derivative_arrays(const contact_list *list, int nv)
{
    const npy_intp shape[3] = {list->count, 3, nv}, flat[2] = {list->count, nv};
    return Py_BuildValue("NNNN", contact_arrays(list), new_array(3, shape, NPY_DOUBLE, list->dpoint),
                         new_array(3, shape, NPY_DOUBLE, list->dnormal),
                         new_array(2, flat, NPY_DOUBLE, list->ddistance));
}

static PyObject *collide_with(PyObject *object, PyObject *args, bool derivatives)
{
    tg_py_model *self = (tg_py_model *)object;
    PyObject *given, *out = NULL;
    double margin;
    contact_list list = {0};
    if (!PyArg_ParseTuple(args, "Od", &given, &margin))
        return NULL;
    PyArrayObject *q = tg_py_input(given, "q", self->size.nq);
    if (q == NULL)
        return NULL;
    if (fill_list(self, PyArray_DATA(q), margin, derivatives, &list))
        out = derivatives ? derivative_arrays(&list, self->size.nv) : contact_arrays(&list);
    free_list(&list);
    Py_DECREF(q);
    return out;
}

static PyObject *collide(PyObject *self, PyObject *args)
{
    return collide_with(self, args, false);
}

static PyObject *collide_derivatives(PyObject *self, PyObject *args)
{
    return collide_with(self, args, true);
}

static PyObject *gap(PyObject *object, PyObject *args)
{
    tg_py_model *self = (tg_py_model *)object;
    PyObject *given, *out = NULL;
    int geom1, geom2;
    tg_py_loan loan;
    if (!PyArg_ParseTuple(args, "iiO", &geom1, &geom2, &given))
        return NULL;
    PyArrayObject *q = tg_py_input(given, "q", self->size.nq);
    npy_intp shape[1] = {self->size.nv};
    PyObject *slope = q == NULL ? NULL : PyArray_SimpleNew(1, shape, NPY_DOUBLE);
    if (slope != NULL && tg_py_borrow(self, &loan))
    {
        double value, *to = PyArray_DATA((PyArrayObject *)slope);
        tg_status status = tg_gap(self->m, loan.work, PyArray_DATA(q), geom1, geom2, &value, to);
        out = status == TG_OK ? Py_BuildValue("dO", value, slope) : tg_py_raise(status, tg_work_message(loan.work));
        tg_py_give_back(self, &loan);
    }
    Py_XDECREF(slope);
    Py_XDECREF(q);
    return out;
}

/* ---- shapes without a model ---- */

static const char hull_name[] = "tangere.hull";

static void destroy_hull(PyObject *capsule)
{
    tg_hull_destroy(PyCapsule_GetPointer(capsule, hull_name));
}

static PyObject *make_hull(PyObject *module, PyObject *vertices)
{
    (void)module;
    tg_hull *hull = NULL;
    tg_error error;
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_OTF(vertices, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
    if (array == NULL)
        return NULL;
    if (PyArray_NDIM(array) != 2 || PyArray_DIM(array, 1) != 3 || PyArray_DIM(array, 0) > INT_MAX)
    {
        Py_DECREF(array);
        PyErr_SetString(PyExc_ValueError, "vertices: expected an array of shape (n, 3)");
        return NULL;
    }
    tg_status status = tg_hull_create(PyArray_DATA(array), (int)PyArray_DIM(array, 0), NULL, &hull, &error);
    Py_DECREF(array);
    if (status != TG_OK)
        return tg_py_raise(status, error.message);
    PyObject *capsule = PyCapsule_New(hull, hull_name, destroy_hull);
    if (capsule == NULL)
        tg_hull_destroy(hull);
    return capsule;
}

/* A shape from the tuple (type, size, hull or None, elevation or None); what it points to stays with the tuple. Of a
 * height field, size has the four numbers of tg_shape.terrain and elevation is a float64 array of two dimensions. */
static bool read_shape(PyObject *tuple, tg_shape *shape)
{
    int type;
    PyObject *numbers, *hull, *elevation;
    *shape = tg_default_shape();
    if (!PyArg_ParseTuple(tuple, "iOOO", &type, &numbers, &hull, &elevation))
        return false;
    bool field = type == TG_GEOM_HFIELD;
    PyArrayObject *size = tg_py_input(numbers, "size", field ? 4 : 3);
    if (size == NULL)
        return false;
    shape->type = (tg_geom_type)type;
    memcpy(field ? shape->terrain : shape->size, PyArray_DATA(size), (field ? 4 : 3) * sizeof(double));
    Py_DECREF(size);
    if (hull != Py_None)
        shape->hull = PyCapsule_GetPointer(hull, hull_name);
    if (field)
    {
        PyArrayObject *heights = (PyArrayObject *)elevation;
        shape->nrow = (int)PyArray_DIM(heights, 0);
        shape->ncol = (int)PyArray_DIM(heights, 1);
        shape->elevation = PyArray_DATA(heights);
    }
    return !PyErr_Occurred();
}

/* (distance, normal, point) */
static PyObject *distance(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tuple[2], *given[2], *out = NULL;
    tg_shape shape[2];
    tg_contact c;
    tg_error error;
    if (!PyArg_ParseTuple(args, "O!OO!O", &PyTuple_Type, &tuple[0], &given[0], &PyTuple_Type, &tuple[1], &given[1]) ||
        !read_shape(tuple[0], &shape[0]) || !read_shape(tuple[1], &shape[1]))
        return NULL;
    PyArrayObject *pose1 = tg_py_input(given[0], "pose1", 7), *pose2 = NULL;
    if (pose1 != NULL)
        pose2 = tg_py_input(given[1], "pose2", 7);
    if (pose2 != NULL)
    {
        tg_status status = tg_distance(&shape[0], PyArray_DATA(pose1), &shape[1], PyArray_DATA(pose2), &c, &error);
        const npy_intp three = 3;
        out = status != TG_OK ? tg_py_raise(status, error.message)
                              : Py_BuildValue("dNN", c.distance, new_array(1, &three, NPY_DOUBLE, c.normal),
                                              new_array(1, &three, NPY_DOUBLE, c.point));
    }
    Py_XDECREF(pose1);
    Py_XDECREF(pose2);
    return out;
}

/* ---- registration ---- */

static PyMethodDef model_methods[] = {
    {"_collide", collide, METH_VARARGS, "_collide($self, q, margin, /)\n--\n\nThe columns of Contacts."},
    {"_gap", gap, METH_VARARGS, "_gap($self, geom1, geom2, q, /)\n--\n\nA gap and its derivative."},
    {"_collide_derivatives", collide_derivatives, METH_VARARGS,
     "_collide_derivatives($self, q, margin, /)\n--\n\nThe columns of Contacts, and those of ContactDerivatives."},
};

static PyMethodDef functions[] = {
    {"_hull", make_hull, METH_O, "_hull(vertices, /)\n--\n\nThe convex hull of points, for a Shape."},
    {"_distance", distance, METH_VARARGS, "_distance(shape1, pose1, shape2, pose2, /)\n--\n\nThe fields of Distance."},
    {NULL, NULL, 0, NULL},
};

bool tg_py_collide_init(PyObject *module)
{
    for (size_t i = 0; i < sizeof model_methods / sizeof model_methods[0]; ++i)
        if (!tg_py_add_method(&model_methods[i]))
            return false;
    PyType_Modified(&tg_py_model_type);
    return PyModule_AddFunctions(module, functions) == 0;
}
