/* What a viewer draws of a model: meshes, hulls, height fields, tendons, colours and visual shapes. */
#include "_core.h"

#include <string.h>

/* ---- arrays that are copies ---- */

static PyObject *new_array(npy_intp rows, npy_intp columns, int type)
{
    const npy_intp shape[2] = {rows, columns};
    return PyArray_SimpleNew(columns > 0 ? 2 : 1, shape, type);
}

static PyObject *copy_doubles(const double *from, npy_intp rows, npy_intp columns, npy_intp stride)
{
    PyObject *array = new_array(rows, columns, NPY_DOUBLE);
    double *to = array != NULL ? PyArray_DATA((PyArrayObject *)array) : NULL;
    for (npy_intp i = 0; to != NULL && i < rows; ++i)
        memcpy(to + i * columns, from + i * stride, (size_t)columns * sizeof *to);
    return array;
}

static PyObject *copy_ints(const int *from, npy_intp rows, npy_intp columns)
{
    PyObject *array = new_array(rows, columns, NPY_INT);
    size_t count = (size_t)rows * (size_t)(columns > 0 ? columns : 1);
    if (array != NULL && count > 0)
        memcpy(PyArray_DATA((PyArrayObject *)array), from, count * sizeof *from);
    return array;
}

/* ---- elements ---- */

static PyObject *mesh_of(const tg_model *m, int i)
{
    tg_mesh_info info = {0};
    tg_mesh_get(m, i, &info, NULL);
    return Py_BuildValue("NN", copy_doubles(info.vertex, info.nvertex, 3, 3), copy_ints(info.face, info.nface, 3));
}

/* Polygons are cut into fans. */
static PyObject *hull_faces(const tg_hull_info *hull)
{
    npy_intp count = 0;
    for (int i = 0; i < hull->npolygon; ++i)
        count += hull->polygon_start[i + 1] - hull->polygon_start[i] - 2;
    PyObject *array = new_array(count, 3, NPY_INT);
    int *to = array != NULL ? PyArray_DATA((PyArrayObject *)array) : NULL;
    for (int i = 0; to != NULL && i < hull->npolygon; ++i)
    {
        const int *corner = hull->polygon + hull->polygon_start[i];
        for (int k = 2; k < hull->polygon_start[i + 1] - hull->polygon_start[i]; ++k, to += 3)
        {
            to[0] = corner[0];
            to[1] = corner[k - 1];
            to[2] = corner[k];
        }
    }
    return array;
}

/* None: the mesh does not collide */
static PyObject *hull_of(const tg_model *m, int i)
{
    tg_hull_info info = {0};
    tg_hull_get(m, i, &info, NULL);
    if (info.nvertex == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("NN", copy_doubles(info.vertex, info.nvertex, 3, 4), hull_faces(&info));
}

static PyObject *hfield_of(const tg_model *m, int i)
{
    tg_hfield_info info = {0};
    tg_hfield_get(m, i, &info, NULL);
    return copy_doubles(info.elevation, info.nrow, info.ncol, info.ncol);
}

static PyObject *tendon_of(const tg_model *m, int i)
{
    tg_tendon_info info = {0};
    tg_tendon_get(m, i, &info, NULL);
    return Py_BuildValue("iNN", (int)info.type, copy_ints(info.path_type, info.npath, 0),
                         copy_ints(info.path_id, info.npath, 0));
}

static PyObject *pair_of(const tg_model *m, int i)
{
    tg_pair_info info = {0};
    tg_pair_get(m, i, &info, NULL);
    return Py_BuildValue("ii", info.geom1, info.geom2);
}

static PyObject *colour_of(const tg_model *m, int i)
{
    tg_geom_info info = {0};
    tg_geom_get(m, i, &info, NULL);
    return Py_BuildValue("dddd", info.rgba[0], info.rgba[1], info.rgba[2], info.rgba[3]);
}

static PyObject *visual_of(const tg_model *m, int i)
{
    tg_visual_info v = {0};
    tg_visual_get(m, i, &v, NULL);
    return Py_BuildValue("sNii(ddd)(dddd)(ddd)(dddd)", v.name, PyUnicode_DecodeFSDefault(v.file), (int)v.type, v.body,
                         v.pos[0], v.pos[1], v.pos[2], v.quat[0], v.quat[1], v.quat[2], v.quat[3], v.size[0], v.size[1],
                         v.size[2], v.rgba[0], v.rgba[1], v.rgba[2], v.rgba[3]);
}

/* ---- all of them ---- */

static PyObject *list_of(const tg_model *m, int count, PyObject *(*one)(const tg_model *, int))
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list != NULL && i < count; ++i)
    {
        PyObject *item = one(m, i);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

static PyObject *looks(PyObject *object, PyObject *unused)
{
    (void)unused;
    const tg_model *m = ((tg_py_model *)object)->m;
    const tg_sizes n = tg_model_sizes(m);
    return Py_BuildValue("NNNNNNN", list_of(m, n.ngeom, colour_of), list_of(m, n.nmesh, mesh_of),
                         list_of(m, n.nmesh, hull_of), list_of(m, n.nhfield, hfield_of),
                         list_of(m, n.ntendon, tendon_of), list_of(m, n.npair, pair_of),
                         list_of(m, n.nvisual, visual_of));
}

static PyMethodDef definition = {"_looks", looks, METH_NOARGS,
                                 "_looks($self, /)\n--\n\nColours of geoms, meshes, hulls, height fields, tendons, "
                                 "pairs and visual shapes, as lists."};

bool tg_py_looks_init(void)
{
    if (!tg_py_add_method(&definition))
        return false;
    PyType_Modified(&tg_py_model_type);
    return true;
}
