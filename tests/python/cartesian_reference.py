"""The contact law in two phases by Clarabel, independent of the library: one second-order cone program per phase."""

import numpy as np
import pytest

clarabel = pytest.importorskip("clarabel")
sparse = pytest.importorskip("scipy.sparse")


def _settings():
    s = clarabel.DefaultSettings()
    s.verbose = False
    s.tol_gap_abs = s.tol_gap_rel = s.tol_feas = 1e-12
    s.tol_ktratio = 1e-8
    s.max_iter = 500
    return s


def phase(G, g, normal, mu, bound):
    """min 1/2 f G f + g f with |f_t| <= mu f_n and f_n >= bound (per row of a normal)."""
    n = len(g)
    rows = np.flatnonzero(normal)
    ends = [*rows[1:], n]
    # impulses in the unit of each contact, speeds in that of the problem: Clarabel's tolerances are absolute
    unit = np.repeat([1 / np.sqrt(G[i, i]) for i in rows], np.subtract(ends, rows))
    speed = max(np.abs(unit * g).max(), 1e-300)
    A, b, cones = [-np.eye(n)[rows]], [-(bound / unit / speed)[rows]], [clarabel.NonnegativeConeT(len(rows))]
    for i, end in zip(rows, ends, strict=True):
        if end - i > 1:
            S = -np.eye(n)[i:end]
            S[0] *= mu[i]
            A.append(S)
            b.append(np.zeros(end - i))
            cones.append(clarabel.SecondOrderConeT(int(end - i)))
    P = sparse.csc_matrix(np.triu(unit[:, None] * G * unit))
    rows_of = sparse.csc_matrix(np.vstack(A))
    solution = clarabel.DefaultSolver(P, unit * g / speed, rows_of, np.concatenate(b), cones, _settings()).solve()
    return np.array(solution.x) * unit * speed, str(solution.status)


def impulse(problem, eps=0.0):
    """Both phases; f, and whether Clarabel solved both to its tolerance ('AlmostSolved' it did not)."""
    p = problem
    A = p.G + eps * np.eye(len(p.g))
    zero = np.zeros(len(p.g))
    fc, a = phase(A, p.g, p.normal, p.mu, zero)
    fr, b = phase(A, p.g + p.G @ fc - p.target, p.normal, p.mu, np.where(p.normal, p.e * np.maximum(fc, 0), 0))
    return fc + fr, a == b == "Solved"


def balls_problem(x, v, dt, radius, mass, pairs, walls):  # noqa: PLR0917
    """Contacts of balls (n, 2) in the unit square by the formulas alone: J, and the numbers of `impulse`.

    pairs: mu and e of each pair of balls in the order of combinations; walls: mu and e of all walls.
    """
    from itertools import combinations  # noqa: PLC0415
    from types import SimpleNamespace  # noqa: PLC0415

    rows, depth, mu, e = [], [], [], []

    def add(distance, normal, entries, law):
        if distance < -1e-12:
            for direction in (normal, np.array([-normal[1], normal[0]])):
                row = np.zeros_like(x)
                for i, sign in entries:
                    row[i] = sign * direction
                rows.append(row.ravel())
            depth.extend((-distance, 0))
            mu.extend((law[0], law[0]))
            e.extend((law[1], law[1]))

    for k, (i, j) in enumerate(combinations(range(len(x)), 2)):
        d = x[i] - x[j]
        length = np.hypot(*d)
        add(length - radius[i] - radius[j], d / length, [(i, 1), (j, -1)], pairs[k])
    for i, r in enumerate(radius):
        for a, sign in ((0, 1), (0, -1), (1, 1), (1, -1)):
            add((x[i, a] if sign > 0 else 1 - x[i, a]) - r, sign * np.eye(2)[a], [(i, 1)], walls)
    J = np.array(rows).reshape(-1, x.size)
    inverse = np.repeat(1 / np.asarray(mass), 2)
    return SimpleNamespace(
        J=J,
        inverse=inverse,
        G=(J * inverse) @ J.T,
        g=J @ v.ravel(),
        target=np.array(depth) / (8 * dt),
        normal=np.arange(len(rows)) % 2 == 0,
        mu=np.array(mu),
        e=np.array(e),
    )


def rope_limits(x, *, both=True):
    """Rows of the active limits of a rope (n, 2) that hangs at the origin and their distances, by the formulas alone.

    Bends up to 0.3 rad, in both directions or in one, then lengths between 0.04 and 0.06 m.
    """
    n, d = len(x), np.diff(np.vstack([[0, 0], x]), axis=0)
    length = np.linalg.norm(d, axis=1)
    angle = np.arctan2(d[:, 0], -d[:, 1])
    slope = np.stack([np.cos(angle), np.sin(angle)], -1) / length[:, None]  # of the angle by the end of its link
    rows, distances = [], []

    def add(distance, entries):
        if distance < -1e-12:
            row = np.zeros((n + 1, 2))
            for i, entry in entries:
                row[i] += entry
            rows.append(row[1:].ravel())
            distances.append(distance)

    for i in range(n - 1):
        bend = (angle[i + 1] - angle[i] + np.pi) % (2 * np.pi) - np.pi
        for s in (1, -1) if both else (1,):
            a, b = s * slope[i], s * slope[i + 1]
            add(0.3 - s * bend, [(i, -a), (i + 1, a + b), (i + 2, -b)])
    for i, e in enumerate(d / length[:, None]):
        add(0.06 - length[i], [(i, e), (i + 1, -e)])
        add(length[i] - 0.04, [(i, -e), (i + 1, e)])
    return np.array(rows).reshape(-1, 2 * n), np.array(distances)


def rope_jump(x, v, dt, *, both=True, mass=0.1):
    """v after both phases without friction and restitution, by non-negative least squares, and how many limits act."""
    from scipy.optimize import nnls  # noqa: PLC0415

    J, distance = rope_limits(x, both=both)
    if len(distance) == 0:
        return v, 0
    G, g = J @ J.T / mass, J @ v.ravel()
    L = np.linalg.cholesky(G + 1e-13 * np.trace(G) / len(g) * np.eye(len(g)))
    solve = lambda b: nnls(L.T, -np.linalg.solve(L, b), maxiter=100 * len(g))[0]  # noqa: E731
    fc = solve(g)
    fr = solve(g + G @ fc + distance / (8 * dt))
    return v + (J.T @ (fc + fr)).reshape(v.shape) / mass, len(distance)
