/* Checks of numbers at the boundary, with the message that names array, index and value. */
#ifndef TG_MODEL_CHECK_H
#define TG_MODEL_CHECK_H

#include "model/model.h"

/* x is not NULL if n > 0, and its n numbers are finite. */
tg_status tg_check_numbers(const char *name, const double *x, int n, tg_error *error);

/* The same for a configuration (nq numbers), with quaternions of a norm within 1e-3 of 1. */
tg_status tg_check_configuration(const tg_model *m, const char *name, const double *q, tg_error *error);

/* An output of n numbers is not NULL. */
tg_status tg_check_present(const char *name, const void *out, int n, tg_error *error);

#endif
