/* The methods of a Model that compute: one entry each, with its arguments, its results and the call of the library. */
#include "_core_call.h"

/* clang-format off */
/* ---- arguments ---- */

#define Q {.name = "q", .dim = NQ}
#define V {.name = "v", .dim = NV}
#define A {.name = "a", .dim = NV, .fallback = "None"}
#define TAU {.name = "tau", .dim = NV, .fallback = "None"}
#define ACT {.name = "act", .dim = NA, .fallback = "None"}
#define U {.name = "u", .dim = NU, .fallback = "None"}
#define Y {.name = "y", .dim = NV}
#define PARAMS {.name = "params", .kind = INDICES}
#define POINT {.name = "point", .dim = N3, .fallback = "None"}
#define TWIST_FRAME {.name = "frame", .kind = FRAME, .fallback = "'aligned'"}
#define NAMED(kind_of) {.name = "name", .kind = ELEMENT, .element = kind_of}

/* ---- results ---- */

#define NUMBER(id) {.name = id}
#define NUMBERS(id, length) {.name = id, .rows = length}
#define MATRIX(id, nrow, ncol) {.name = id, .rows = nrow, .cols = ncol}
/* clang-format on */

/* those with several parts are named tuples */

static tg_py_tuple pose = {.name = "tangere.Pose"};
static tg_py_tuple poses = {.name = "tangere.Poses"};
static tg_py_tuple energies = {.name = "tangere.Energy"};
static tg_py_tuple state = {.name = "tangere.State"};
static tg_py_tuple keyframe = {.name = "tangere.Key"};
static tg_py_tuple actuated = {.name = "tangere.Actuation"};
static tg_py_tuple two_derivatives = {.name = "tangere.Derivatives"};
static tg_py_tuple forward_derivatives = {.name = "tangere.ForwardDynamicsDerivatives"};
static tg_py_tuple actuation_derivative = {.name = "tangere.ActuationDerivatives"};
static tg_py_tuple rnea_gradient = {.name = "tangere.RneaGradient"};
static tg_py_tuple passive_gradient = {.name = "tangere.PassiveGradient"};
static tg_py_tuple actuation_gradient = {.name = "tangere.ActuationGradient"};
static tg_py_tuple forward_gradient = {.name = "tangere.ForwardDynamicsGradient"};

/* METHOD(name, description) { call of the library with c } */
#define METHOD(id, ...)                                                                                                \
    static tg_status run_##id(tg_py_call *c);                                                                          \
    static const tg_py_function id = {.name = #id, .run = run_##id, __VA_ARGS__};                                      \
    static PyObject *py_##id(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)                 \
    {                                                                                                                  \
        return tg_py_invoke(&id, self, args, nargs, names);                                                            \
    }                                                                                                                  \
    static tg_status run_##id(tg_py_call *c)

/* ---- configurations ---- */

METHOD(default_q, .out = {NUMBERS("q", NQ)}, .plain = true,
       .doc = "The reference configuration: every joint at its ref, free joints at their body's pose.\n\n"
              "Returns q (nq).")
{
    return tg_default_q(c->m, c->out[0], &c->error);
}

METHOD(random_state, .in = {{.name = "seed", .kind = SEED}}, .out = {NUMBERS("q", NQ), NUMBERS("v", NV)},
       .tuple = &state, .plain = true,
       .doc = "A random state within the joint limits, the same for the same seed on every machine.\n\n"
              "Returns (q (nq), v (nv)).")
{
    return tg_random_state(c->m, c->seed, c->out[0], c->out[1], &c->error);
}

METHOD(key, .in = {NAMED(TG_KEY)},
       .out = {NUMBER("time"), NUMBERS("q", NQ), NUMBERS("v", NV), NUMBERS("act", NA), NUMBERS("ctrl", NU)},
       .tuple = &keyframe, .plain = true,
       .doc = "A keyframe, by name or index.\n\nReturns (time (s), q (nq), v (nv), act (na), ctrl (nu)).")
{
    return tg_key_get(c->m, c->element, c->out[0], c->out[1], c->out[2], c->out[3], c->out[4], &c->error);
}

METHOD(integrate, .in = {Q, {.name = "dv", .dim = NV}}, .out = {NUMBERS("q", NQ)}, .plain = true,
       .doc = "q moved by the tangent vector dv (nv, in the frames of v): quaternions rotate, the rest is added.\n\n"
              "Returns q (nq).")
{
    return tg_integrate(c->m, c->in[0], c->in[1], c->out[0], &c->error);
}

METHOD(difference, .in = {{.name = "q0", .dim = NQ}, {.name = "q1", .dim = NQ}}, .out = {NUMBERS("dv", NV)},
       .plain = true,
       .doc = "The shortest tangent vector from q0 to q1: integrate(q0, difference(q0, q1)) is q1.\n\n"
              "Returns dv (nv).")
{
    return tg_difference(c->m, c->in[0], c->in[1], c->out[0], &c->error);
}

/* ---- kinematics ---- */

METHOD(body_pose, .in = {NAMED(TG_BODY), Q}, .out = {NUMBERS("position", N3), NUMBERS("quaternion", N4)},
       .tuple = &pose, .doc = "Pose of a body's frame in the world.\n\nReturns (position (3), quaternion w x y z (4)).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], NULL);
    return status != TG_OK ? status : tg_body_pose(c->m, c->w, c->element, c->out[0], c->out[1]);
}

METHOD(site_pose, .in = {NAMED(TG_SITE), Q}, .out = {NUMBERS("position", N3), NUMBERS("quaternion", N4)},
       .tuple = &pose, .doc = "Pose of a site's frame in the world.\n\nReturns (position (3), quaternion w x y z (4)).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], NULL);
    return status != TG_OK ? status : tg_site_pose(c->m, c->w, c->element, c->out[0], c->out[1]);
}

METHOD(geom_pose, .in = {NAMED(TG_GEOM), Q}, .out = {NUMBERS("position", N3), NUMBERS("quaternion", N4)},
       .tuple = &pose, .doc = "Pose of a geom's frame in the world.\n\nReturns (position (3), quaternion w x y z (4)).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], NULL);
    return status != TG_OK ? status : tg_geom_pose(c->m, c->w, c->element, c->out[0], c->out[1]);
}

METHOD(body_poses, .in = {Q}, .out = {MATRIX("position", NBODY, N3), MATRIX("quaternion", NBODY, N4)}, .tuple = &poses,
       .doc = "Poses of all bodies in the world.\n\nReturns (position (nbody, 3), quaternion w x y z (nbody, 4)).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[0], NULL);
    for (int i = 0; status == TG_OK && i < c->n->nbody; ++i)
        status = tg_body_pose(c->m, c->w, i, c->out[0] + 3 * i, c->out[1] + 4 * i);
    return status;
}

METHOD(site_poses, .in = {Q}, .out = {MATRIX("position", NSITE, N3), MATRIX("quaternion", NSITE, N4)}, .tuple = &poses,
       .doc = "Poses of all sites in the world.\n\nReturns (position (nsite, 3), quaternion w x y z (nsite, 4)).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[0], NULL);
    for (int i = 0; status == TG_OK && i < c->n->nsite; ++i)
        status = tg_site_pose(c->m, c->w, i, c->out[0] + 3 * i, c->out[1] + 4 * i);
    return status;
}

METHOD(geom_poses, .in = {Q}, .out = {MATRIX("position", NGEOM, N3), MATRIX("quaternion", NGEOM, N4)}, .tuple = &poses,
       .doc = "Poses of all geoms in the world.\n\nReturns (position (ngeom, 3), quaternion w x y z (ngeom, 4)).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[0], NULL);
    for (int i = 0; status == TG_OK && i < c->n->ngeom; ++i)
        status = tg_geom_pose(c->m, c->w, i, c->out[0] + 3 * i, c->out[1] + 4 * i);
    return status;
}

#define FRAMES                                                                                                         \
    "frame: 'aligned' (world axes, velocity of the point), 'local' (body axes, velocity of the point) or 'world'\n"    \
    "(world axes, velocity at the world's origin; takes no point). point (3): in the body's frame, None: its origin."

METHOD(body_jacobian, .in = {NAMED(TG_BODY), Q, POINT, TWIST_FRAME}, .out = {MATRIX("J", N6, NV)},
       .doc = "The matrix J with twist = J v, rows (linear; angular). It is the derivative of the pose by q as "
              "well.\n\n" FRAMES "\n\nReturns J (6, nv).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], NULL);
    return status != TG_OK ? status : tg_body_jacobian(c->m, c->w, c->element, c->in[2], c->frame, c->out[0]);
}

METHOD(site_jacobian, .in = {NAMED(TG_SITE), Q, TWIST_FRAME}, .out = {MATRIX("J", N6, NV)},
       .doc = "The matrix J with twist of the site's frame = J v, rows (linear; angular).\n\n"
              "frame: 'aligned', 'local' (axes of the site) or 'world'.\n\nReturns J (6, nv).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], NULL);
    return status != TG_OK ? status : tg_site_jacobian(c->m, c->w, c->element, c->frame, c->out[0]);
}

METHOD(body_velocity, .in = {NAMED(TG_BODY), Q, V, POINT, TWIST_FRAME}, .out = {NUMBERS("twist", N6)},
       .doc = "The twist of a body, (linear; angular).\n\n" FRAMES "\n\nReturns twist (6).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], c->in[2]);
    return status != TG_OK ? status : tg_body_velocity(c->m, c->w, c->element, c->in[3], c->frame, c->out[0]);
}

METHOD(body_jacobian_dot_v, .in = {NAMED(TG_BODY), Q, V, POINT, TWIST_FRAME}, .out = {NUMBERS("acceleration", N6)},
       .doc = "(dJ/dt) v: the time derivative of the twist of a body when the acceleration is zero.\n\n" FRAMES
              "\n\nReturns acceleration (6), (linear; angular).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], c->in[2]);
    return status != TG_OK ? status : tg_body_jacobian_dot_v(c->m, c->w, c->element, c->in[3], c->frame, c->out[0]);
}

METHOD(body_velocity_derivative, .in = {NAMED(TG_BODY), Q, V, POINT, TWIST_FRAME}, .out = {MATRIX("D", N6, NV)},
       .doc = "The derivative of a body's twist by q; by v it is the Jacobian.\n\n" FRAMES "\n\nReturns D (6, nv).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], c->in[2]);
    return status != TG_OK ? status
                           : tg_body_velocity_derivative(c->m, c->w, c->element, c->in[3], c->frame, c->out[0]);
}

METHOD(site_velocity, .in = {NAMED(TG_SITE), Q, V, TWIST_FRAME}, .out = {NUMBERS("twist", N6)},
       .doc = "The twist of a site's frame, (linear; angular).\n\n"
              "frame: 'aligned', 'local' (axes of the site) or 'world'.\n\nReturns twist (6).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], c->in[2]);
    return status != TG_OK ? status : tg_site_velocity(c->m, c->w, c->element, c->frame, c->out[0]);
}

METHOD(site_velocity_derivative, .in = {NAMED(TG_SITE), Q, V, TWIST_FRAME}, .out = {MATRIX("D", N6, NV)},
       .doc = "The derivative of the twist of a site's frame by q; by v it is the Jacobian.\n\n"
              "frame: 'aligned', 'local' (axes of the site) or 'world'.\n\nReturns D (6, nv).")
{
    tg_status status = tg_kinematics(c->m, c->w, c->in[1], c->in[2]);
    return status != TG_OK ? status : tg_site_velocity_derivative(c->m, c->w, c->element, c->frame, c->out[0]);
}

METHOD(com, .in = {Q}, .out = {NUMBERS("com", N3)},
       .doc = "Centre of mass of all moving bodies, in the world.\n\nReturns position (3).")
{
    return tg_com(c->m, c->w, c->in[0], c->out[0], NULL);
}

METHOD(com_jacobian, .in = {Q}, .out = {MATRIX("J", N3, NV)},
       .doc = "Jacobian of the centre of mass: its velocity is J v.\n\nReturns J (3, nv).")
{
    return tg_com(c->m, c->w, c->in[0], NULL, c->out[0]);
}

METHOD(momentum, .in = {Q, V}, .out = {NUMBERS("momentum", N6)},
       .doc = "Linear momentum, and angular momentum about the centre of mass, world axes, without armature.\n\n"
              "Returns momentum (6).")
{
    return tg_momentum(c->m, c->w, c->in[0], c->in[1], c->out[0]);
}

METHOD(energy, .in = {Q, V}, .out = {NUMBER("kinetic"), NUMBER("potential")}, .tuple = &energies,
       .doc = "Kinetic energy v M v / 2, and potential energy of gravity, joint springs and tendon springs (J).\n\n"
              "Returns (kinetic, potential).")
{
    return tg_energy(c->m, c->w, c->in[0], c->in[1], c->out[0], c->out[1]);
}

/* ---- dynamics ---- */

METHOD(mass_matrix, .in = {Q}, .out = {MATRIX("M", NV, NV)}, .doc = "M(q), with armature.\n\nReturns M (nv, nv).")
{
    return tg_mass_matrix(c->m, c->w, c->in[0], c->out[0]);
}

METHOD(bias, .in = {Q, V}, .out = {NUMBERS("bias", NV)},
       .doc = "Force that balances gravity, Coriolis and centrifugal forces: rnea(q, v, 0).\n\nReturns bias (nv).")
{
    return tg_rnea(c->m, c->w, c->in[0], c->in[1], NULL, c->out[0]);
}

METHOD(rnea, .in = {Q, V, A}, .out = {NUMBERS("tau", NV)},
       .doc = "M(q) a + bias(q, v) by the recursive Newton-Euler algorithm. a: None is zero.\n\nReturns tau (nv).")
{
    return tg_rnea(c->m, c->w, c->in[0], c->in[1], c->in[2], c->out[0]);
}

METHOD(passive, .in = {Q, V}, .out = {NUMBERS("force", NV)},
       .doc = "Springs and dampers of joints and tendons.\n\nReturns force (nv).")
{
    return tg_passive(c->m, c->w, c->in[0], c->in[1], c->out[0]);
}

METHOD(actuation, .in = {Q, V, ACT, U}, .out = {NUMBERS("force", NV), NUMBERS("act_rate", NA)}, .tuple = &actuated,
       .doc = "Force of the actuators, and rates of activations, for activations act (na) and controls u (nu).\n\n"
              "act, u: None where the model has none. Controls and forces are clamped to their ranges.\n\n"
              "Returns (force (nv), act_rate (na)).")
{
    return tg_actuation(c->m, c->w, c->in[0], c->in[1], c->in[2], c->in[3], c->out[0], c->out[1]);
}

METHOD(forward_dynamics, .in = {Q, V, TAU}, .out = {NUMBERS("a", NV)},
       .doc = "Acceleration M^-1 (tau + passive - bias): no actuators, limits, dry friction or contacts.\n\n"
              "tau: None is zero.\n\nReturns a (nv).")
{
    return tg_forward_dynamics(c->m, c->w, c->in[0], c->in[1], c->in[2], c->out[0]);
}

/* ---- derivatives ---- */

#define TANGENT "Derivatives by q are taken in the tangent space: nv columns, in the frames of v."

METHOD(rnea_derivatives, .in = {Q, V, A}, .out = {MATRIX("dq", NV, NV), MATRIX("dv", NV, NV)},
       .tuple = &two_derivatives, .parallel = true,
       .doc = "Derivatives of rnea; the derivative by a is the mass matrix.\n\n" TANGENT
              "\n\nReturns (dq (nv, nv), dv (nv, nv)).")
{
    return tg_rnea_derivatives(c->m, c->w, c->in[0], c->in[1], c->in[2], c->out[0], c->out[1], NULL);
}

METHOD(
    rnea_regressor, .in = {Q, V, A}, .out = {MATRIX("Y", NV, NINERTIAL)}, .parallel = true,
    .doc =
        "The matrix Y with rnea(q, v, a) = Y pi + armature a.\n\n"
        "pi: for each body, the world included, m, m c (3), inertia about the origin of the body frame, in its axes,\n"
        "xx yy zz xy xz yz.\n\nReturns Y (nv, 10 nbody).")
{
    return tg_rnea_regressor(c->m, c->w, c->in[0], c->in[1], c->in[2], c->out[0]);
}

METHOD(passive_derivatives, .in = {Q, V}, .out = {MATRIX("dq", NV, NV), MATRIX("dv", NV, NV)},
       .tuple = &two_derivatives, .parallel = true,
       .doc = "Derivatives of passive.\n\n" TANGENT "\n\nReturns (dq (nv, nv), dv (nv, nv)).")
{
    return tg_passive_derivatives(c->m, c->w, c->in[0], c->in[1], c->out[0], c->out[1]);
}

METHOD(
    actuation_derivatives, .in = {Q, V, ACT, U},
    .out = {MATRIX("dq", NV, NV), MATRIX("dv", NV, NV), MATRIX("dact", NV, NA), MATRIX("du", NV, NU),
            NUMBERS("rate_dact", NA), NUMBERS("rate_du", NA)},
    .tuple = &actuation_derivative, .parallel = true,
    .doc =
        "Derivatives of actuation: of the force by q, v, act, u; of each rate by its own act and control.\n\n" TANGENT
        "\n\nReturns (dq (nv, nv), dv (nv, nv), dact (nv, na), du (nv, nu), rate_dact (na), rate_du (na)).")
{
    return tg_actuation_derivatives(c->m, c->w, c->in[0], c->in[1], c->in[2], c->in[3], c->out[0], c->out[1], c->out[2],
                                    c->out[3], c->out[4], c->out[5]);
}

METHOD(forward_dynamics_derivatives, .in = {Q, V, TAU},
       .out = {MATRIX("dq", NV, NV), MATRIX("dv", NV, NV), MATRIX("dtau", NV, NV)}, .tuple = &forward_derivatives,
       .parallel = true,
       .doc = "Derivatives of forward_dynamics; dtau is the inverse of the mass matrix.\n\n" TANGENT
              "\n\nReturns (dq (nv, nv), dv (nv, nv), dtau (nv, nv)).")
{
    return tg_forward_dynamics_derivatives(c->m, c->w, c->in[0], c->in[1], c->in[2], c->out[0], c->out[1], c->out[2]);
}

/* ---- reverse mode ---- */

METHOD(rnea_vjp, .in = {Q, V, A, Y},
       .out = {NUMBERS("q", NV), NUMBERS("v", NV), NUMBERS("a", NV), NUMBERS("params", NPARAMS)},
       .tuple = &rnea_gradient, .parallel = true,
       .doc = "Gradient of y . rnea(q, v, a), at a cost that does not grow with the number of parameters.\n\n"
              "Returns (q (nv), v (nv), a (nv), params (nparams)).")
{
    return tg_rnea_vjp(c->m, c->w, c->in[0], c->in[1], c->in[2], c->in[3], c->out[0], c->out[1], c->out[2], c->out[3]);
}

METHOD(passive_vjp, .in = {Q, V, Y}, .out = {NUMBERS("q", NV), NUMBERS("v", NV), NUMBERS("params", NPARAMS)},
       .tuple = &passive_gradient, .parallel = true,
       .doc = "Gradient of y . passive(q, v).\n\nReturns (q (nv), v (nv), params (nparams)).")
{
    return tg_passive_vjp(c->m, c->w, c->in[0], c->in[1], c->in[2], c->out[0], c->out[1], c->out[2]);
}

METHOD(actuation_vjp, .in = {Q, V, ACT, U, Y, {.name = "y_rate", .dim = NA, .fallback = "None"}},
       .out = {NUMBERS("q", NV), NUMBERS("v", NV), NUMBERS("act", NA), NUMBERS("u", NU), NUMBERS("params", NPARAMS)},
       .tuple = &actuation_gradient, .parallel = true,
       .doc = "Gradient of y . force + y_rate . act_rate with (force, act_rate) = actuation(q, v, act, u).\n\n"
              "y_rate: None is zero.\n\nReturns (q (nv), v (nv), act (na), u (nu), params (nparams)).")
{
    return tg_actuation_vjp(c->m, c->w, c->in[0], c->in[1], c->in[2], c->in[3], c->in[4], c->in[5], c->out[0],
                            c->out[1], c->out[2], c->out[3], c->out[4]);
}

METHOD(forward_dynamics_vjp, .in = {Q, V, TAU, Y},
       .out = {NUMBERS("q", NV), NUMBERS("v", NV), NUMBERS("tau", NV), NUMBERS("params", NPARAMS)},
       .tuple = &forward_gradient, .parallel = true,
       .doc = "Gradient of y . forward_dynamics(q, v, tau).\n\n"
              "Returns (q (nv), v (nv), tau (nv), params (nparams)).")
{
    return tg_forward_dynamics_vjp(c->m, c->w, c->in[0], c->in[1], c->in[2], c->in[3], c->out[0], c->out[1], c->out[2],
                                   c->out[3]);
}

/* ---- by chosen parameters; the public methods, which take names, are in model.py ---- */

METHOD(_rnea_param_derivatives, .in = {Q, V, A, PARAMS}, .out = {MATRIX("D", NV, NINDEX)}, .parallel = true,
       .doc = "rnea_param_derivatives for positions in the parameter vector.")
{
    return tg_rnea_param_derivatives(c->m, c->w, c->in[0], c->in[1], c->in[2], c->index, c->nindex, c->out[0]);
}

METHOD(_passive_param_derivatives, .in = {Q, V, PARAMS}, .out = {MATRIX("D", NV, NINDEX)}, .parallel = true,
       .doc = "passive_param_derivatives for positions in the parameter vector.")
{
    return tg_passive_param_derivatives(c->m, c->w, c->in[0], c->in[1], c->index, c->nindex, c->out[0]);
}

METHOD(_actuation_param_derivatives, .in = {Q, V, ACT, U, PARAMS}, .out = {MATRIX("D", NV, NINDEX)}, .parallel = true,
       .doc = "actuation_param_derivatives for positions in the parameter vector.")
{
    return tg_actuation_param_derivatives(c->m, c->w, c->in[0], c->in[1], c->in[2], c->in[3], c->index, c->nindex,
                                          c->out[0]);
}

METHOD(_forward_dynamics_param_derivatives, .in = {Q, V, TAU, PARAMS}, .out = {MATRIX("D", NV, NINDEX)},
       .parallel = true, .doc = "forward_dynamics_param_derivatives for positions in the parameter vector.")
{
    return tg_forward_dynamics_param_derivatives(c->m, c->w, c->in[0], c->in[1], c->in[2], c->index, c->nindex,
                                                 c->out[0]);
}

/* ---- registration ---- */

/* clang-format off */
#define ENTRY(id) {&id, py_##id}
/* clang-format on */

static const struct
{
    const tg_py_function *function;
    PyObject *(*method)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
} entries[] = {
    ENTRY(default_q),
    ENTRY(random_state),
    ENTRY(key),
    ENTRY(integrate),
    ENTRY(difference),
    ENTRY(body_pose),
    ENTRY(site_pose),
    ENTRY(geom_pose),
    ENTRY(body_poses),
    ENTRY(site_poses),
    ENTRY(geom_poses),
    ENTRY(body_jacobian),
    ENTRY(site_jacobian),
    ENTRY(body_velocity),
    ENTRY(body_jacobian_dot_v),
    ENTRY(body_velocity_derivative),
    ENTRY(site_velocity),
    ENTRY(site_velocity_derivative),
    ENTRY(com),
    ENTRY(com_jacobian),
    ENTRY(momentum),
    ENTRY(energy),
    ENTRY(mass_matrix),
    ENTRY(bias),
    ENTRY(rnea),
    ENTRY(passive),
    ENTRY(actuation),
    ENTRY(forward_dynamics),
    ENTRY(rnea_derivatives),
    ENTRY(rnea_regressor),
    ENTRY(passive_derivatives),
    ENTRY(actuation_derivatives),
    ENTRY(forward_dynamics_derivatives),
    ENTRY(rnea_vjp),
    ENTRY(passive_vjp),
    ENTRY(actuation_vjp),
    ENTRY(forward_dynamics_vjp),
    ENTRY(_rnea_param_derivatives),
    ENTRY(_passive_param_derivatives),
    ENTRY(_actuation_param_derivatives),
    ENTRY(_forward_dynamics_param_derivatives),
};

enum
{
    NENTRIES = sizeof entries / sizeof entries[0]
};

bool tg_py_add_method(PyMethodDef *definition)
{
    PyObject *descriptor = PyDescr_NewMethod(&tg_py_model_type, definition);
    bool ok =
        descriptor != NULL && PyDict_SetItemString(tg_py_model_type.tp_dict, definition->ml_name, descriptor) == 0;
    Py_XDECREF(descriptor);
    return ok;
}

static bool add_tuple(PyObject *module, const tg_py_function *f)
{
    if (f->tuple == NULL)
        return true;
    const char *name = f->tuple->name + sizeof "tangere." - 1;
    return tg_py_make_tuple(f) && PyModule_AddObjectRef(module, name, (PyObject *)f->tuple->type) == 0;
}

bool tg_py_dynamics_init(PyObject *module)
{
    static PyMethodDef definitions[NENTRIES];
    for (int i = 0; i < NENTRIES; ++i)
    {
        const tg_py_function *f = entries[i].function;
        definitions[i] = (PyMethodDef){f->name, (PyCFunction)(void (*)(void))entries[i].method,
                                       METH_FASTCALL | METH_KEYWORDS, tg_py_doc(f)};
        if (definitions[i].ml_doc == NULL || !tg_py_add_method(&definitions[i]) || !add_tuple(module, f))
            return false;
    }
    PyType_Modified(&tg_py_model_type);
    return true;
}
