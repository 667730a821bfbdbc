/* Laws that give the impulse of a contact from its gap and its velocity at the start of the step, each contact for
 * itself: nothing is solved. For comparisons with engines that do so; the laws of contact do not hold, bodies sink in.
 * (docs/contact.md, Explicit laws)
 *
 * u = J v at the start, N normal, T the two sliding rows; t = u_T / |u_T|, m_T = 1 / (t . G_TT t):
 *   compliant    Phi < 0:  L_N = dt max(0, -K Phi - k u_N),  K = 1 / compliance, k damping
 *   impulse      Phi < 0 or Phi + dt u_N < 0:  L_N = (-(1 + e) min(u_N, 0) + beta max(0, -Phi) / dt) / G_NN
 *   friction     L_T = -min(eta m_T |u_T|, mu L_N) t  of both; nothing about the normal, nothing that rolls
 * Derivatives contain how m_T changes with the direction of slip, but not how effective masses change with q and with
 * masses: what is beyond the spring, the damper and friction at its bound is labelled regularised. */
#ifndef TG_CONTACT_EXPLICIT_H
#define TG_CONTACT_EXPLICIT_H

#include "contact/implicit.h"
#include "contact/rows_vjp.h"

/* The law of that name, TG_EXPLICIT_NONE: it is another; names from 0 on, NULL behind the last. */
tg_explicit_law tg_explicit_find(const char *name);
const char *tg_explicit_name(int index);

/* Impulses of all contacts, in L; the others by the solver, in the motion that these leave: L, sigma and result of an
 * island that has its matrix. */
tg_status tg_explicit_solve(const tg_model *m, tg_work *w, tg_rows_island *island, const tg_contact_settings *s,
                            const char *solver, double tolerance);

/* Contacts count as separating: their impulses are not solved for. After the modes of the others. */
void tg_explicit_modes(tg_rows *r, const tg_rows_island *island);

/* From gL (rows): the gradient of a contact's impulses, to those of its gap, its velocity at the start, dt,
 * coefficients (through gmu) and parameters. */
void tg_explicit_reverse(const tg_work *w, const tg_contact_settings *s, const tg_rows_island *island, int block,
                         const double *gL, const tg_law_gradient *g, double gmu[TG_AXES]);

/* What the derivative of an island's contacts is, and how near it is to another: m, or m/s. */
tg_gradient_kind tg_explicit_label(const tg_work *w, const tg_rows_island *island, const tg_contact_settings *s,
                                   double *margin);

#endif
