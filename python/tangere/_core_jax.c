/* Handlers that XLA calls for steps and rollouts, in its own threads and without the GIL. Built where jaxlib is, whose
 * headers they need. */
#include "_core_batch.h"

#ifdef TG_HAVE_JAX

#include <pthread.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

/* Functions that handlers know, by number; and one call at a time, which has all threads of its function. */
static struct
{
    pthread_mutex_t mutex;
    tg_function **function; /* NULL where one was forgotten */
    int64_t count, room;
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

int64_t tg_py_jax_know(tg_function *f)
{
    pthread_mutex_lock(&known.mutex);
    int64_t id = 0;
    for (int64_t i = 0; i < known.count && id == 0; i++)
        if (known.function[i] == f)
            id = i + 1;
    if (id == 0 && known.count == known.room)
    {
        int64_t room = 2 * known.room + 8;
        tg_function **larger = realloc(known.function, sizeof(tg_function *) * (size_t)room);
        if (larger != NULL)
        {
            known.function = larger;
            known.room = room;
        }
    }
    if (id == 0 && known.count < known.room)
    {
        known.function[known.count] = f;
        id = ++known.count;
    }
    pthread_mutex_unlock(&known.mutex);
    return id;
}

void tg_py_jax_forget(tg_function *f)
{
    pthread_mutex_lock(&known.mutex);
    for (int64_t i = 0; i < known.count; i++)
        if (known.function[i] == f)
            known.function[i] = NULL;
    pthread_mutex_unlock(&known.mutex);
}

/* ---- one call ---- */

static XLA_FFI_Error *refuse(const XLA_FFI_CallFrame *frame, const char *message)
{
    XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
                                      .message = message,
                                      .errc = XLA_FFI_Error_Code_INVALID_ARGUMENT};
    return frame->api->XLA_FFI_Error_Create(&args);
}

/* XLA asks a handler first which version of the interface it was built for. */
static bool is_query(const XLA_FFI_CallFrame *frame)
{
    if (frame->extension_start == NULL || frame->extension_start->type != XLA_FFI_Extension_Metadata)
        return false;
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return true;
}

static int64_t attribute(const XLA_FFI_CallFrame *frame, const char *name)
{
    for (int64_t i = 0; i < frame->attrs.size; i++)
    {
        const XLA_FFI_ByteSpan *n = frame->attrs.names[i];
        const XLA_FFI_Scalar *value = frame->attrs.attrs[i];
        if (frame->attrs.types[i] == XLA_FFI_AttrType_SCALAR && value->dtype == XLA_FFI_DataType_S64 &&
            n->len == strlen(name) && memcmp(n->ptr, name, n->len) == 0)
            return *(const int64_t *)value->value;
    }
    return 0;
}

static int64_t size_of(const XLA_FFI_Buffer *b)
{
    int64_t size = b->dtype == XLA_FFI_DataType_F64 ? 1 : -1;
    for (int64_t i = 0; i < b->rank; i++)
        size *= b->dims[i];
    return size;
}

/* Buffers of a call in the order of its arguments, then its results; ok: their number and sizes are as expected. */
typedef struct buffers
{
    const XLA_FFI_CallFrame *frame;
    int64_t next, next_result;
    bool ok;
} buffers;

static double *take(buffers *b, int64_t size)
{
    b->ok = b->ok && b->next < b->frame->args.size && size_of(b->frame->args.args[b->next]) == size;
    return b->ok ? ((const XLA_FFI_Buffer *)b->frame->args.args[b->next++])->data : NULL;
}

static double *take_result(buffers *b, int64_t size)
{
    b->ok = b->ok && b->next_result < b->frame->rets.size && size_of(b->frame->rets.rets[b->next_result]) == size;
    return b->ok ? ((const XLA_FFI_Buffer *)b->frame->rets.rets[b->next_result++])->data : NULL;
}

typedef struct sizes
{
    int64_t in[6], out[3]; /* numbers of q, v, act, u, tau, params; of q+, v+, act+ */
    int64_t k;
} sizes;

static sizes sizes_of(const tg_sizes *n, int64_t count, int64_t steps, int64_t k)
{
    int64_t rows = count * (steps > 0 ? steps : 1), states = count * (steps > 0 ? steps + 1 : 1);
    return (sizes){{count * n->nq, count * n->nv, count * n->na, rows * n->nu, rows * n->nv, count * k},
                   {states * n->nq, states * n->nv, states * n->na},
                   k};
}

static tg_function_input take_input(buffers *b, const sizes *s, int64_t count, int64_t steps)
{
    double *at[6];
    for (int i = 0; i < 6; i++)
        at[i] = take(b, s->in[i]);
    return (tg_function_input){(int)count, (int)steps, at[0], at[1], at[2], at[3], at[4], s->k > 0 ? at[5] : NULL};
}

static tg_function_gradient gradient(buffers *b, const sizes *s, double *(*get)(buffers *, int64_t))
{
    double *at[6];
    for (int i = 0; i < 6; i++)
        at[i] = get(b, s->in[i]);
    return (tg_function_gradient){at[0], at[1], at[2], at[3], at[4], s->k > 0 ? at[5] : NULL};
}

static tg_function_states states(buffers *b, const sizes *s, double *(*get)(buffers *, int64_t))
{
    double *at[3];
    for (int i = 0; i < 3; i++)
        at[i] = get(b, s->out[i]);
    return (tg_function_states){at[0], at[1], at[2]};
}

typedef tg_status call(tg_function *f, buffers *b, const sizes *s, const tg_function_input *in);

static tg_status run(tg_function *f, buffers *b, const sizes *s, const tg_function_input *in)
{
    tg_function_states out = states(b, s, take_result);
    return b->ok ? tg_function_run(f, in, NULL, &out) : TG_ERR_ARGUMENT;
}

static tg_status vjp(tg_function *f, buffers *b, const sizes *s, const tg_function_input *in)
{
    const double *q_out = take(b, s->out[0]);
    tg_function_states given = states(b, s, take);
    tg_function_gradient out = gradient(b, s, take_result);
    return b->ok ? tg_function_vjp(f, in, NULL, q_out, &given, &out) : TG_ERR_ARGUMENT;
}

static tg_status jvp(tg_function *f, buffers *b, const sizes *s, const tg_function_input *in)
{
    const double *q_out = take(b, s->out[0]);
    tg_function_gradient along = gradient(b, s, take);
    tg_function_states out = states(b, s, take_result);
    return b->ok ? tg_function_jvp(f, in, NULL, q_out, &along, &out) : TG_ERR_ARGUMENT;
}

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame, call *what)
{
    if (is_query(frame))
        return NULL;
    char message[640] = "tangere: this step's simulation is gone; keep the Sim or Batch alive";
    int64_t id = attribute(frame, "function"), steps = attribute(frame, "steps"), k = attribute(frame, "k"),
            count = frame->args.size > 0 ? ((const XLA_FFI_Buffer *)frame->args.args[0])->dims[0] : 0;
    tg_status status = TG_ERR_STALE;
    pthread_mutex_lock(&known.mutex);
    tg_function *f = id > 0 && id <= known.count ? known.function[id - 1] : NULL;
    if (f != NULL && count > 0)
    {
        buffers b = {.frame = frame, .ok = true};
        sizes s = sizes_of(&f->n, count, steps, k);
        tg_function_input in = take_input(&b, &s, count, steps);
        snprintf(f->message, sizeof f->message, "the buffers are not those of this model");
        status = what(f, &b, &s, &in);
        snprintf(message, sizeof message, "tangere: %s", f->message);
    }
    else if (f != NULL) /* no environments */
        status = TG_OK;
    pthread_mutex_unlock(&known.mutex);
    return status == TG_OK ? NULL : refuse(frame, message);
}

static XLA_FFI_Error *handle_run(XLA_FFI_CallFrame *frame)
{
    return handle(frame, run);
}

static XLA_FFI_Error *handle_vjp(XLA_FFI_CallFrame *frame)
{
    return handle(frame, vjp);
}

static XLA_FFI_Error *handle_jvp(XLA_FFI_CallFrame *frame)
{
    return handle(frame, jvp);
}

/* ---- the module ---- */

static bool add_handler(PyObject *module, const char *name, XLA_FFI_Handler *handler)
{
    union
    {
        XLA_FFI_Handler *function;
        void *data;
    } pointer = {.function = handler};
    PyObject *capsule = PyCapsule_New(pointer.data, NULL, NULL);
    bool ok = capsule != NULL && PyModule_AddObjectRef(module, name, capsule) == 0;
    Py_XDECREF(capsule);
    return ok;
}

bool tg_py_jax_init(PyObject *module)
{
    return add_handler(module, "jax_run", handle_run) && add_handler(module, "jax_vjp", handle_vjp) &&
           add_handler(module, "jax_jvp", handle_jvp);
}

#else

int64_t tg_py_jax_know(tg_function *f)
{
    (void)f;
    return 0;
}

void tg_py_jax_forget(tg_function *f)
{
    (void)f;
}

bool tg_py_jax_init(PyObject *module)
{
    (void)module;
    return true;
}

#endif
