"""tangere.control: LQR beside scipy, planners on systems with known answers, costs of Python, closed loops."""

import numpy as np
import pytest
import tangere as tg

RAIL = """<mujoco><option timestep="0.1" gravity="0 0 0"/><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
<geom size="0.1" mass="2"/></body></worldbody><actuator><motor joint="x" ctrlrange="-9 9"/></actuator></mujoco>"""


@pytest.fixture
def rail():
    return tg.load_string(RAIL)


def test_lqr_is_that_of_scipy():
    linalg = pytest.importorskip("scipy.linalg")
    rng = np.random.default_rng(2)
    for _ in range(60):
        n, nu = rng.integers(1, 12), rng.integers(1, 5)
        A, B = rng.normal(size=(n, n)), rng.normal(size=(n, nu))
        W = rng.normal(size=(n + nu, n + nu))
        W = W @ W.T + 0.01 * np.eye(n + nu)
        Q, R, N = W[:n, :n], W[n:, n:], W[:n, n:]
        P = linalg.solve_discrete_are(A, B, Q, R, s=N)
        gain = tg.control.lqr(A, B, Q, R, N)
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + N.T)

        def residual(X, A=A, B=B, Q=Q, R=R, N=N):  # noqa: PLR0917
            G = B.T @ X @ A + N.T
            return np.abs(A.T @ X @ A - X - G.T @ np.linalg.solve(R + B.T @ X @ B, G) + Q).max() / np.abs(X).max()

        assert residual(gain.P) <= 10 * residual(P) + 1e-13  # as exact as scipy, also where P is hard to tell
        assert np.abs(gain.P - P).max() <= 1e-6 * np.abs(P).max()
        assert np.abs(gain.K - K).max() <= 1e-6 * np.abs(K).max()
        assert np.abs(np.linalg.eigvals(A - B @ gain.K)).max() < 1


def test_lqr_refuses():
    with pytest.raises(tg.Error, match="no stabilising gain"):
        tg.control.lqr([[2.0]], [[0.0]], [[1.0]], [[1.0]])
    with pytest.raises(ValueError, match=r"A: expected shape \(2, 2\), got \(1, 1\)"):
        tg.control.lqr([[2.0]], [[0.0], [1.0]], np.eye(2), [[1.0]])
    with pytest.raises(tg.Error, match="R is not positive definite"):
        tg.control.lqr([[2.0]], [[1.0]], [[1.0]], [[-1.0]])


def test_a_long_horizon_has_the_gain_of_lqr(rail):
    cost = tg.control.Cost(weight_q=1, weight_v=0.3, weight_u=0.05)
    planner = tg.control.Planner(rail, cost, "ilqr", horizon=200, bounds=(-np.inf, np.inf), regularisation=0)
    plan = planner.plan([1.0], [0.5])
    linear = rail.linearise([0.0])
    K = tg.control.lqr(linear.A, linear.B, np.diag([1, 0.3]), [[0.05]]).K
    assert np.abs(plan.gains[0] + K).max() < 1e-6
    assert np.abs(plan.u[0] + K @ [1.0, 0.5]).max() < 1e-6
    assert plan.q.shape == (201, 1)
    assert plan.cost <= plan.first_cost


def test_a_function_of_python_is_as_good_as_the_quadratic_cost(rail):
    calls = []

    def function(row, q, v, act, u):
        calls.append(len(row))
        assert act.shape == (len(row), 0)
        assert not u[row == 15].any()
        return 0.5 * (q[:, 0] - 0.2) ** 2 + 0.15 * v[:, 0] ** 2 + 0.025 * u[:, 0] ** 2

    def gradient(row, q, v, act, u):
        return q - 0.2, 0.3 * v, None, 0.05 * u

    quadratic = tg.control.Cost(q=[0.2], weight_q=1, weight_v=0.3, weight_u=0.05)
    ours = tg.control.Cost(function=function, gradient=gradient)
    for method in tg.control.METHODS:
        plans = [
            tg.control.Planner(rail, cost, method, horizon=15, samples=20, seed=3).plan([1.0], [0.0])
            for cost in (quadratic, ours)
        ]
        assert np.allclose(plans[0].u, plans[1].u, atol=1e-6)
        assert plans[0].cost == pytest.approx(plans[1].cost, rel=1e-9)
    assert max(calls) >= 20 * 16  # all samples of an iteration at once


def test_what_a_function_may_not_do(rail):
    def nothing(row, *state):
        return np.where(row == 7, np.nan, 0.0)

    planner = tg.control.Planner(rail, tg.control.Cost(function=nothing), "mppi", horizon=15)
    with pytest.raises(tg.Error, match="the cost of sample 0, row 7 is nan"):
        planner.plan([1.0], [0.0])

    def broken(row, *state):
        raise ZeroDivisionError("mine")

    planner = tg.control.Planner(rail, tg.control.Cost(function=broken), "cem", horizon=15)
    with pytest.raises(ZeroDivisionError, match="mine"):
        planner.plan([1.0], [0.0])
    planner = tg.control.Planner(rail, tg.control.Cost(function=lambda row, *_: 0 * row), "ilqr", horizon=15)
    with pytest.raises(tg.Error, match="gradient of the cost was refused"):
        planner.plan([1.0], [0.0])


@pytest.mark.parametrize("method", tg.control.METHODS)
def test_threads_do_not_matter(method):
    m = tg.load("quadruped")
    home = m.key("home")
    cost = tg.control.Cost(
        q=home.q, weight_q=1, weight_v=0.01, u=home.ctrl, weight_u=0.01, sites=["hind_left_foot"],
        site_target=[[-0.2, 0.13, 0.1]], weight_site=[0, 0, 100], com_velocity=[0.2, 0, 0], weight_com_velocity=1,
    )  # fmt: skip
    found = []
    for threads in (1, 2, 4):
        planner = tg.control.Planner(
            m, cost, method, horizon=6, hold=5, threads=threads, samples=9, iterations=2, noise=0.1, seed=8,
            u=home.ctrl, backward="smoothed",
        )  # fmt: skip
        sim = tg.Sim(m)
        sim.reset("home")
        found.append(tg.control.run(planner, sim, 3))
    for other in found[1:]:
        assert np.array_equal(other.u, found[0].u)
        assert np.array_equal(other.q, found[0].q)
        assert np.array_equal(other.cost, found[0].cost)


def test_seeds_matter_and_reset_repeats(rail):
    cost = tg.control.Cost(weight_q=1, weight_u=0.01)
    planner = tg.control.Planner(rail, cost, "mppi", horizon=10, seed=1)
    first = planner.plan([1.0], [0.0])
    second = planner.plan([1.0], [0.0])
    planner.reset()
    again = planner.plan([1.0], [0.0])
    other = tg.control.Planner(rail, cost, "mppi", horizon=10, seed=2).plan([1.0], [0.0])
    assert np.array_equal(first.u, again.u)
    assert not np.array_equal(first.u, other.u)
    assert not np.array_equal(first.u, second.u)
    assert np.abs(first.u).max() <= 9


def test_a_loop_follows_references_that_move(rail):
    """A ramp of 0.5 m/s, seen by the planner one horizon ahead."""
    dt, horizon = rail.timestep, 10

    def ramp(k):
        return 0.5 * dt * np.arange(k, k + horizon + 1)[:, None]

    cost = tg.control.Cost(q=ramp(0), v=np.full((horizon + 1, 1), 0.5), weight_q=10, weight_v=1, weight_u=1e-4)
    planner = tg.control.Planner(rail, cost, "ilqr", horizon=horizon)
    seen = []
    loop = tg.control.run(
        planner, tg.Sim(rail), 60, before=lambda k, p: p.aim(q=ramp(k)), progress=lambda k, n, plan: seen.append(k)
    )
    assert abs(loop.q[-1, 0] - 0.5 * dt * 60) < 1e-3
    assert abs(loop.v[-1, 0] - 0.5) < 1e-3
    assert seen == list(range(60))
    assert loop.rate > 0
    assert loop.time[-1] == pytest.approx(6.0)


def test_a_pendulum_is_swung_up():
    m = tg.load_string("""<mujoco><option timestep="0.01"/><worldbody><body>
        <joint name="pin" axis="0 1 0" damping="0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02" mass="1"/></body></worldbody>
        <actuator><motor joint="pin" ctrlrange="-2 2"/></actuator></mujoco>""")  # a third of what lifts it at rest

    def function(row, q, v, act, u):
        return 1 + np.cos(q[:, 0]) + 0.05 * v[:, 0] ** 2

    cost = tg.control.Cost(function=function, weight_u=1e-3)
    planner = tg.control.Planner(
        m, cost, "mppi", horizon=20, hold=10, samples=60, iterations=2, noise=1.5, correlation=0.6, seed=4
    )
    loop = tg.control.run(planner, tg.Sim(m), 80)
    assert np.cos(loop.q[-15:, 0]).max() < -0.97
    assert np.abs(loop.u).max() <= 2


def test_rollouts_that_blow_up_are_counted(rail):
    planner = tg.control.Planner(
        rail, tg.control.Cost(weight_q=1), "mppi", horizon=10, noise=8, speed=1.0, samples=50, iterations=2
    )
    plan = planner.plan([1.0], [0.0])
    assert 0 < plan.blown < plan.rollouts
    assert np.isfinite(plan.cost)
    assert np.abs(plan.v).max() <= 1


def test_refusals(rail):
    with pytest.raises(ValueError, match="method: expected one of 'random'"):
        tg.control.Planner(rail, tg.control.Cost(), "magic")
    with pytest.raises(tg.UnknownNameError, match="tip"):
        tg.control.Planner(rail, tg.control.Cost(sites=["tip"]))
    with pytest.raises(ValueError, match=r"cost.q: expected shape \(1,\) or \(21, 1\)"):
        tg.control.Planner(rail, tg.control.Cost(q=np.zeros((5, 1)), weight_q=1))
    with pytest.raises(tg.Error, match=r"weight_v\[0\] = -1"):
        tg.control.Planner(rail, tg.control.Cost(weight_v=-1))
    with pytest.raises(ValueError, match="noise: expected 1 numbers"):
        tg.control.Planner(rail, tg.control.Cost(), noise=[1, 2])
    planner = tg.control.Planner(rail, tg.control.Cost(weight_q=1))
    with pytest.raises(ValueError, match="made without one"):
        planner.cost = tg.control.Cost(function=lambda *_: 0)
    with pytest.raises(tg.Error, match=r"now.q\[0\]"):
        planner.plan([np.nan], [0.0])


def test_parameters_are_those_of_the_model_now(rail):
    cost = tg.control.Cost(weight_q=1, weight_u=1e-12)
    planner = tg.control.Planner(rail, cost, "ilqr", horizon=5, bounds=(-np.inf, np.inf), tolerance=1e-12)
    light = planner.plan([0.01], [0.0]).u[0, 0]
    rail.params["body.#1.mass"] *= 3
    planner.reset()
    heavy = planner.plan([0.01], [0.0]).u[0, 0]
    assert heavy == pytest.approx(3 * light, rel=1e-3)
