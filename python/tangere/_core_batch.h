/* The Batch type of the extension: a tg_batch, the parameters of its model, and derivatives with respect to q as nq
 * numbers. */
#ifndef TG_PYTHON_CORE_BATCH_H
#define TG_PYTHON_CORE_BATCH_H

#include "_core_step.h"

#include "tangere/batch.h"

/* A tg_batch and what Python must keep alive for it: the Batch and Function types begin with this. */
typedef struct tg_py_crew
{
    tg_py_model *model;
    PyObject *solver; /* keeps the name that the options point to */
    PyObject *params; /* capsule of the parameters that all environments share */
    tg_batch *batch;  /* NULL: closed */
    int k;            /* named parameters */
    bool busy;
} tg_py_crew;

/* (settings as in tg_py_read_settings, n, threads). False with an exception set. */
bool tg_py_crew_open(tg_py_crew *crew, PyObject *settings, int n, int threads);
void tg_py_crew_close(tg_py_crew *crew);

/* Names parameters by an array of positions. */
bool tg_py_crew_name(tg_py_crew *crew, PyObject *index);

/* False with an exception set when it is closed, or another thread is using it. */
bool tg_py_crew_idle(const tg_py_crew *crew);

/* The parameters in a capsule (NULL: those that the model has now) are the shared ones from now on. False with an
 * exception set, also when it is closed or busy. */
bool tg_py_crew_ready(tg_py_crew *crew, PyObject *params);

/* Whether a method got as many arguments as it takes; false with an exception set. */
bool tg_py_wants(Py_ssize_t nargs, Py_ssize_t expected);

/* The numbers of a C-contiguous array of float64 with `size` entries, to be written to or only read; NULL where it is
 * None. False with an exception set. */
bool tg_py_numbers(PyObject *given, const char *name, npy_intp size, bool write, double **at);

/* Sets `status` (of the caller) to a call of the library, with the interpreter free for other threads. */
#define TG_PY_RELEASED(crew, call)                                                                                     \
    do                                                                                                                 \
    {                                                                                                                  \
        (crew)->busy = true;                                                                                           \
        PyThreadState *thread = PyEval_SaveThread();                                                                   \
        status = (call);                                                                                               \
        PyEval_RestoreThread(thread);                                                                                  \
        (crew)->busy = false;                                                                                          \
    } while (0)

/* A tg_batch_tape, and the parameters of its rollout. */
typedef struct tg_py_batch_tape
{
    PyObject_HEAD tg_py_model *model;
    PyObject *params; /* capsule; NULL: there was no rollout */
    tg_batch_tape *tape;
    int count, capacity, steps, rows, k; /* rows: of controls */
} tg_py_batch_tape;

extern PyTypeObject tg_py_batch_tape_type;

/* A tape from (count, steps, checkpoints); NULL with an exception set. */
PyObject *tg_py_crew_tape(const tg_py_crew *crew, PyObject *args);

/* ---- q as nq numbers (_core_chart.c) ----
 *
 * A function of q as nq numbers is f(q / |q|), quaternion by quaternion. With dq = 1/2 Q(q) dtheta (body frame), Q(q)^T
 * Q(q) = |q|^2 I: incoming changes dtheta = 2 Q(q)^T dq / |q|^2, incoming gradients g_q = 2 Q(q) g_theta / |q|^2,
 * outgoing (|q| = 1) g_theta = 1/2 Q(q)^T g_q and dq = 1/2 Q(q) dtheta. All other numbers of q are those of the tangent
 * space. */

typedef struct tg_chart
{
    int nq, nv, nquat;
    int *quat_q, *quat_v; /* where each quaternion is in q, and its three numbers in v */
} tg_chart;

/* From the joints of the model; false: no memory. */
bool tg_chart_make(const tg_model *m, tg_chart *c);
void tg_chart_drop(tg_chart *c);

/* rows x nq in place; false: a quaternion is zero or not finite (left as it is) */
bool tg_chart_normalise(const tg_chart *c, size_t rows, const double *q, double *to);

/* rows: of q, tangents (nv) and numbers (nq) alike */
void tg_chart_gradient_out(const tg_chart *c, size_t rows, const double *q, const double *gq, double *tangent);
void tg_chart_gradient_in(const tg_chart *c, size_t rows, const double *q, const double *tangent, double *gq);
void tg_chart_change_in(const tg_chart *c, size_t rows, const double *q, const double *dq, double *tangent);
void tg_chart_change_out(const tg_chart *c, size_t rows, const double *q, const double *tangent, double *dq);

/* ---- functions of a batch (_core_function.c) ----
 *
 * Steps and rollouts as functions of (q, v, act, u, tau, params): cold, any number of environments, q as nq numbers.
 * torch and JAX call these. */

typedef struct tg_function_input
{
    int count, steps;                             /* steps 0: one step */
    const double *q, *v, *act, *u, *tau, *params; /* [count, ...]; NULL: zero, shared */
} tg_function_input;

/* What a function gives, or gradients with respect to it; [count, ...], of a rollout [count, steps + 1, ...]. */
typedef struct tg_function_states
{
    double *q, *v, *act;
} tg_function_states;

/* Gradients with respect to what goes in, or a change of it; NULL: not wanted, zero. */
typedef struct tg_function_gradient
{
    double *q, *v, *act, *u, *tau, *params;
} tg_function_gradient;

/* The scratch they need grows and is kept here. */
typedef struct tg_function
{
    tg_batch *batch;
    tg_sizes n;
    tg_chart chart;
    double *scratch;
    size_t size;
    char message[600];
} tg_function;

/* tape: NULL, or what keeps a rollout (a step is taken once more instead). q_out: the q that tg_function_run gave. */
tg_status tg_function_run(tg_function *f, const tg_function_input *in, tg_batch_tape *tape,
                          const tg_function_states *out);
tg_status tg_function_vjp(tg_function *f, const tg_function_input *in, tg_batch_tape *tape, const double *q_out,
                          const tg_function_states *given, const tg_function_gradient *out);
tg_status tg_function_jvp(tg_function *f, const tg_function_input *in, tg_batch_tape *tape, const double *q_out,
                          const tg_function_gradient *along, const tg_function_states *out);

/* ---- handlers of JAX (_core_jax.c; nothing where the module was built without jaxlib) ---- */

/* The number by which handlers know a function; 0: there are none. Until it is forgotten. */
int64_t tg_py_jax_know(tg_function *f);
void tg_py_jax_forget(tg_function *f);

/* Adds a capsule of each handler to the module. */
bool tg_py_jax_init(PyObject *module);

/* Adds the types Batch, BatchTape and Function to the module. */
bool tg_py_batch_init(PyObject *module);
bool tg_py_function_init(PyObject *module);

/* Adds the functions behind tangere.least_squares and tangere.minimise to the module. */
bool tg_py_control_init(PyObject *module);

/* Adds the type Planner and the function behind tangere.control.lqr. */
bool tg_py_planner_init(PyObject *module);

#endif
