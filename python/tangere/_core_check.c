/* The check of a model's derivatives, behind tangere.check. */
#include "_core.h"

/* ---- the result as a dictionary ---- */

static PyObject *group_of(const tg_check_group *g)
{
    return Py_BuildValue("(sldlldddsisd)", g->name, g->compared, g->error, g->skipped, g->unresolved, g->largest,
                         g->derivative, g->differences, g->entry, g->state, tg_check_params_string(g->params),
                         g->condition);
}

static PyObject *groups_of(const tg_check_result *r)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < r->ngroup; i++)
    {
        const tg_check_group *g = &r->group[i];
        if (g->compared + g->skipped + g->unresolved == 0)
            continue;
        PyObject *group = group_of(g);
        if (group == NULL || PyList_Append(list, group) < 0)
            Py_CLEAR(list);
        Py_XDECREF(group);
    }
    return list;
}

static PyObject *modes_of(const tg_check_result *r)
{
    PyObject *modes = PyDict_New();
    for (int mode = 0; modes != NULL && mode < TG_CONTACT_MODES; mode++)
    {
        bool possible = r->touching && (mode != TG_CONTACT_SLIDING || r->sliding);
        PyObject *row = Py_BuildValue("(ilN)", r->with_mode[mode], r->contacts[mode], PyBool_FromLong(possible));
        if (row == NULL || PyDict_SetItemString(modes, tg_contact_mode_string((tg_contact_mode)mode), row) < 0)
            Py_CLEAR(modes);
        Py_XDECREF(row);
    }
    return modes;
}

static PyObject *result_of(const tg_check_result *r)
{
    return Py_BuildValue("{sNsisNsNsNsNsNsdslslslslslslslsdslsdsdsNsisd}", "passed", PyBool_FromLong(r->passed),
                         "states", r->states, "labels",
                         Py_BuildValue("{sisisi}", "exact", r->labels[TG_LABEL_EXACT], "one-sided",
                                       r->labels[TG_LABEL_ONE_SIDED], "regularised", r->labels[TG_LABEL_REGULARISED]),
                         "not_exact",
                         Py_BuildValue("{sisisi}", "own", r->not_exact[TG_CHECK_OWN], "nudged",
                                       r->not_exact[TG_CHECK_NUDGED], "soft", r->not_exact[TG_CHECK_SOFT]),
                         "left_out",
                         Py_BuildValue("{sisisisi}", "one-sided", r->left_out[TG_LABEL_ONE_SIDED], "regularised",
                                       r->left_out[TG_LABEL_REGULARISED], "unsolved", r->unsolved, "refused",
                                       r->refused),
                         "modes", modes_of(r), "groups", groups_of(r), "states_skipped", r->states_skipped, "compared",
                         r->compared, "unresolved", r->unresolved, "switched", r->switched, "tied", r->tied, "outside",
                         r->outside, "kinked", r->kinked, "refined", r->refined, "skipped", r->skipped, "infinite",
                         r->infinite, "jvp", r->jvp, "jacobian", r->jacobian, "implicit_actuators",
                         PyBool_FromLong(r->implicit_actuators), "overlaps", r->overlaps, "deepest", r->deepest);
}

/* ---- the call ---- */

/* Called without the GIL after every state: the caller's function, and signals. False if one of them raised. */
static bool report(void *user, int done, int states)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *function = user, *answer = NULL;
    bool goes_on = PyErr_CheckSignals() == 0;
    if (goes_on && function != Py_None)
    {
        answer = PyObject_CallFunction(function, "ii", done, states);
        goes_on = answer != NULL;
    }
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    return goes_on;
}

static PyObject *check(PyObject *object, PyObject *args)
{
    tg_py_model *self = (tg_py_model *)object;
    tg_check_options options = tg_default_check_options();
    PyObject *index = NULL, *progress = NULL;
    int impact = 0;
    if (!PyArg_ParseTuple(args, "iiO!Ois:_check", &options.states, &options.seed, &PyArray_Type, &index, &progress,
                          &impact, &options.law))
        return NULL;
    options.impact = (tg_impact)impact;
    tg_check_result *result = PyMem_Malloc(sizeof *result);
    if (result == NULL)
        return PyErr_NoMemory();
    PyObject *params = Py_NewRef(self->params);
    tg_error error;
    options.params = tg_py_params(params);
    options.index = PyArray_DATA((PyArrayObject *)index);
    options.nindex = (int)PyArray_SIZE((PyArrayObject *)index);
    options.progress = report;
    options.user = progress;
    PyThreadState *thread = PyEval_SaveThread();
    tg_status status = tg_check(self->m, &options, result, &error);
    PyEval_RestoreThread(thread);
    PyObject *out = NULL;
    if (status != TG_OK && !PyErr_Occurred())
        tg_py_raise(status, error.message);
    else if (!PyErr_Occurred())
        out = result_of(result);
    Py_DECREF(params);
    PyMem_Free(result);
    return out;
}

static PyMethodDef definition = {
    "_check", check, METH_VARARGS,
    "_check($self, states, seed, index, progress, impact, law, /)\n--\n\nThe fields of CheckResult, by name."};

bool tg_py_check_init(void)
{
    if (!tg_py_add_method(&definition))
        return false;
    PyType_Modified(&tg_py_model_type);
    return true;
}
