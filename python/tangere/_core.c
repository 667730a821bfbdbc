/* The extension module tangere._core. */
#define TG_PY_IMPORTS_NUMPY
#include "_core.h"

#include "_core_batch.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tangere._core",
    .m_doc = "The C side of tangere.",
    .m_size = -1,
};

/* The values of the enumerations that Python code meets, under the names that enums.py gives them. */
static bool add_constants(PyObject *module)
{
    static const struct
    {
        const char *name;
        int value;
    } constants[] = {
        {"JOINT_FREE", TG_JOINT_FREE},
        {"JOINT_BALL", TG_JOINT_BALL},
        {"JOINT_SLIDE", TG_JOINT_SLIDE},
        {"JOINT_HINGE", TG_JOINT_HINGE},
        {"GEOM_PLANE", TG_GEOM_PLANE},
        {"GEOM_HFIELD", TG_GEOM_HFIELD},
        {"GEOM_SPHERE", TG_GEOM_SPHERE},
        {"GEOM_CAPSULE", TG_GEOM_CAPSULE},
        {"GEOM_ELLIPSOID", TG_GEOM_ELLIPSOID},
        {"GEOM_CYLINDER", TG_GEOM_CYLINDER},
        {"GEOM_BOX", TG_GEOM_BOX},
        {"GEOM_MESH", TG_GEOM_MESH},
        {"TRANSMISSION_JOINT", TG_TRANSMISSION_JOINT},
        {"TRANSMISSION_TENDON", TG_TRANSMISSION_TENDON},
        {"TRANSMISSION_SITE", TG_TRANSMISSION_SITE},
        {"DYNAMICS_NONE", TG_DYNAMICS_NONE},
        {"DYNAMICS_INTEGRATOR", TG_DYNAMICS_INTEGRATOR},
        {"DYNAMICS_FILTER", TG_DYNAMICS_FILTER},
        {"DYNAMICS_FILTEREXACT", TG_DYNAMICS_FILTEREXACT},
        {"STEP_SOLVED", TG_STEP_SOLVED},
        {"STEP_PARTIAL", TG_STEP_PARTIAL},
        {"STEP_UNSTABLE", TG_STEP_UNSTABLE},
        {"SOLVED_BY_NOTHING", TG_SOLVED_BY_NOTHING},
        {"SOLVED_BY_WARM", TG_SOLVED_BY_WARM},
        {"SOLVED_BY_SOFT", TG_SOLVED_BY_SOFT},
        {"SOLVED_BY_LADDER", TG_SOLVED_BY_LADDER},
        {"SOLVED_BY_MULTIPLIERS", TG_SOLVED_BY_MULTIPLIERS},
        {"SOLVED_BY_INTERIOR", TG_SOLVED_BY_INTERIOR},
        {"SOLVED_BY_PATH", TG_SOLVED_BY_PATH},
        {"SOLVED_BY_SWEEPS", TG_SOLVED_BY_SWEEPS},
        {"CONTACT_BREAKING", TG_CONTACT_BREAKING},
        {"CONTACT_STICKING", TG_CONTACT_STICKING},
        {"CONTACT_SLIDING", TG_CONTACT_SLIDING},
        {"REPORT_HONOURED", TG_REPORT_HONOURED},
        {"REPORT_APPROXIMATED", TG_REPORT_APPROXIMATED},
        {"REPORT_IGNORED_PHYSICS", TG_REPORT_IGNORED_PHYSICS},
        {"REPORT_NOTED", TG_REPORT_NOTED},
    };
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return false;
    return PyModule_AddStringConstant(module, "version", tg_version()) == 0 &&
           PyModule_AddStringConstant(module, "cpu_path", tg_cpu_path()) == 0;
}

/* The names of the contact solvers. */
static bool add_solvers(PyObject *module)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && tg_solver_name(i) != NULL; ++i)
    {
        PyObject *name = PyUnicode_FromString(tg_solver_name(i));
        if (name == NULL || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    bool ok = tuple != NULL && PyModule_AddObjectRef(module, "SOLVERS", tuple) == 0;
    Py_XDECREF(list);
    Py_XDECREF(tuple);
    return ok;
}

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    import_array();
    if (PyType_Ready(&tg_py_model_type) < 0 || !tg_py_errors_init())
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    if (!add_constants(module) || !add_solvers(module) || !tg_py_dynamics_init(module) || !tg_py_scene_init(module) ||
        !tg_py_collide_init(module) || !tg_py_step_init(module) || !tg_py_check_init() || !tg_py_batch_init(module) ||
        !tg_py_function_init(module) || !tg_py_control_init(module) || !tg_py_planner_init(module) ||
        !tg_py_looks_init() || !tg_py_cartesian_init(module) || !tg_py_qcqp_init(module) ||
        PyModule_AddObjectRef(module, "Model", (PyObject *)&tg_py_model_type) < 0)
        Py_CLEAR(module);
    return module;
}
