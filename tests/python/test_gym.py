"""Gymnasium: its checker, spaces, seeding, resets, rewards and terminations beside those of its own environments,
gradients.
"""

import subprocess
import sys

import numpy as np
import pytest
import tangere as tg
from support import ROBOTS

gymnasium = pytest.importorskip("gymnasium", reason="pip install 'tangere[gym]'")
tgym = pytest.importorskip("tangere.gym")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

FOLDER = ROBOTS / "gymnasium"
OWN = ("PlanarWalker", "Quadruped")
THEIRS = ("HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid")


def path_of(name):
    if name in OWN:
        return None
    path = FOLDER / tgym.TASKS[name].file
    if not path.is_file():
        pytest.skip(f"{path.name} is not there")
    return path


def make(name, n=4, **options):
    return tgym.TangereVectorEnv(name, n, path_of(name), **options)


@pytest.mark.parametrize("name", OWN + THEIRS)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # of infinite bounds, which Gymnasium's own have, too
def test_env_checker(name):
    env = tgym.TangereEnv(name, path_of(name))
    check_env(env, skip_render_check=True)
    env.close()


def test_registered():
    env = gymnasium.make("tangere/Quadruped-v0", disable_env_checker=True)
    observation, _ = env.reset(seed=1)
    assert observation.shape == env.observation_space.shape
    envs = gymnasium.make_vec("tangere/PlanarWalker-v0", num_envs=3)
    envs.reset(seed=1)
    observations, rewards, *_ = envs.step(envs.action_space.sample())
    assert observations.shape == (3, 17)
    assert rewards.shape == (3,)
    envs.close()
    with pytest.raises(ValueError, match=r"path: where half_cheetah\.xml is"):
        gymnasium.make_vec("tangere/HalfCheetah-v0", num_envs=3)


@pytest.mark.parametrize("name", THEIRS)
def test_beside_gymnasium(name):
    """The same start from the same seed, the same spaces, and the same reward and health of the same state and
    action.
    """
    pytest.importorskip("imageio", reason="Gymnasium's own environments need it")
    theirs = gymnasium.make(f"{name}-v5", disable_env_checker=True).unwrapped
    ours = make(name, 1)
    m = ours.model
    observation, _ = theirs.reset(seed=7)
    start, _ = ours.reset(seed=7)
    size = m.nq + m.nv - ours.task.skipped
    unit = theirs.data.qpos.copy()
    if ours.task.free:
        unit[3:7] /= np.linalg.norm(unit[3:7])
    assert np.allclose(start[0, :size], np.concatenate([unit[ours.task.skipped :], theirs.data.qvel]), atol=1e-12)
    if not ours.task.speed_of_mass:
        assert ours.single_observation_space.shape == theirs.observation_space.shape
    assert ours.single_action_space == theirs.action_space
    assert ours.dt == pytest.approx(theirs.dt)
    theirs.action_space.seed(0)
    for _ in range(3):
        action = theirs.action_space.sample()
        _, reward, terminated, _, info = theirs.step(action)
        forward = info["reward_forward"]
        # their state in our environment: what it pays for having got there
        ours.batch.q[0], ours.batch.v[0] = theirs.data.qpos, theirs.data.qvel
        ours._wrench[0] = theirs.data.cfrc_ext
        pay, parts = ours._rewards(np.array([forward / ours.task.forward_reward_weight]), action[None].astype(float))
        assert pay[0] == pytest.approx(reward, rel=1e-6)
        for key in parts:
            assert parts[key][0] == pytest.approx(info.get(key, 0.0), rel=1e-6, abs=1e-9)
        assert bool(~ours._healthy()[0] & ours.task.terminate_when_unhealthy) == terminated
        if terminated:
            break
    assert observation.shape[0] >= size
    theirs.close()


@pytest.mark.parametrize("name", OWN)
def test_seeds(name):
    a, b = make(name, 4), make(name, 4, threads=1)
    first, second = a.reset(seed=3)[0], b.reset(seed=[3, 4, 5, 6])[0]
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    a.action_space.seed(0)
    for _ in range(20):
        action = a.action_space.sample()
        for x, y in zip(a.step(action)[:4], b.step(action)[:4], strict=True):
            assert np.array_equal(x, y)
    assert not np.array_equal(a.reset()[0], first)
    assert np.array_equal(a.reset(seed=3)[0], first)


def fall(env):
    """Until some environment is over."""
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(500):
        result = env.step(rng.uniform(-1, 1, env.action_space.shape))
        if (result[2] | result[3]).any():
            return result
    raise AssertionError("nobody fell")


def test_autoreset_modes():
    env = make("PlanarWalker", 4, autoreset_mode=AutoresetMode.NEXT_STEP)
    _, _, over, _, _ = fall(env)
    observation, reward, terminated, _, _ = env.step(np.zeros(env.action_space.shape))
    assert (reward[over] == 0).all()
    assert not terminated[over].any()
    assert (env._elapsed[over] == 0).all()
    assert (abs(observation[over, 0] - 1.23) < 0.02).all()
    same = make("PlanarWalker", 4, autoreset_mode="SameStep")
    observation, _, over, _, info = fall(same)
    assert (abs(observation[over, 0] - 1.23) < 0.02).all()
    assert (info["_final_obs"] == over).all()
    final = info["final_obs"][over]
    assert ((final[:, 0] < 0.8) | (abs(final[:, 1]) > 1)).all()
    off = make("PlanarWalker", 4, autoreset_mode="Disabled")
    _, _, over, _, _ = fall(off)
    with pytest.raises(ValueError, match="is over"):
        off.step(np.zeros(off.action_space.shape))
    off.reset(options={"reset_mask": over})
    off.step(np.zeros(off.action_space.shape))
    short = make("Quadruped", 2, max_episode_steps=3)
    short.reset(seed=0)
    ends = [short.step(np.zeros((2, 12)))[3].all() for _ in range(3)]
    assert ends == [False, False, True]


@pytest.mark.parametrize("name", [*OWN, "Humanoid"])
def test_step_with_gradient(name):
    """Against differences of observations and rewards, with respect to actions and velocities."""
    env = make(name, 2)
    env.reset(seed=0)
    for _ in range(5):
        env.step(np.zeros(env.action_space.shape))
    states = env.batch.save()
    rng = np.random.default_rng(1)
    action = 0.1 * rng.normal(size=env.action_space.shape)
    size = env.model.nq + env.model.nv - env.task.skipped
    go, gr = np.zeros(env.observation_space.shape), rng.normal(size=2)
    go[:, :size] = rng.normal(size=(2, size))

    def value(action, v=0.0):
        env.batch.reset(states=states)
        env.batch.v = env.batch.v + v
        observation, reward, *_ = env.step(action)
        return (observation[:, :size] * go[:, :size]).sum(axis=1) + reward * gr

    env.batch.reset(states=states)
    *_, vjp = env.step_with_gradient(action)
    g = vjp(go, gr)
    h = 1e-6
    for array, field in ((env.model.nu, "action"), (env.model.nv, "v")):
        d = rng.normal(size=(2, array))
        pair = (
            (value(action + h * d), value(action - h * d))
            if field == "action"
            else (value(action, h * d), value(action, -h * d))
        )
        rate = (pair[0] - pair[1]) / (2 * h)
        assert np.allclose((getattr(g, field) * d).sum(axis=1), rate, rtol=2e-3, atol=2e-3 * abs(rate).max())


def test_refusals():
    env = make("Quadruped", 2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions: expected shape"):
        env.step(np.zeros((2, 3)))
    with pytest.raises(tg.Error, match="environment 1"):
        env.step(np.full((2, 12), [[0.0], [np.nan]]))
    with pytest.raises(ValueError, match="task"):
        tgym.TangereVectorEnv("Cheetah", 1)
    with pytest.raises(ValueError, match="render_mode"):
        make("Quadruped", 1, render_mode="human")
    env.close()
    with pytest.raises(tg.Error, match="closed"):
        env.step(np.zeros((2, 12)))


def test_says_what_to_install():
    code = (
        "import sys; sys.modules['gymnasium'] = None; import tangere\n"
        "try:\n    import tangere.gym\nexcept ImportError as e:\n    print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'tangere[gym]'" in done.stdout
