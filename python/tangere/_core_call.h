/* From a Python call to a call of the library, driven by a description of the arguments and results. */
#ifndef TG_PYTHON_CORE_CALL_H
#define TG_PYTHON_CORE_CALL_H

#include "_core.h"

enum
{
    TG_PY_MAX_IN = 7, /* one more than any function has: lists end with a NULL name */
    TG_PY_MAX_OUT = 7
};

/* The lengths that arrays have. */
typedef enum tg_py_dim
{
    NONE,
    NQ,
    NV,
    NU,
    NA,
    NPARAMS,
    NBODY,
    NGEOM,
    NSITE,
    NINERTIAL, /* ten inertial parameters a body */
    NINDEX,    /* as many as chosen parameters */
    N3,
    N4,
    N6
} tg_py_dim;

typedef enum tg_py_kind
{
    VECTOR,  /* dim numbers */
    ELEMENT, /* name or index of an element */
    INDICES, /* positions in the parameter vector */
    FRAME,   /* "local", "world", "aligned" */
    SEED     /* an integer of 64 bits */
} tg_py_kind;

typedef struct tg_py_argument
{
    const char *name;
    tg_py_kind kind;
    tg_py_dim dim;
    tg_element element;
    const char *fallback; /* how the default is written: "None" (a null pointer), "'aligned'"; NULL: there is none */
} tg_py_argument;

typedef struct tg_py_result
{
    const char *name;
    tg_py_dim rows, cols; /* NONE, NONE: a scalar; NONE in cols: a vector */
} tg_py_result;

/* A named tuple; its fields are the results of the function that uses it. */
typedef struct tg_py_tuple
{
    const char *name;
    PyTypeObject *type;
} tg_py_tuple;

/* What a function of the library needs: all arguments, checked and converted. */
typedef struct tg_py_call
{
    const tg_model *m;
    tg_work *w;
    const tg_sizes *n;
    const double *in[TG_PY_MAX_IN]; /* where the argument is a vector */
    double *out[TG_PY_MAX_OUT];
    int element;
    tg_frame frame;
    uint64_t seed;
    const int *index;
    int nindex;
    tg_error error; /* of functions without a workspace */
} tg_py_call;

typedef struct tg_py_function
{
    const char *name;
    tg_status (*run)(tg_py_call *c);
    const char *doc;
    tg_py_argument in[TG_PY_MAX_IN];
    tg_py_result out[TG_PY_MAX_OUT];
    tg_py_tuple *tuple; /* NULL: one result */
    bool parallel;      /* long enough to let other threads run */
    bool plain;         /* does not use the workspace, and so leaves no message there */
} tg_py_function;

/* The body of a method (METH_FASTCALL | METH_KEYWORDS). */
PyObject *tg_py_invoke(const tg_py_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *names);

/* The doc string with the signature in front, in memory that is never freed; NULL with an exception set. */
const char *tg_py_doc(const tg_py_function *f);

/* Makes the type of f->tuple, if it is not there yet. */
bool tg_py_make_tuple(const tg_py_function *f);

#endif
