/* What the two engines have in common: the tree they both describe, the states they both run, the functions they both
 * have. Nothing here depends on either of them. */
#ifndef TANGERE_BENCH_ENGINE_H
#define TANGERE_BENCH_ENGINE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the tree, in the conventions of tangere/model.h ---- */

typedef enum bench_joint_type
{
    BENCH_FREE,
    BENCH_BALL,
    BENCH_SLIDE,
    BENCH_HINGE
} bench_joint_type;

typedef struct bench_joint
{
    bench_joint_type type;
    double anchor[3], axis[3]; /* body frame */
    double ref, armature;
    int q, dof; /* first entry in q and in v */
} bench_joint;

typedef struct bench_body
{
    int parent;
    double pos[3], quat[4]; /* frame in the parent's, w x y z */
    double mass, com[3];
    double inertia[6]; /* about com, body axes: xx yy zz xy xz yz */
    int joint, njoint;
} bench_body;

typedef struct bench_tree
{
    int nbody, njoint, nq, nv; /* body 0 is the world */
    bench_body *body;
    bench_joint *joint;
    double gravity[3];
} bench_tree;

/* ---- the states: n of them, one after the other ---- */

typedef struct bench_states
{
    int n, nq, nv;
    double *q, *v, *a, *tau;
} bench_states;

/* ---- the functions ---- */

typedef enum bench_function
{
    BENCH_EMPTY, /* the clock and the call of a function that does nothing */
    BENCH_KINEMATICS_Q,
    BENCH_KINEMATICS_QV,
    BENCH_RNEA,
    BENCH_MASS_MATRIX,
    BENCH_RNEA_DERIVATIVES,
    BENCH_FORWARD_DYNAMICS,
    BENCH_FORWARD_DYNAMICS_DERIVATIVES,
    BENCH_FUNCTION_COUNT
} bench_function;

/* All results at one state, in the conventions of tangere/dynamics.h: row-major, derivatives in the tangent space. */
typedef struct bench_results
{
    double *tau, *acceleration;      /* nv */
    double *mass;                    /* nv x nv */
    double *dtau_dq, *dtau_dv;       /* nv x nv */
    double *da_dq, *da_dv, *da_dtau; /* nv x nv */
} bench_results;

/* One engine with one model, ready to run. */
typedef struct bench_engine
{
    char setting[32];
    void *self;
    void (*load)(void *self, int state);           /* copies the inputs of a state to where the functions read them */
    void (*run[BENCH_FUNCTION_COUNT])(void *self); /* NULL: not a function of this setting */
    void (*results)(void *self, const double *q, const double *v, const double *a, const double *tau,
                    bench_results *results);
    void (*destroy)(void *self);
} bench_engine;

/* ---- Pinocchio ---- */

/* How the same tree is told to Pinocchio. */
typedef enum bench_setting
{
    BENCH_CHAIN = 0,     /* several joints of a body: joints in a row, with massless links between them */
    BENCH_COMPOSITE = 1, /* several joints of a body: one composite joint, as Pinocchio's own MJCF parser does;
                            without derivatives, which Pinocchio does not have right for these */
    BENCH_TURNED = 2,    /* joint frames are turned so that every hinge is about x, y or z; otherwise a hinge about any
                            other axis is JointModelRevoluteUnaligned */
    BENCH_WORLD = 4      /* crba and aba in the world's frame; only these two are run */
} bench_setting;

/* The settings that make a difference for this tree, at most 8; returns their number. */
int bench_pinocchio_settings(const bench_tree *tree, int settings[8]);

/* tree and states may go away afterwards. False: *message says why. */
bool bench_pinocchio_create(const bench_tree *tree, const bench_states *states, int setting, bench_engine *engine,
                            const char **message);

const char *bench_pinocchio_version(void);
const char *bench_pinocchio_build(void); /* compiler, instruction set, Eigen */

#ifdef __cplusplus
}
#endif

#endif
