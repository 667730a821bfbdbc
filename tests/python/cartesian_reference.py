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
    """Both phases; f, and whether Clarabel says that both are solved."""
    p = problem
    A = p.G + eps * np.eye(len(p.g))
    zero = np.zeros(len(p.g))
    fc, a = phase(A, p.g, p.normal, p.mu, zero)
    fr, b = phase(A, p.g + p.G @ fc - p.target, p.normal, p.mu, np.where(p.normal, p.e * np.maximum(fc, 0), 0))
    return fc + fr, "Solved" in a and "Solved" in b
