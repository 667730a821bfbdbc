/* Scenes, and a model as text. */
#include "_core.h"

#include <string.h>

#include "tangere/scene.h"

typedef struct py_scene
{
    PyObject_HEAD tg_scene *s;
} py_scene;

static tg_scene *scene_of(PyObject *self)
{
    return ((py_scene *)self)->s;
}

static PyObject *scene_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    tg_error error;
    py_scene *self = (py_scene *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    tg_status status = tg_scene_create(NULL, &self->s, &error);
    if (status == TG_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return tg_py_raise(status, error.message);
}

static void scene_dealloc(PyObject *self)
{
    tg_scene_destroy(scene_of(self));
    Py_TYPE(self)->tp_free(self);
}

/* None, or the exception of a failure. */
static PyObject *finish(PyObject *self, tg_status status)
{
    if (status != TG_OK)
        return tg_py_raise(status, tg_scene_message(scene_of(self)));
    Py_RETURN_NONE;
}

/* ---- arguments ---- */

static bool take_vector(PyObject *value, const char *name, double *out, int count)
{
    PyArrayObject *array = tg_py_input(value, name, count);
    if (array == NULL)
        return false;
    memcpy(out, PyArray_DATA(array), (size_t)count * sizeof *out);
    Py_DECREF(array);
    return true;
}

static bool take_pose(PyObject *pos, PyObject *quat, double *p, double *q)
{
    return take_vector(pos, "pos", p, 3) && take_vector(quat, "quat", q, 4);
}

/* The fields of a geom that Python sets, by name. */
typedef struct geom_field
{
    const char *name;
    size_t offset;
    int count; /* doubles; 0: an int */
} geom_field;

#define NUMBERS(field, n)                                                                                              \
    {                                                                                                                  \
#field, offsetof(tg_geom_def, field), n                                                                        \
    }
#define INTEGER(field)                                                                                                 \
    {                                                                                                                  \
#field, offsetof(tg_geom_def, field), 0                                                                        \
    }

static const geom_field geom_fields[] = {
    INTEGER(type),       NUMBERS(size, 3),       NUMBERS(mass, 1),        NUMBERS(density, 1),    NUMBERS(friction, 3),
    NUMBERS(kinetic, 1), NUMBERS(slip_speed, 1), NUMBERS(restitution, 1), NUMBERS(compliance, 1), NUMBERS(margin, 1),
    INTEGER(contype),    INTEGER(conaffinity),   INTEGER(condim),         INTEGER(priority),      INTEGER(group),
};

static bool set_geom_field(tg_geom_def *def, const geom_field *field, PyObject *value)
{
    char *place = (char *)def + field->offset;
    if (field->count > 1)
        return take_vector(value, field->name, (double *)(void *)place, field->count);
    if (field->count == 1)
    {
        double number = PyFloat_AsDouble(value);
        memcpy(place, &number, sizeof number);
        return !(number == -1 && PyErr_Occurred());
    }
    long number = PyLong_AsLong(value);
    int integer = (int)number;
    if (number == -1 && PyErr_Occurred())
        return false;
    if (integer != number)
    {
        PyErr_Format(PyExc_OverflowError, "%s: %ld is too large", field->name, number);
        return false;
    }
    memcpy(place, &integer, sizeof integer);
    return true;
}

/* Sets the fields of a dict; others are refused. */
static bool take_geom(PyObject *fields, tg_geom_def *def)
{
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t at = 0;
    while (PyDict_Next(fields, &at, &key, &value))
    {
        const char *name = PyUnicode_AsUTF8(key);
        size_t i = 0, n = sizeof geom_fields / sizeof geom_fields[0];
        while (name != NULL && i < n && strcmp(name, geom_fields[i].name) != 0)
            i++;
        if (name != NULL && i == n)
            PyErr_Format(PyExc_TypeError, "a geom has no '%s'", name);
        if (name == NULL || i == n || !set_geom_field(def, &geom_fields[i], value))
            return false;
    }
    return true;
}

/* ---- methods ---- */

static PyObject *scene_set(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    PyObject *gravity = NULL;
    double timestep = 0, vector[3];
    if (!PyArg_ParseTuple(args, "sOd:_set", &name, &gravity, &timestep) || !take_vector(gravity, "gravity", vector, 3))
        return NULL;
    tg_status status = tg_scene_name(scene_of(self), name);
    if (status == TG_OK)
        status = tg_scene_gravity(scene_of(self), vector);
    if (status == TG_OK)
        status = tg_scene_timestep(scene_of(self), timestep);
    return finish(self, status);
}

static PyObject *scene_add(PyObject *self, PyObject *args)
{
    PyObject *object = NULL, *pos = NULL, *quat = NULL;
    tg_attach_def def = tg_default_attach();
    if (!PyArg_ParseTuple(args, "O!ssOO:_add", &tg_py_model_type, &object, &def.label, &def.prefix, &pos, &quat) ||
        !take_pose(pos, quat, def.pos, def.quat))
        return NULL;
    const tg_py_model *model = (const tg_py_model *)object;
    return finish(self, tg_scene_add_model(scene_of(self), model->m, tg_py_params(model->params), &def));
}

static PyObject *scene_prop(PyObject *self, PyObject *args)
{
    PyObject *pos = NULL, *quat = NULL, *fields = NULL;
    int fixed = 0;
    tg_prop_def def = tg_default_prop();
    if (!PyArg_ParseTuple(args, "zpOOO!:_prop", &def.name, &fixed, &pos, &quat, &PyDict_Type, &fields) ||
        !take_pose(pos, quat, def.pos, def.quat) || !take_geom(fields, &def.geom))
        return NULL;
    def.fixed = fixed != 0;
    return finish(self, tg_scene_prop(scene_of(self), &def, NULL));
}

static PyObject *scene_floor(PyObject *self, PyObject *args)
{
    PyObject *pos = NULL, *quat = NULL, *fields = NULL;
    tg_geom_def def = tg_default_floor();
    if (!PyArg_ParseTuple(args, "zOOO!:_floor", &def.name, &pos, &quat, &PyDict_Type, &fields) ||
        !take_pose(pos, quat, def.pos, def.quat) || !take_geom(fields, &def))
        return NULL;
    return finish(self, tg_scene_floor(scene_of(self), &def));
}

static PyObject *scene_hfield(PyObject *self, PyObject *args)
{
    PyObject *heights = NULL, *size = NULL, *pos = NULL, *quat = NULL, *fields = NULL;
    tg_hfield_def def = tg_default_hfield();
    tg_geom_def geom = tg_default_geom();
    if (!PyArg_ParseTuple(args, "zOOOOO!:_hfield", &def.name, &heights, &size, &pos, &quat, &PyDict_Type, &fields) ||
        !take_vector(size, "size", def.size, 4) || !take_pose(pos, quat, geom.pos, geom.quat) ||
        !take_geom(fields, &geom))
        return NULL;
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(heights, NPY_DOUBLE, 2, 2, NPY_ARRAY_IN_ARRAY);
    if (array == NULL)
        return NULL;
    def.nrow = (int)PyArray_DIM(array, 0);
    def.ncol = (int)PyArray_DIM(array, 1);
    def.elevation = PyArray_DATA(array);
    tg_status status = tg_scene_hfield(scene_of(self), &def, &geom);
    Py_DECREF(array);
    return finish(self, status);
}

static PyObject *scene_build(PyObject *self, PyObject *type)
{
    tg_model *m = NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &tg_py_model_type))
        return PyErr_Format(PyExc_TypeError, "_build takes a class of models");
    tg_status status = tg_scene_build(scene_of(self), &m);
    return status == TG_OK ? tg_py_model_of((PyTypeObject *)type, m)
                           : tg_py_raise(status, tg_scene_message(scene_of(self)));
}

static PyMethodDef scene_methods[] = {
    {"_set", scene_set, METH_VARARGS, "_set($self, name, gravity, timestep, /)\n--\n\nWhat the scene has of its own."},
    {"_add", scene_add, METH_VARARGS, "_add($self, model, label, prefix, pos, quat, /)\n--\n\nAdds a model."},
    {"_prop", scene_prop, METH_VARARGS,
     "_prop($self, name, fixed, pos, quat, geom, /)\n--\n\nAdds a body with a geom."},
    {"_floor", scene_floor, METH_VARARGS, "_floor($self, name, pos, quat, geom, /)\n--\n\nAdds a plane to the world."},
    {"_hfield", scene_hfield, METH_VARARGS,
     "_hfield($self, name, elevation, size, pos, quat, geom, /)\n--\n\nAdds a height field to the world."},
    {"_build", scene_build, METH_O, "_build($self, type, /)\n--\n\nMakes the model."},
    {0},
};

static PyTypeObject scene_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Scene",
    .tp_basicsize = sizeof(py_scene),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "What a scene is made of; tangere.Scene is its public face.",
    .tp_new = scene_new,
    .tp_dealloc = scene_dealloc,
    .tp_methods = scene_methods,
};

/* ---- a model as text ---- */

static PyObject *to_mjcf(PyObject *object, PyObject *unused)
{
    (void)unused;
    tg_py_model *self = (tg_py_model *)object;
    PyObject *params = self->params; /* stays alive while other threads run */
    Py_INCREF(params);
    char *text = NULL;
    size_t length = 0;
    tg_error error;
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status = tg_save_string(self->m, tg_py_params(params), NULL, &text, &length, &error);
    PyEval_RestoreThread(thread);
    Py_DECREF(params);
    if (status != TG_OK)
        return tg_py_raise(status, error.message);
    PyObject *string = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
    tg_save_string_free(NULL, text);
    return string;
}

static PyMethodDef to_mjcf_method = {
    "to_mjcf", to_mjcf, METH_NOARGS,
    "to_mjcf($self, /)\n--\n\n"
    "The model as MJCF, with the current parameters.\n\n"
    "Parameters without an MJCF attribute are written as custom numbers that `tangere.load` understands: loading the\n"
    "text gives the same structure, names and parameters, and writing that gives the same text."};

bool tg_py_scene_init(PyObject *module)
{
    PyObject *descriptor = PyDescr_NewMethod(&tg_py_model_type, &to_mjcf_method);
    bool ok = descriptor != NULL &&
              PyDict_SetItemString(tg_py_model_type.tp_dict, to_mjcf_method.ml_name, descriptor) == 0 &&
              PyType_Ready(&scene_type) == 0 && PyModule_AddObjectRef(module, "Scene", (PyObject *)&scene_type) == 0;
    Py_XDECREF(descriptor);
    PyType_Modified(&tg_py_model_type);
    return ok;
}
