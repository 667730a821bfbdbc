/* Which geoms are near each other at a configuration, how far apart, and how that follows the joints.
 *
 * The same in Python: 07_contacts.py. Build it against an installed library with
 *     cc 07_contacts.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>
#include <stdbool.h>

#include "example.h"

enum
{
    ROOM = 32
};

int main(void)
{
    const double margin = 0.05;
    tg_model *m = load("models/quadruped.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_contact contact[ROOM], lifted[ROOM];
    double *q = array(n.nq), *dq = array(n.nv), *slope = array(ROOM * n.nv);
    int count = 0, again = 0;
    check(tg_key_get(m, tg_find(m, TG_KEY, "home"), NULL, q, NULL, NULL, NULL, NULL), "key");
    q[2] += 0.01; /* 1 cm above the floor, more or less */

    /* all pairs within 5 cm */
    check(tg_collide_derivatives(m, w, q, margin, contact, ROOM, &count, NULL, NULL, slope), tg_work_message(w));
    for (int k = 0; k < count && k < ROOM; k++)
        printf("%s and %s: %.3f mm\n", tg_name(m, TG_GEOM, contact[k].geom1), tg_name(m, TG_GEOM, contact[k].geom2),
               1e3 * contact[k].distance);

    /* lifting the trunk by 1 mm opens every gap by 1 mm: the third number of a tangent vector is its height */
    bool one = true, same = true;
    dq[2] = 1e-3;
    check(tg_integrate(m, q, dq, q, NULL), "integrate");
    check(tg_collide(m, w, q, margin, lifted, ROOM, &again), tg_work_message(w));
    for (int k = 0; k < count && k < ROOM; k++)
    {
        one = one && fabs(slope[k * n.nv + 2] - 1) < 1e-8;
        same = same && again == count && fabs(lifted[k].distance - contact[k].distance - 1e-3) < 1e-8;
    }
    printf("distances follow the height one to one: %s\n", one ? "True" : "False");
    printf("and do so: %s\n", same ? "True" : "False");

    free(q);
    free(dq);
    free(slope);
    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
