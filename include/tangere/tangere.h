/* Tangere: differentiable rigid-body dynamics with exact frictional contact. Includes every public header. */
#ifndef TANGERE_TANGERE_H
#define TANGERE_TANGERE_H

#include "tangere/algebra.h"
#include "tangere/base.h"
#include "tangere/batch.h"
#include "tangere/cartesian.h"
#include "tangere/check.h"
#include "tangere/collision.h"
#include "tangere/contact.h"
#include "tangere/control.h"
#include "tangere/dynamics.h"
#include "tangere/model.h"
#include "tangere/qcqp.h"
#include "tangere/read.h"
#include "tangere/scene.h"
#include "tangere/step.h"

#endif
