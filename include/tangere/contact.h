/* Contacts of a model: which geoms touch at a configuration, where, and how that changes with it.
 *
 * The conventions of a contact point are those of tangere/collision.h: the normal points from geom1 to geom2, the
 * distance is signed and without margins, the point is the middle of the two witness points; world frame. */
#ifndef TANGERE_CONTACT_H
#define TANGERE_CONTACT_H

#include "tangere/collision.h"
#include "tangere/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Contact points at q (nq) of every candidate pair with distance < the pair's own margin + margin (m). The margin of
 * a pair is the sum of its two geoms' margins, or its own where a pair is declared. Pairs come in the order of
 * (geom1, geom2). Writes at most capacity points and the full count. TG_ERR_CAPACITY if more pairs are near than the
 * workspace can hold. */
TG_API tg_status tg_collide(const tg_model *m, tg_work *w, const double *q, double margin, tg_contact *contact,
                            int capacity, int *count);

/* The same, and how each point moves with q, features held fixed: dpoint and dnormal (3 x nv per contact), ddistance
 * (nv per contact). Arrays hold capacity contacts; any may be NULL. */
TG_API tg_status tg_collide_derivatives(const tg_model *m, tg_work *w, const double *q, double margin,
                                        tg_contact *contact, int capacity, int *count, double *dpoint, double *dnormal,
                                        double *ddistance);

/* The gap between two geoms that may collide, as a step sees it (m): the smallest distance of their contact points, at
 * any distance, less the margin of the pair. A step closes a gap to 0 at most, and pushes out a negative one. dgap (nv,
 * may be NULL): its derivative by q. TG_ERR_VALUE where they never collide. */
TG_API tg_status tg_gap(const tg_model *m, tg_work *w, const double *q, int geom1, int geom2, double *gap,
                        double *dgap);

/* ---- contacts from outside ---- */

/* A contact found outside of the library. It is fixed in the world: derivatives with respect to q are those with the
 * contact fixed. Derivatives with respect to the contact's own numbers are in tg_cotangent.contact, for the chain rule
 * of another collision library. */
typedef struct tg_given_contact
{
    int body1, body2; /* 0: the world. They must be able to move relative to each other. */
    int condim;       /* 1, 3, 4 or 6, no more than the largest of the model's geoms */
    uint64_t id;      /* for warm starts: the same in every step while the contact persists; 0: its index in the list */

    /* TG_GIVEN_NUMBERS, in this order */
    double point[3];    /* m, world */
    double normal[3];   /* from body1 to body2, world; of any length but 0 */
    double gap;         /* m: the distance less all margins; contact forces close it to 0 */
    double friction[3]; /* slide, spin (m), roll (m); >= 0 */
    double kinetic;     /* kinetic / static sliding friction, (0, 1] */
    double slip_speed;  /* m/s at which friction has become kinetic, > 0 */
    double restitution; /* 0 .. 1 */
    double compliance;  /* m / N; 0: rigid */
    double damping;     /* N s / m, law "compliant" only */
} tg_given_contact;

enum
{
    TG_GIVEN_NUMBERS = 15 /* of a given contact, starting with point */
};

/* In place of the step's own collision detection. With count 0 there are no contacts. */
typedef struct tg_given_contacts
{
    int count;
    const tg_given_contact *contact;
} tg_given_contacts;

TG_API tg_given_contact tg_default_given_contact(
    void); /* of the world with itself, condim 3, normal z, friction 1 0.005 0.0001, no slip, rigid */

/* A contact of a step or of tg_collide as a step takes it from outside: its bodies, place and gap, and the coefficients
 * of its two geoms. A step that is given the contacts of another one, from the same state, is the same bit for bit,
 * unless shapes that turn far were held back at its end (only a step that finds its contacts itself does that). */
TG_API tg_status tg_give_contact(const tg_model *m, tg_work *w, const tg_contact *contact, tg_given_contact *given);

#ifdef __cplusplus
}
#endif

#endif
