"""Which geoms are near each other at a configuration, how far apart, and how that follows the joints.

The same in C: 07_contacts.c.
"""

import numpy as np
import tangere as tg

m = tg.load("quadruped")
q = m.key("home").q.copy()
q[2] += 0.01  # 1 cm above the floor, more or less

# all pairs within 5 cm
contacts, _, _, slope = m.collide_derivatives(q, margin=0.05)
names = m.names("geom")
for k, (geom1, geom2) in enumerate(zip(contacts.geom1, contacts.geom2, strict=True)):
    print(f"{names[geom1]} and {names[geom2]}: {1e3 * contacts.distance[k]:.3f} mm")

# lifting the trunk by 1 mm opens every gap by 1 mm: the third number of a tangent vector is its height
print(f"distances follow the height one to one: {np.allclose(slope[:, 2], 1)}")
dq = np.zeros(m.nv)
dq[2] = 1e-3
lifted = m.collide(m.integrate(q, dq), margin=0.05)
print(f"and do so: {np.allclose(lifted.distance - contacts.distance, 1e-3)}")
