/* Pinocchio as a bench_engine, from its headers alone: its algorithms are compiled here, with this machine's
 * instructions; the libraries of its wheel, built for any x86-64, are not linked.
 *
 * The free joint is told apart: here a free joint is (position, velocity in the world; orientation, angular velocity in
 * the body), in Pinocchio both halves are in the body. With R the orientation and w the angular velocity,
 *
 *   v_p = B v,  a_p = B a - (w x R^T v; 0),  tau = B^T tau_p,  B = diag(R^T, 1),
 *
 * and the derivatives follow by the chain rule (struct Frames). */
#include "engine.h"

#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <pinocchio/multibody.hpp>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

namespace pin = pinocchio;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;
using pin::SE3;

namespace
{

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/* ---- the model ---- */

Vector3d vector3(const double *x)
{
    return Vector3d(x[0], x[1], x[2]);
}

SE3 pose(const double *pos, const double *quat)
{
    return SE3(Quaterniond(quat[0], quat[1], quat[2], quat[3]).normalized().toRotationMatrix(), vector3(pos));
}

/* 0, 1, 2 when the axis is +x, +y, +z, otherwise -1. */
int aligned(const Vector3d &axis)
{
    for (int i = 0; i < 3; i++)
        if (axis.normalized() == Vector3d::Unit(i))
            return i;
    return -1;
}

bool has_axis(const bench_joint &joint)
{
    return joint.type == BENCH_HINGE || joint.type == BENCH_SLIDE;
}

/* The orientation of the joint frame in the body frame: its z is the joint's axis when frames are turned. */
Matrix3d joint_frame(const bench_joint &joint, int setting)
{
    Vector3d axis = vector3(joint.axis);
    if (!(setting & BENCH_TURNED) || !has_axis(joint) || aligned(axis) >= 0)
        return Matrix3d::Identity();
    return Quaterniond::FromTwoVectors(Vector3d::UnitZ(), axis).toRotationMatrix();
}

pin::JointModel joint_model(const bench_joint &joint, int setting)
{
    bool turned = !joint_frame(joint, setting).isIdentity(0.0);
    Vector3d axis = turned ? Vector3d::UnitZ() : vector3(joint.axis).normalized().eval();
    int i = has_axis(joint) ? aligned(axis) : -1;
    switch (joint.type)
    {
    case BENCH_FREE:
        return pin::JointModelFreeFlyer();
    case BENCH_BALL:
        return pin::JointModelSpherical();
    case BENCH_SLIDE:
        if (i == 0)
            return pin::JointModelPX();
        if (i == 1)
            return pin::JointModelPY();
        if (i == 2)
            return pin::JointModelPZ();
        return pin::JointModelPrismaticUnaligned(axis);
    default:
        if (i == 0)
            return pin::JointModelRX();
        if (i == 1)
            return pin::JointModelRY();
        if (i == 2)
            return pin::JointModelRZ();
        return pin::JointModelRevoluteUnaligned(axis);
    }
}

/* Where a body is fixed: a joint of Pinocchio's, and the body's frame in that joint's. */
struct Support
{
    pin::JointIndex joint;
    SE3 offset;
};

/* Adds the joints of a body. Each joint j in turn moves the body about its anchor: with T the pose so far and F_j the
 * orientation of the joint frame, T <- T Trans(anchor_j) F_j J_j(q) F_j^T Trans(-anchor_j). */
Support add_joints(pin::Model &model, const bench_tree &tree, int body, Support support, int setting)
{
    const bench_body &b = tree.body[body];
    pin::JointModelComposite composite;
    bool compose = (setting & BENCH_COMPOSITE) && b.njoint > 1;
    SE3 rest = compose ? SE3::Identity() : support.offset;
    for (int j = b.joint; j < b.joint + b.njoint; j++)
    {
        const bench_joint &joint = tree.joint[j];
        SE3 frame(joint_frame(joint, setting),
                  joint.type == BENCH_FREE ? Vector3d::Zero().eval() : vector3(joint.anchor));
        SE3 placement = joint.type == BENCH_FREE ? SE3::Identity() : rest * frame;
        if (compose)
            composite.addJoint(joint_model(joint, setting), placement);
        else
            support.joint =
                model.addJoint(support.joint, joint_model(joint, setting), placement, "joint" + std::to_string(j));
        rest = frame.inverse();
    }
    if (compose)
        support.joint = model.addJoint(support.joint, composite, support.offset, "joint" + std::to_string(b.joint));
    support.offset = rest;
    return support;
}

pin::Model make_model(const bench_tree &tree, int setting)
{
    pin::Model model;
    model.gravity.linear() = vector3(tree.gravity);
    std::vector<Support> support(static_cast<size_t>(tree.nbody), Support{0, SE3::Identity()});
    for (int i = 1; i < tree.nbody; i++)
    {
        const bench_body &b = tree.body[i];
        Support &s = support[static_cast<size_t>(i)];
        s = support[static_cast<size_t>(b.parent)];
        s.offset = s.offset * pose(b.pos, b.quat);
        if (b.njoint > 0)
            s = add_joints(model, tree, i, s, setting);
        /* xx xy yy xz yz zz */
        pin::Symmetric3 inertia(b.inertia[0], b.inertia[3], b.inertia[1], b.inertia[4], b.inertia[5], b.inertia[2]);
        model.appendBodyToJoint(s.joint, pin::Inertia(b.mass, vector3(b.com), inertia), s.offset);
    }
    for (int j = 0; j < tree.njoint; j++)
    {
        static const int dofs[] = {6, 3, 1, 1};
        model.armature.segment(tree.joint[j].dof, dofs[tree.joint[j].type]).setConstant(tree.joint[j].armature);
    }
    return model;
}

/* ---- the state, from Tangere's layout to Pinocchio's ---- */

struct State
{
    VectorXd q, v, a, tau;
};

/* The joints whose coordinates differ. */
struct Layout
{
    std::vector<bench_joint> joints;
    int nq, nv;

    State convert(const double *q, const double *v, const double *a, const double *tau) const;
};

void convert_quaternion(const double *wxyz, Eigen::Ref<VectorXd> xyzw)
{
    xyzw = Quaterniond(wxyz[0], wxyz[1], wxyz[2], wxyz[3]).normalized().coeffs();
}

Matrix3d orientation(const VectorXd &q, int at)
{
    return Quaterniond(q[at + 3], q[at], q[at + 1], q[at + 2]).toRotationMatrix();
}

State Layout::convert(const double *q, const double *v, const double *a, const double *tau) const
{
    using Map = Eigen::Map<const VectorXd>;
    State s{Map(q, nq), Map(v, nv), Map(a, nv), Map(tau, nv)};
    for (const bench_joint &joint : joints)
    {
        if (joint.type == BENCH_HINGE || joint.type == BENCH_SLIDE)
            s.q[joint.q] -= joint.ref;
        if (joint.type == BENCH_BALL)
            convert_quaternion(q + joint.q, s.q.segment(joint.q, 4));
        if (joint.type == BENCH_FREE)
        {
            convert_quaternion(q + joint.q + 3, s.q.segment(joint.q + 3, 4));
            Matrix3d Rt = orientation(s.q, joint.q + 3).transpose();
            Vector3d w = s.v.segment<3>(joint.dof + 3);
            s.v.segment<3>(joint.dof) = (Rt * s.v.segment<3>(joint.dof)).eval();
            s.a.segment<3>(joint.dof) = (Rt * s.a.segment<3>(joint.dof) - w.cross(s.v.segment<3>(joint.dof))).eval();
            s.tau.segment<3>(joint.dof) = (Rt * s.tau.segment<3>(joint.dof)).eval();
        }
    }
    return s;
}

/* The derivatives of the conversion at a state, nv x nv each; the tangent of q is converted by B as v is. */
struct Frames
{
    MatrixXd B;  /* dv_p/dv = da_p/da */
    MatrixXd V;  /* dv_p/dq */
    MatrixXd Aq; /* da_p/dq */
    MatrixXd Av; /* da_p/dv */
    MatrixXd T;  /* dtau_p/dq at constant tau */
    MatrixXd S;  /* dtau/dq at constant tau_p */

    Frames(const Layout &layout, const State &s, const double *a, const VectorXd &tau_p)
        : B(MatrixXd::Identity(layout.nv, layout.nv)), V(MatrixXd::Zero(layout.nv, layout.nv)), Aq(V), Av(V), T(V), S(V)
    {
        for (const bench_joint &joint : layout.joints)
        {
            if (joint.type != BENCH_FREE)
                continue;
            int i = joint.dof;
            Matrix3d R = orientation(s.q, joint.q + 3);
            Matrix3d vb = pin::skew(s.v.segment<3>(i)), w = pin::skew(s.v.segment<3>(i + 3));
            Matrix3d ab = pin::skew((R.transpose() * vector3(a + i)).eval());
            B.block<3, 3>(i, i) = R.transpose();
            V.block<3, 3>(i, i + 3) = vb;
            Aq.block<3, 3>(i, i + 3) = ab - w * vb;
            Av.block<3, 3>(i, i) = -w * R.transpose();
            Av.block<3, 3>(i, i + 3) = vb;
            T.block<3, 3>(i, i + 3) = pin::skew(s.tau.segment<3>(i));
            S.block<3, 3>(i, i + 3) = -R * pin::skew(tau_p.segment<3>(i));
        }
    }
};

/* ---- the engine ---- */

struct Engine
{
    pin::Model model;
    pin::Data data;
    Layout layout;
    pin::Convention convention;
    std::vector<State> states;
    State state;

    Engine(const bench_tree &tree, const bench_states &list, int setting)
        : model(make_model(tree, setting)),
          data(model), layout{std::vector<bench_joint>(tree.joint, tree.joint + tree.njoint), tree.nq, tree.nv},
          convention(setting & BENCH_WORLD ? pin::Convention::WORLD : pin::Convention::LOCAL)
    {
        for (int i = 0; i < list.n; i++)
            states.push_back(layout.convert(list.q + i * list.nq, list.v + i * list.nv, list.a + i * list.nv,
                                            list.tau + i * list.nv));
        state = states.front();
    }
};

Engine &engine_of(void *self)
{
    return *static_cast<Engine *>(self);
}

void load(void *self, int i)
{
    Engine &e = engine_of(self);
    const State &s = e.states[static_cast<size_t>(i)];
    e.state.q = s.q;
    e.state.v = s.v;
    e.state.a = s.a;
    e.state.tau = s.tau;
}

void run_empty(void *)
{
}

void run_kinematics_q(void *self)
{
    Engine &e = engine_of(self);
    pin::forwardKinematics(e.model, e.data, e.state.q);
}

void run_kinematics_qv(void *self)
{
    Engine &e = engine_of(self);
    pin::forwardKinematics(e.model, e.data, e.state.q, e.state.v);
}

void run_rnea(void *self)
{
    Engine &e = engine_of(self);
    pin::rnea(e.model, e.data, e.state.q, e.state.v, e.state.a);
}

void run_crba(void *self)
{
    Engine &e = engine_of(self);
    pin::crba(e.model, e.data, e.state.q, e.convention);
}

void run_rnea_derivatives(void *self)
{
    Engine &e = engine_of(self);
    pin::computeRNEADerivatives(e.model, e.data, e.state.q, e.state.v, e.state.a);
}

void run_aba(void *self)
{
    Engine &e = engine_of(self);
    pin::aba(e.model, e.data, e.state.q, e.state.v, e.state.tau, e.convention);
}

void run_aba_derivatives(void *self)
{
    Engine &e = engine_of(self);
    pin::computeABADerivatives(e.model, e.data, e.state.q, e.state.v, e.state.tau);
}

MatrixXd symmetric(const MatrixXd &upper)
{
    return upper.selfadjointView<Eigen::Upper>();
}

void put(double *out, const MatrixXd &m)
{
    Eigen::Map<RowMajor>(out, m.rows(), m.cols()) = m;
}

void rnea_results(Engine &e, const double *a, bench_results &r)
{
    run_rnea(&e);
    Frames f(e.layout, e.state, a, e.data.tau);
    put(r.tau, f.B.transpose() * e.data.tau);
    run_crba(&e);
    put(r.mass, f.B.transpose() * symmetric(e.data.M) * f.B);
    run_rnea_derivatives(&e);
    MatrixXd Pq = e.data.dtau_dq, Pv = e.data.dtau_dv, Pa = symmetric(e.data.M);
    put(r.dtau_dq, f.S + f.B.transpose() * (Pq * f.B + Pv * f.V + Pa * f.Aq));
    put(r.dtau_dv, f.B.transpose() * (Pv * f.B + Pa * f.Av));
}

void aba_results(Engine &e, bench_results &r)
{
    run_aba(&e);
    VectorXd a = e.data.ddq;
    for (const bench_joint &joint : e.layout.joints)
        if (joint.type == BENCH_FREE)
        {
            int i = joint.dof;
            Vector3d v = e.state.v.segment<3>(i), w = e.state.v.segment<3>(i + 3);
            a.segment<3>(i) = (orientation(e.state.q, joint.q + 3) * (a.segment<3>(i) + w.cross(v))).eval();
        }
    put(r.acceleration, a);
    Frames f(e.layout, e.state, r.acceleration, e.state.tau);
    run_aba_derivatives(&e);
    MatrixXd Fq = e.data.ddq_dq, Fv = e.data.ddq_dv, Ft = symmetric(e.data.Minv);
    put(r.da_dq, f.B.transpose() * (Fq * f.B + Fv * f.V + Ft * f.T - f.Aq));
    put(r.da_dv, f.B.transpose() * (Fv * f.B - f.Av));
    put(r.da_dtau, f.B.transpose() * Ft * f.B);
}

void results(void *self, const double *q, const double *v, const double *a, const double *tau, bench_results *out)
{
    Engine &e = engine_of(self);
    e.state = e.layout.convert(q, v, a, tau);
    rnea_results(e, a, *out);
    aba_results(e, *out);
}

void destroy(void *self)
{
    delete static_cast<Engine *>(self);
}

void fill(bench_engine &engine, int setting)
{
    std::string name = setting & BENCH_COMPOSITE ? "composite" : "chain";
    name += setting & BENCH_TURNED ? ", turned" : "";
    name += setting & BENCH_WORLD ? ", world" : "";
    std::strncpy(engine.setting, name.c_str(), sizeof engine.setting - 1);
    engine.load = load;
    engine.results = results;
    engine.destroy = destroy;
    engine.run[BENCH_EMPTY] = run_empty;
    engine.run[BENCH_MASS_MATRIX] = run_crba;
    engine.run[BENCH_FORWARD_DYNAMICS] = run_aba;
    if (setting & BENCH_WORLD)
        return;
    engine.run[BENCH_KINEMATICS_Q] = run_kinematics_q;
    engine.run[BENCH_KINEMATICS_QV] = run_kinematics_qv;
    engine.run[BENCH_RNEA] = run_rnea;
    /* Pinocchio 4.1 takes the motion subspace of a joint for constant in the joint's frame; that of a composite joint
     * is not, and the derivatives differ from finite differences of Pinocchio's own rnea. They are not timed. */
    if (setting & BENCH_COMPOSITE)
        return;
    engine.run[BENCH_RNEA_DERIVATIVES] = run_rnea_derivatives;
    engine.run[BENCH_FORWARD_DYNAMICS_DERIVATIVES] = run_aba_derivatives;
}

} // namespace

int bench_pinocchio_settings(const bench_tree *tree, int settings[8])
{
    bool several = false, oblique = false;
    for (int i = 0; i < tree->nbody; i++)
        several = several || tree->body[i].njoint > 1;
    for (int j = 0; j < tree->njoint; j++)
        oblique = oblique || (has_axis(tree->joint[j]) && aligned(vector3(tree->joint[j].axis)) < 0);
    int count = 0;
    for (int setting = 0; setting < 8; setting++)
        if ((several || !(setting & BENCH_COMPOSITE)) && (oblique || !(setting & BENCH_TURNED)))
            settings[count++] = setting;
    return count;
}

bool bench_pinocchio_create(const bench_tree *tree, const bench_states *states, int setting, bench_engine *engine,
                            const char **message)
{
    static std::string what;
    try
    {
        *engine = bench_engine();
        engine->self = new Engine(*tree, *states, setting);
        fill(*engine, setting);
        return true;
    }
    catch (const std::exception &e)
    {
        what = e.what();
        *message = what.c_str();
        return false;
    }
}

const char *bench_pinocchio_version(void)
{
    return PINOCCHIO_VERSION;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *bench_pinocchio_build(void)
{
    return "Eigen " TEXT(EIGEN_WORLD_VERSION) "." TEXT(EIGEN_MAJOR_VERSION) "." TEXT(EIGEN_MINOR_VERSION)
#ifdef __clang__
        ", clang " __clang_version__
#else
        ", gcc " __VERSION__
#endif
#ifdef __AVX512F__
        ", AVX-512"
#elif defined __AVX2__
        ", AVX2"
#endif
#ifdef __FMA__
        " + FMA"
#endif
        ;
}
