/* The Model type: its life, its workspaces, its parameters, its names and structure. */
#include "_core.h"

#include <string.h>

#include <structmember.h>

#include "tangere/contact.h"

static const char model_capsule[] = "tangere.model";
static const char params_capsule[] = "tangere.params";

/* ---- ownership: capsules that free what they hold with their last reference ---- */

static void free_model(PyObject *capsule)
{
    tg_model_destroy(PyCapsule_GetPointer(capsule, model_capsule));
}

/* the context of a parameter capsule is the capsule of its model, which must outlive it */
static void free_params(PyObject *capsule)
{
    PyObject *owner = PyCapsule_GetContext(capsule);
    tg_params_destroy(PyCapsule_GetPointer(capsule, params_capsule));
    Py_XDECREF(owner);
}

static tg_params *params_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, params_capsule);
}

const tg_params *tg_py_params(PyObject *capsule)
{
    return params_of(capsule);
}

static PyObject *new_params(const tg_py_model *self)
{
    tg_params *params = NULL;
    tg_error error;
    tg_status status = tg_params_create(self->m, &params, &error);
    if (status != TG_OK)
        return tg_py_raise(status, error.message);
    PyObject *capsule = PyCapsule_New(params, params_capsule, free_params);
    if (capsule == NULL)
    {
        tg_params_destroy(params);
        return NULL;
    }
    Py_INCREF(self->owner);
    PyCapsule_SetContext(capsule, self->owner);
    return capsule;
}

static PyObject *own_model(tg_model *m)
{
    PyObject *owner = PyCapsule_New(m, model_capsule, free_model);
    if (owner == NULL)
        tg_model_destroy(m);
    return owner;
}

/* A Model of class type with the default parameters. Takes a reference of its own to owner. */
static PyObject *new_model(PyTypeObject *type, PyObject *owner)
{
    tg_py_model *self = (tg_py_model *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    Py_INCREF(owner);
    self->owner = owner;
    self->m = PyCapsule_GetPointer(owner, model_capsule);
    self->size = tg_model_sizes(self->m);
    self->params = new_params(self);
    if (self->params == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void model_dealloc(PyObject *object)
{
    tg_py_model *self = (tg_py_model *)object;
    for (int i = 0; i < self->nidle; ++i)
        tg_work_destroy(self->idle[i]);
    PyMem_Free(self->idle);
    Py_XDECREF(self->params);
    Py_XDECREF(self->spare);
    Py_XDECREF(self->owner);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return PyErr_Format(PyExc_TypeError, "%s is made by tangere.load or tangere.load_string", type->tp_name);
}

/* ---- workspaces ---- */

/* Room for one more on the free list, so that giving back cannot fail. */
static bool reserve_idle(tg_py_model *self, int count)
{
    if (count <= self->capacity)
        return true;
    tg_work **grown = PyMem_Realloc(self->idle, (size_t)count * sizeof *grown);
    if (grown == NULL)
    {
        PyErr_NoMemory();
        return false;
    }
    self->idle = grown;
    self->capacity = count;
    return true;
}

static tg_work *new_work(tg_py_model *self)
{
    tg_work *work = NULL;
    tg_error error;
    if (!reserve_idle(self, self->capacity + 1))
        return NULL;
    tg_status status = tg_work_create(self->m, &work, &error);
    if (status != TG_OK)
    {
        --self->capacity;
        tg_py_raise(status, error.message);
    }
    return work;
}

bool tg_py_borrow(tg_py_model *self, tg_py_loan *loan)
{
    tg_work *work = self->nidle > 0 ? self->idle[--self->nidle] : new_work(self);
    if (work == NULL)
        return false;
    Py_INCREF(self->params);
    *loan = (tg_py_loan){work, self->params};
    tg_status status = tg_work_set_params(work, params_of(self->params));
    if (status == TG_OK)
        return true;
    tg_py_raise(status, tg_work_message(work));
    tg_py_give_back(self, loan);
    return false;
}

void tg_py_give_back(tg_py_model *self, tg_py_loan *loan)
{
    self->idle[self->nidle++] = loan->work;
    Py_CLEAR(loan->params);
}

/* ---- loading ---- */

PyObject *tg_py_model_of(PyTypeObject *type, tg_model *m)
{
    PyObject *owner = own_model(m);
    PyObject *self = owner == NULL ? NULL : new_model(type, owner);
    Py_XDECREF(owner);
    return self;
}

static PyObject *finish_load(PyTypeObject *type, tg_status status, tg_model *m, const tg_error *error)
{
    return status == TG_OK ? tg_py_model_of(type, m) : tg_py_raise(status, error->message);
}

/* Options as the package hands them over: (strict, package_path: tuple of bytes, floating_base, keep_fixed, srdf: bytes
 * or None, ignore_missing_meshes). *folders is the list that the options point to, to be freed. */
static int read_options(PyObject *given, tg_load_options *options, const char ***folders)
{
    PyObject *path = NULL;
    int strict = 0, floating_base = 0, keep_fixed = 0, ignore_missing = 0;
    PyObject *srdf = NULL;
    *folders = NULL;
    if (!PyArg_ParseTuple(given, "pO!ppOp:options", &strict, &PyTuple_Type, &path, &floating_base, &keep_fixed, &srdf,
                          &ignore_missing))
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(path);
    *folders = PyMem_Calloc((size_t)count + 1, sizeof **folders);
    if (*folders == NULL)
    {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
    {
        (*folders)[i] = PyBytes_AsString(PyTuple_GET_ITEM(path, i));
        if ((*folders)[i] == NULL)
            return -1;
    }
    *options = tg_default_load_options();
    options->strict = strict != 0;
    options->package_path = *folders;
    options->npackage_path = (int)count;
    options->floating_base = floating_base != 0;
    options->keep_fixed = keep_fixed != 0;
    options->ignore_missing_meshes = ignore_missing != 0;
    options->srdf = srdf == Py_None ? NULL : PyBytes_AsString(srdf);
    return srdf != Py_None && options->srdf == NULL ? -1 : 0;
}

static PyObject *model_load(PyObject *type, PyObject *args)
{
    PyObject *path = NULL, *given = NULL, *loaded = NULL;
    tg_load_options options;
    const char **folders = NULL;
    if (!PyArg_ParseTuple(args, "O&O!:_load", PyUnicode_FSConverter, &path, &PyTuple_Type, &given))
        return NULL;
    if (read_options(given, &options, &folders) == 0)
    {
        tg_model *m = NULL;
        tg_error error;
        PyThreadState *thread = PyEval_SaveThread();
        tg_status status = tg_load(PyBytes_AS_STRING(path), &options, &m, &error);
        PyEval_RestoreThread(thread);
        loaded = finish_load((PyTypeObject *)type, status, m, &error);
    }
    PyMem_Free(folders);
    Py_DECREF(path);
    return loaded;
}

static PyObject *model_load_string(PyObject *type, PyObject *args)
{
    const char *text = NULL;
    Py_ssize_t length = 0;
    PyObject *dir = NULL, *given = NULL, *loaded = NULL;
    tg_load_options options;
    const char **folders = NULL;
    if (!PyArg_ParseTuple(args, "s#O&O!:_load_string", &text, &length, PyUnicode_FSConverter, &dir, &PyTuple_Type,
                          &given))
        return NULL;
    if (read_options(given, &options, &folders) == 0)
    {
        tg_model *m = NULL;
        tg_error error;
        PyThreadState *thread = PyEval_SaveThread();
        tg_status status = tg_load_string(text, (size_t)length, PyBytes_AS_STRING(dir), &options, &m, &error);
        PyEval_RestoreThread(thread);
        loaded = finish_load((PyTypeObject *)type, status, m, &error);
    }
    PyMem_Free(folders);
    Py_DECREF(dir);
    return loaded;
}

/* ---- parameters ---- */

static PyObject *params_view(PyObject *self, void *closure)
{
    (void)closure;
    tg_py_model *model = (tg_py_model *)self;
    return tg_py_view(model->params, tg_params_view(params_of(model->params)), model->size.nparams);
}

static PyObject *default_params(PyObject *self, void *closure)
{
    (void)closure;
    tg_py_model *model = (tg_py_model *)self;
    return tg_py_view(model->owner, tg_params_view(tg_model_params(model->m)), model->size.nparams);
}

/* A parameter capsule that nobody else can see: the spare one, or a new one. */
static PyObject *take_spare(tg_py_model *self)
{
    PyObject *spare = self->spare;
    self->spare = NULL;
    return spare != NULL ? spare : new_params(self);
}

static void keep_spare(tg_py_model *self, PyObject *capsule)
{
    if (Py_REFCNT(capsule) == 1 && self->spare == NULL)
        self->spare = capsule;
    else
        Py_DECREF(capsule);
}

/* Calls that are under way and views that were handed out keep the parameters that they have: the new vector is
 * validated in a block of its own, which then takes the place of the old one. A refusal so changes nothing. */
static PyObject *set_params(PyObject *object, PyObject *value)
{
    tg_py_model *self = (tg_py_model *)object;
    PyArrayObject *vector = tg_py_input(value, "params", self->size.nparams);
    if (vector == NULL)
        return NULL;
    size_t bytes = (size_t)self->size.nparams * sizeof(double);
    bool same = memcmp(tg_params_view(params_of(self->params)), PyArray_DATA(vector), bytes) == 0;
    PyObject *capsule = same ? NULL : take_spare(self);
    if (capsule == NULL)
    {
        Py_DECREF(vector);
        if (same) /* nothing changes, and nothing becomes stale */
            Py_RETURN_NONE;
        return NULL;
    }
    tg_error error;
    tg_params *params = params_of(capsule);
    memcpy(tg_params_data(params), PyArray_DATA(vector), bytes);
    Py_DECREF(vector);
    tg_status status = tg_params_changed(params, &error);
    if (status != TG_OK)
    {
        keep_spare(self, capsule);
        return tg_py_raise(status, error.message);
    }
    PyObject *old = self->params;
    self->params = capsule;
    keep_spare(self, old);
    Py_RETURN_NONE;
}

/* (offset, size) of a parameter, or None if no parameter has that name */
static PyObject *param_find(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    int offset = 0, size = 0;
    tg_error error;
    if (text == NULL)
        return NULL;
    tg_status status = tg_param_find(((tg_py_model *)self)->m, text, &offset, &size, &error);
    if (status == TG_ERR_NAME)
        Py_RETURN_NONE;
    return status == TG_OK ? Py_BuildValue("ii", offset, size) : tg_py_raise(status, error.message);
}

/* the indices of all numbers whose name matches a pattern, or None */
static PyObject *param_match(PyObject *self, PyObject *pattern)
{
    const tg_model *m = ((tg_py_model *)self)->m;
    const char *text = PyUnicode_AsUTF8(pattern);
    int count = 0;
    tg_error error;
    if (text == NULL)
        return NULL;
    tg_status status = tg_param_match(m, text, NULL, 0, &count, &error);
    if (status == TG_ERR_NAME)
        Py_RETURN_NONE;
    npy_intp length = count;
    PyObject *index = status == TG_OK ? PyArray_SimpleNew(1, &length, NPY_INT) : NULL;
    if (index != NULL)
        status = tg_param_match(m, text, PyArray_DATA((PyArrayObject *)index), count, &count, &error);
    if (status == TG_OK)
        return index;
    Py_XDECREF(index);
    return tg_py_raise(status, error.message);
}

/* The name at an offset of the vector, of the whole slice or of the single number. */
static PyObject *param_name(const tg_model *m, int offset, bool whole)
{
    char buffer[1024];
    tg_status status = tg_param_name(m, offset, whole, buffer, sizeof buffer, NULL);
    return status == TG_OK ? PyUnicode_FromString(buffer) : tg_py_raise(status, "the name of a parameter is too long");
}

static PyObject *param_names(PyObject *self, PyObject *arg)
{
    const tg_model *m = ((tg_py_model *)self)->m;
    PyArrayObject *index = (PyArrayObject *)PyArray_FROM_OTF(arg, NPY_INT, NPY_ARRAY_IN_ARRAY);
    if (index == NULL)
        return NULL;
    PyObject *list = PyList_New(0);
    for (npy_intp i = 0; list != NULL && i < PyArray_SIZE(index); ++i)
    {
        PyObject *name = param_name(m, ((const int *)PyArray_DATA(index))[i], false);
        if (name == NULL || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    Py_DECREF(index);
    return list;
}

/* names of parameters that cannot matter, of those at some positions, and of what counts in their place */
static PyObject *param_masked(PyObject *object, PyObject *arg)
{
    tg_py_model *self = (tg_py_model *)object;
    PyArrayObject *index = (PyArrayObject *)PyArray_FROM_OTF(arg, NPY_INT, NPY_ARRAY_IN_ARRAY);
    PyObject *dict = index == NULL ? NULL : PyDict_New();
    for (npy_intp i = 0; dict != NULL && i < PyArray_SIZE(index); ++i)
    {
        int at = ((const int *)PyArray_DATA(index))[i], by = -1;
        tg_param_masked(self->m, params_of(self->params), at, &by, NULL);
        if (by < 0)
            continue;
        PyObject *name = param_name(self->m, at, false), *other = param_name(self->m, by, false);
        if (name == NULL || other == NULL || PyDict_SetItem(dict, name, other) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(other);
    }
    Py_XDECREF(index);
    return dict;
}

/* [(name, offset, size), ...] of all slices */
static PyObject *param_slices(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tg_model *m = ((tg_py_model *)self)->m;
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < tg_param_slice_count(m); ++i)
    {
        tg_param_slice slice;
        tg_status status = tg_param_slice_get(m, i, &slice, NULL);
        if (status != TG_OK)
        {
            Py_DECREF(list);
            return tg_py_raise(status, "slice of the parameters");
        }
        if (slice.size == 0)
            continue;
        PyObject *name = param_name(m, slice.offset, true);
        PyObject *item = name == NULL ? NULL : Py_BuildValue("Oii", name, slice.offset, slice.size);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
        Py_XDECREF(item);
    }
    return list;
}

/* ---- names ---- */

static int element_count(const tg_sizes *size, tg_element element)
{
    const int count[TG_ELEMENT_COUNT] = {
        [TG_BODY] = size->nbody,         [TG_JOINT] = size->njoint,   [TG_GEOM] = size->ngeom,
        [TG_SITE] = size->nsite,         [TG_TENDON] = size->ntendon, [TG_ACTUATOR] = size->nu,
        [TG_EQUALITY] = size->nequality, [TG_PAIR] = size->npair,     [TG_EXCLUDE] = size->nexclude,
        [TG_KEY] = size->nkey,           [TG_MESH] = size->nmesh,     [TG_HFIELD] = size->nhfield,
    };
    return count[element];
}

PyObject *tg_py_names(const tg_py_model *self, tg_element element)
{
    int count = element_count(&self->size, element);
    PyObject *list = PyList_New(count);
    for (int i = 0; list != NULL && i < count; ++i)
    {
        PyObject *name = PyUnicode_FromString(tg_name(self->m, element, i));
        if (name == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, name);
    }
    return list;
}

static int element_by_number(const tg_py_model *self, tg_element element, PyObject *number)
{
    int count = element_count(&self->size, element);
    Py_ssize_t index = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred())
        return -1;
    if (index >= 0 && index < count)
        return (int)index;
    PyErr_Format(PyExc_IndexError, "%s %zd: the model has %d", tg_element_string(element), index, count);
    return -1;
}

int tg_py_element(const tg_py_model *self, tg_element element, PyObject *name)
{
    if (PyIndex_Check(name))
        return element_by_number(self, element, name);
    if (!PyUnicode_Check(name))
    {
        PyErr_Format(PyExc_TypeError, "%s: expected a name or an index, got %s", tg_element_string(element),
                     Py_TYPE(name)->tp_name);
        return -1;
    }
    const char *text = PyUnicode_AsUTF8(name);
    int index = text == NULL ? -1 : tg_find(self->m, element, text);
    if (text != NULL && index < 0)
    {
        PyObject *known = tg_py_names(self, element);
        tg_py_raise_unknown(tg_element_string(element), name, known);
        Py_XDECREF(known);
    }
    return index;
}

/* The element of a kind ("body"); TG_ELEMENT_COUNT with an exception set. */
static tg_element element_of_kind(PyObject *kind)
{
    PyObject *known = PyList_New(0);
    tg_element found = TG_ELEMENT_COUNT;
    for (int e = 0; known != NULL && e < TG_ELEMENT_COUNT && found == TG_ELEMENT_COUNT; ++e)
    {
        PyObject *name = PyUnicode_FromString(tg_element_string((tg_element)e));
        if (name != NULL && PyUnicode_Check(kind) && PyUnicode_Compare(kind, name) == 0)
            found = (tg_element)e;
        if (name == NULL || PyList_Append(known, name) < 0)
            Py_CLEAR(known);
        Py_XDECREF(name);
    }
    if (known != NULL && found == TG_ELEMENT_COUNT)
        tg_py_raise_unknown("kind of element", kind, known);
    Py_XDECREF(known);
    return found;
}

static PyObject *model_names(PyObject *self, PyObject *kind)
{
    tg_element element = element_of_kind(kind);
    return element == TG_ELEMENT_COUNT ? NULL : tg_py_names((tg_py_model *)self, element);
}

static PyObject *model_index(PyObject *self, PyObject *args)
{
    PyObject *kind = NULL, *name = NULL;
    if (!PyArg_ParseTuple(args, "UO:index", &kind, &name))
        return NULL;
    tg_element element = element_of_kind(kind);
    int index = element == TG_ELEMENT_COUNT ? -1 : tg_py_element((tg_py_model *)self, element, name);
    return index < 0 ? NULL : PyLong_FromLong(index);
}

/* ---- structure ---- */

/* An array of ints as dict[name]; the memory to fill, or NULL. */
static int *add_ints(PyObject *dict, const char *name, int count)
{
    npy_intp length = count;
    PyObject *array = PyArray_SimpleNew(1, &length, NPY_INT);
    if (array == NULL)
        return NULL;
    int *data = PyArray_DATA((PyArrayObject *)array);
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    if (PyDict_SetItemString(dict, name, array) < 0)
        data = NULL;
    Py_DECREF(array);
    return data;
}

/* dict[element_field] = info.field of every element */
#define ADD_FIELD(element, count, field)                                                                               \
    do                                                                                                                 \
    {                                                                                                                  \
        int *out = add_ints(dict, #element "_" #field, count);                                                         \
        if (out == NULL)                                                                                               \
            return false;                                                                                              \
        for (int i = 0; i < (count); ++i)                                                                              \
        {                                                                                                              \
            tg_##element##_info info = {0};                                                                            \
            tg_##element##_get(m, i, &info, NULL);                                                                     \
            out[i] = (int)info.field;                                                                                  \
        }                                                                                                              \
    } while (0)

static bool fill_structure(const tg_py_model *self, PyObject *dict)
{
    const tg_model *m = self->m;
    const tg_sizes *n = &self->size;
    ADD_FIELD(body, n->nbody, parent);
    ADD_FIELD(body, n->nbody, tree);
    ADD_FIELD(body, n->nbody, joint);
    ADD_FIELD(body, n->nbody, njoint);
    ADD_FIELD(body, n->nbody, dof);
    ADD_FIELD(body, n->nbody, ndof);
    ADD_FIELD(body, n->nbody, geom);
    ADD_FIELD(body, n->nbody, ngeom);
    ADD_FIELD(joint, n->njoint, type);
    ADD_FIELD(joint, n->njoint, body);
    ADD_FIELD(joint, n->njoint, q);
    ADD_FIELD(joint, n->njoint, dof);
    ADD_FIELD(joint, n->njoint, limited);
    ADD_FIELD(geom, n->ngeom, type);
    ADD_FIELD(geom, n->ngeom, body);
    ADD_FIELD(geom, n->ngeom, mesh);
    ADD_FIELD(geom, n->ngeom, hfield);
    ADD_FIELD(geom, n->ngeom, contype);
    ADD_FIELD(geom, n->ngeom, conaffinity);
    ADD_FIELD(geom, n->ngeom, condim);
    ADD_FIELD(geom, n->ngeom, priority);
    ADD_FIELD(geom, n->ngeom, group);
    ADD_FIELD(actuator, n->nu, transmission);
    ADD_FIELD(actuator, n->nu, target);
    ADD_FIELD(actuator, n->nu, dynamics);
    ADD_FIELD(actuator, n->nu, act);
    ADD_FIELD(actuator, n->nu, ctrl_limited);
    ADD_FIELD(actuator, n->nu, force_limited);
    ADD_FIELD(actuator, n->nu, act_limited);
    int *site = add_ints(dict, "site_body", n->nsite);
    for (int i = 0; site != NULL && i < n->nsite; ++i)
        site[i] = tg_site_body(m, i);
    return site != NULL;
}

static PyObject *model_structure(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *dict = PyDict_New();
    if (dict != NULL && !fill_structure((tg_py_model *)self, dict))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *model_stable_dt(PyObject *self, PyObject *unused)
{
    double dt = 0;
    tg_error error;
    (void)unused;
    tg_status status = tg_model_stable_dt(((tg_py_model *)self)->m, &dt, &error);
    return status == TG_OK ? PyFloat_FromDouble(dt) : tg_py_raise(status, error.message);
}

/* [(kind, file, line, element, attribute, note), ...] */
static PyObject *model_report(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tg_model *m = ((tg_py_model *)self)->m;
    int count = tg_report_count(m);
    PyObject *list = PyList_New(count);
    for (int i = 0; list != NULL && i < count; ++i)
    {
        tg_report_entry e = {0};
        tg_report_get(m, i, &e, NULL);
        PyObject *item = Py_BuildValue("isisss", (int)e.kind, e.file, e.line, e.element, e.attribute, e.note);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* ---- numbers that need no workspace ---- */

static PyObject *get_name(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(tg_model_name(((tg_py_model *)self)->m));
}

static PyObject *get_timestep(PyObject *self, void *closure)
{
    (void)closure;
    return PyFloat_FromDouble(tg_model_timestep(((tg_py_model *)self)->m));
}

/* Takes the reference to copy, and gives it the parameters of the object; NULL when either fails. */
static PyObject *with_params_of(PyObject *object, PyObject *copy)
{
    PyObject *params = copy == NULL ? NULL : params_view(object, NULL);
    PyObject *done = params == NULL ? NULL : set_params(copy, params);
    Py_XDECREF(params);
    if (done == NULL)
        Py_CLEAR(copy);
    Py_XDECREF(done);
    return copy;
}

static PyObject *model_copy(PyObject *object, PyObject *unused)
{
    (void)unused;
    return with_params_of(object, new_model(Py_TYPE(object), ((tg_py_model *)object)->owner));
}

static PyObject *model_exclude_overlaps(PyObject *object, PyObject *unused)
{
    (void)unused;
    tg_model *without = NULL;
    tg_error error;
    const tg_model *m = ((tg_py_model *)object)->m;
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status = tg_exclude_overlaps(m, &without, &error);
    PyEval_RestoreThread(thread);
    return with_params_of(object, finish_load(Py_TYPE(object), status, without, &error));
}

/* ---- as bytes ---- */

static PyObject *model_to_bytes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const tg_model *m = ((tg_py_model *)object)->m;
    size_t size = tg_model_to_bytes(m, NULL, 0);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes != NULL && tg_model_to_bytes(m, PyBytes_AS_STRING(bytes), size) != size)
    {
        Py_CLEAR(bytes);
        PyErr_NoMemory();
    }
    return bytes;
}

static PyObject *model_from_bytes(PyObject *type, PyObject *bytes)
{
    char *data = NULL;
    Py_ssize_t size = 0;
    tg_model *m = NULL;
    tg_error error;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status = tg_model_from_bytes(data, (size_t)size, NULL, &m, &error);
    PyEval_RestoreThread(thread);
    return finish_load((PyTypeObject *)type, status, m, &error);
}

/* ---- the type ---- */

/* clang-format off */
#define SIZE(field, doc) {#field, T_INT, offsetof(tg_py_model, size.field), READONLY, doc}
/* clang-format on */

static PyMemberDef model_members[] = {
    SIZE(nq, "numbers in q"),
    SIZE(nv, "numbers in v, degrees of freedom"),
    SIZE(nu, "actuators, numbers in u"),
    SIZE(na, "activations, numbers in act"),
    SIZE(nbody, "bodies, the world included"),
    SIZE(njoint, "joints"),
    SIZE(ngeom, "geoms"),
    SIZE(nsite, "sites"),
    SIZE(ntendon, "tendons"),
    SIZE(nequality, "equality constraints"),
    SIZE(npair, "pairs of geoms with parameters of their own"),
    SIZE(nexclude, "pairs of bodies that do not collide"),
    SIZE(nkey, "keyframes"),
    SIZE(nmesh, "meshes"),
    SIZE(nhfield, "height fields"),
    SIZE(ntree, "kinematic trees that move"),
    SIZE(nparams, "numbers in params"),
    SIZE(ncandidate, "pairs of geoms that the filters let collide"),
    {0},
};

static PyGetSetDef model_getset[] = {
    {"name", get_name, NULL, "name of the model", NULL},
    {"timestep", get_timestep, NULL, "default time step, s", NULL},
    {"_params", params_view, NULL, "the current parameters, read-only", NULL},
    {"default_params", default_params, NULL, "the parameters that the model was loaded with, read-only", NULL},
    {0},
};

static PyMethodDef model_methods[] = {
    {"_load", model_load, METH_VARARGS | METH_CLASS, "_load($type, path, options, /)\n--\n\nA model from a file."},
    {"_load_string", model_load_string, METH_VARARGS | METH_CLASS,
     "_load_string($type, text, dir, options, /)\n--\n\nA model from a string."},
    {"_to_bytes", model_to_bytes, METH_NOARGS, "_to_bytes($self, /)\n--\n\nThe model without its parameters."},
    {"_from_bytes", model_from_bytes, METH_O | METH_CLASS,
     "_from_bytes($type, bytes, /)\n--\n\nA model from what _to_bytes gave."},
    {"_set_params", set_params, METH_O, "_set_params($self, values, /)\n--\n\nValidates and takes the whole vector."},
    {"_param_find", param_find, METH_O, "_param_find($self, name, /)\n--\n\n(offset, size) of a parameter, or None."},
    {"_param_match", param_match, METH_O,
     "_param_match($self, pattern, /)\n--\n\nPositions of all numbers that match a pattern, or None."},
    {"_param_names", param_names, METH_O, "_param_names($self, index, /)\n--\n\nNames of the numbers at positions."},
    {"_param_masked", param_masked, METH_O,
     "_param_masked($self, index, /)\n--\n\nThose that cannot matter, and what counts in their place, by name."},
    {"_param_slices", param_slices, METH_NOARGS, "_param_slices($self, /)\n--\n\n(name, offset, size) of all fields."},
    {"_structure", model_structure, METH_NOARGS, "_structure($self, /)\n--\n\nThe structure arrays, by name."},
    {"_stable_dt", model_stable_dt, METH_NOARGS,
     "_stable_dt($self, /)\n--\n\nThe largest stable time step of its explicit springs, dampers and servos, s."},
    {"_report", model_report, METH_NOARGS, "_report($self, /)\n--\n\nEntries of the report, as tuples."},
    {"names", model_names, METH_O,
     "names($self, kind, /)\n--\n\n"
     "Names of all elements of a kind ('body', 'joint', 'geom', ...), in their order; '' for one without a name."},
    {"index", model_index, METH_VARARGS,
     "index($self, kind, name, /)\n--\n\n"
     "Index of an element of a kind ('body', 'joint', ...) by its name; '#7' is element 7, named or not."},
    {"copy", model_copy, METH_NOARGS,
     "copy($self, /)\n--\n\nThe same model with parameters of its own, which start as these are. Cheap."},
    {"exclude_overlaps", model_exclude_overlaps, METH_NOARGS,
     "exclude_overlaps($self, /)\n--\n\n"
     "A copy of the model without collision of geoms that overlap by more than 1e-6 m in the reference pose\n"
     "at the model's default parameters, as coarse geoms of neighbouring links do.\n\n"
     "Planes, height fields and declared pairs still collide. The report of the copy has a line per pair,\n"
     "with the depth; everything else is unchanged."},
    {0},
};

PyTypeObject tg_py_model_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tangere._core.Model",
    .tp_basicsize = sizeof(tg_py_model),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "What a model computes; tangere.Model is its public face.",
    .tp_new = model_new,
    .tp_dealloc = model_dealloc,
    .tp_members = model_members,
    .tp_getset = model_getset,
    .tp_methods = model_methods,
};
