/* The law of an impact within the step (option impact = within). */
#ifndef TG_CONTACT_WITHIN_H
#define TG_CONTACT_WITHIN_H

#include "contact/rows.h"

/* Two speeds of a contact that meets within the step: speed, J_N v+ after it; and placing, the one with which the step
 * displaces the bodies, so that their gap becomes what it should be. Each as a bias b_N = -speed, with its slopes. */
typedef struct tg_within
{
    double speed, placing;
    tg_bias_slope of_speed, of_placing; /* of the biases */
    int regime;                         /* a number for each branch of the law */
    double margin;                      /* m/s: to the next branch */
} tg_within;

/* Whether a contact with gap phi, J_N v = start and J_N v_free = free has an impact within the step. */
bool tg_meets_within(const tg_contact_settings *s, double phi, double start, double free);

tg_within tg_within_of(const tg_contact_settings *s, double phi, double start, double free, double e);

#endif
