/* Models made with the builder, for all tests: together they have every joint, tendon, transmission and element kind.
 * Inertias, frames, anchors, axes and coefficients are random numbers, always the same. */
#ifndef TG_TESTS_SUPPORT_MODELS_H
#define TG_TESTS_SUPPORT_MODELS_H

#include "tangere/model.h"

enum
{
    TG_TEST_PENDULUM,        /* one hinge */
    TG_TEST_DOUBLE_PENDULUM, /* several joints a body, odd anchors and axes */
    TG_TEST_BALL_CHAIN,      /* ball joints, some limited, with springs */
    TG_TEST_QUADRUPED,       /* free body with four legs, 18 dofs; feet are welded bodies */
    TG_TEST_HUMANOID,        /* 36 dofs, branches, up to three hinges a body */
    TG_TEST_WALKER,          /* planar: slide, slide, hinge at the root */
    TG_TEST_TWO_TREES,       /* tendons and actuators of all kinds across two trees and the world */
    TG_TEST_EVERYTHING,      /* every element kind, all joint types, all geom types */
    TG_TEST_FREE_BODIES,     /* three free bodies, one with a chain of welded parts */
    TG_TEST_MASSLESS_LINKS,  /* massless links between hinges, a point mass, a joint with armature alone */
    TG_TEST_MODEL_COUNT
};

const char *tg_test_model_name(int which);

/* Adds the model to a builder. The status of the first add that failed. */
tg_status tg_test_model_add(tg_builder *b, int which);

/* The model; fails the running cmocka test when it cannot be made. */
tg_model *tg_test_model(int which);

#endif
