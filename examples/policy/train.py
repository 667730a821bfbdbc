"""A walking policy from first-order gradients through contact, beside evolution at equal steps.

Short-horizon actor-critic (J. Xu et al., "Accelerated policy learning with parallel differentiable simulation",
2022): 64 planar walkers take 24 control steps, the return of these steps plus the critic's value of the last state is
differentiated through the simulation, and the walkers go on from where they are. Evolution: 64 perturbations of the
same policy, antithetic, ranked. Both see the same number of simulated steps.

    python examples/policy/train.py --method exact --seed 0        # exact, smoothed, toi, evolution
    python examples/policy/train.py --all --out docs/policy.csv    # everything of docs/batch.md (minutes on two cores)
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
import tangere as tg
import tangere.torch as tt
import torch
from torch import nn

ENVS, HORIZON, SKIP = 64, 24, 8  # walkers; control steps of an update; physics steps of a control step (16 ms)
EPISODE = 125  # control steps of an evaluation: 2 s
METHODS = ("exact", "smoothed", "toi", "evolution")
REPORTED = (11, 12, 13)  # seeds of the kept curves; settings were chosen on seed 0, and 1 and 2 were looked at
MODEL = Path(tg.__file__).parent / "models" / "planar_walker.xml"


class Walkers:
    """What the walker sees and what it is paid: torch in, torch out, differentiable."""

    def __init__(self, backward: str) -> None:
        self.model = tg.load(MODEL)
        self.sim = tg.Sim(self.model, backward=backward)
        self.dt = SKIP * self.sim.dt
        self.start = torch.tensor(np.array(self.model.key("stand").q))

    def reset(self, n: int, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Near the standing pose."""
        noise = 0.05 * torch.randn(n, self.model.nq + self.model.nv, dtype=torch.float64, generator=rng)
        q, v = self.start + noise[:, : self.model.nq], 4 * noise[:, self.model.nq :]
        q[:, 0] = 0
        return q, v

    @staticmethod
    def observe(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.cat([q[:, 1:2] - 1.2, q[:, 2:], 0.1 * v], dim=1)

    def step(
        self, q: torch.Tensor, v: torch.Tensor, action: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        u = action[:, None].expand(-1, SKIP, -1)
        out = tt.rollout(self.sim, q, v, u)
        after, speed = out.q[:, -1], out.v[:, -1]
        forward = ((after[:, 0] - q[:, 0]) / self.dt).clamp(max=1.5)
        upright = 1 - 4 * (after[:, 1] - 1.2).clamp(max=0) ** 2 - after[:, 2] ** 2
        return after, speed, forward + upright - 0.05 * action.square().sum(1)

    @staticmethod
    def fallen(q: torch.Tensor) -> torch.Tensor:
        return (q[:, 1] < 0.8) | (q[:, 2].abs() > 1.0)


def network(inputs: int, outputs: int, last: float) -> nn.Sequential:
    layers = nn.Sequential(
        nn.Linear(inputs, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, outputs)
    ).double()
    with torch.no_grad():
        layers[-1].weight *= last
        layers[-1].bias *= 0
    return layers


def evaluate(world: Walkers, act, seed: int = 1000) -> float:
    """Mean return of 64 fresh starts over two seconds; a walker that falls earns nothing more."""
    with torch.no_grad():
        q, v = world.reset(ENVS, torch.Generator().manual_seed(seed))
        alive, total = torch.ones(ENVS, dtype=torch.bool), torch.zeros(ENVS, dtype=torch.float64)
        for _ in range(EPISODE):
            nq, nv, reward = world.step(q, v, act(world.observe(q, v)))
            q, v = torch.where(alive[:, None], nq, q), torch.where(alive[:, None], nv, v)
            total += torch.where(alive, reward, 0.0)
            alive &= ~world.fallen(q)
            if not alive.any():
                break
    return float(total.mean())


class Curve:
    """Returns by simulated physics steps, told as they come."""

    def __init__(self, method: str, seed: int, quiet: bool) -> None:
        self.rows, self.method, self.seed, self.quiet, self.start = [], method, seed, quiet, time.process_time()

    def add(self, steps: int, value: float) -> None:
        seconds = time.process_time() - self.start
        self.rows.append((self.method, self.seed, steps, round(value, 2), round(seconds, 1)))
        if not self.quiet:
            print(
                f"{self.method:10} seed {self.seed}: {steps / 1e6:5.2f} M steps, return {value:8.2f}, {seconds:6.1f} s",
                flush=True,
            )


def first_order(world: Walkers, method: str, seed: int, updates: int, quiet: bool) -> Curve:
    torch.manual_seed(seed)
    rng = torch.Generator().manual_seed(seed)
    size = world.model.nq - 1 + world.model.nv
    actor, critic = network(size, world.model.nu, 0.1), network(size, 1, 1.0)
    optimise, learn = torch.optim.Adam(actor.parameters(), 2e-3), torch.optim.Adam(critic.parameters(), 2e-3)
    gamma, curve = 0.98, Curve(method, seed, quiet)
    q, v = world.reset(ENVS, rng)
    for update in range(updates + 1):
        if update % 10 == 0 or update == updates:
            curve.add(update * ENVS * HORIZON * SKIP, evaluate(world, lambda o: actor(o).tanh()))
        if update == updates:
            break
        for group in optimise.param_groups:
            group["lr"] = 2e-3 * (1 - 0.7 * update / updates)
        states, rewards, ends = [], [], []
        worth, discount = torch.zeros(ENVS, dtype=torch.float64), torch.ones(ENVS, dtype=torch.float64)
        for _ in range(HORIZON):
            observation = world.observe(q, v)
            states.append(observation.detach())
            action = (
                actor(observation) + 0.2 * torch.randn(ENVS, world.model.nu, dtype=torch.float64, generator=rng)
            ).tanh()
            q, v, reward = world.step(q, v, action)
            over = world.fallen(q.detach())
            worth = worth + discount * reward  # falling ends what can be earned: its value is zero
            discount = discount * gamma * ~over
            rewards.append(reward.detach())
            ends.append(over)
            if over.any():  # those begin anew; no gradient goes through that
                fresh = world.reset(ENVS, rng)
                worth = worth + 0.0
                q, v = (torch.where(over[:, None], a, b) for a, b in zip(fresh, (q, v), strict=True))
                discount = torch.where(over, torch.zeros_like(discount), discount)
        worth = worth + discount * critic(world.observe(q, v))[:, 0]
        optimise.zero_grad()
        (-worth.mean() / HORIZON).backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        optimise.step()
        q, v = q.detach(), v.detach()
        _fit_critic(
            critic, learn, torch.stack(states), torch.stack(rewards), torch.stack(ends), world.observe(q, v), gamma
        )
    return curve


def _fit_critic(critic, learn, states, rewards, ends, last, gamma) -> None:  # noqa: PLR0917
    """TD(0.95) targets, a few passes."""
    with torch.no_grad():
        values = torch.cat([critic(states)[..., 0], critic(last)[None, :, 0]])
        target, targets = values[-1], []
        for t in range(len(rewards) - 1, -1, -1):
            later = torch.where(ends[t], 0.0, 0.05 * values[t + 1] + 0.95 * target)
            target = rewards[t] + gamma * later
            targets.insert(0, target)
        targets = torch.stack(targets)
    for _ in range(8):
        learn.zero_grad()
        (critic(states)[..., 0] - targets).square().mean().backward()
        learn.step()


def evolution(world: Walkers, seed: int, updates: int, quiet: bool) -> Curve:
    """As many simulated steps as `first_order`: each generation runs 64 perturbed policies for an episode of 24
    control steps times 5.
    """
    torch.manual_seed(seed)
    rng = torch.Generator().manual_seed(seed)
    size = world.model.nq - 1 + world.model.nv
    actor = network(size, world.model.nu, 0.1)
    shapes = [p.shape for p in actor.parameters()]
    centre = nn.utils.parameters_to_vector(actor.parameters()).detach()
    sigma, rate, length, curve = 0.05, 0.05, 5 * HORIZON, Curve("evolution", seed, quiet)

    def many(vectors: torch.Tensor, observation: torch.Tensor) -> torch.Tensor:
        """A policy of its own for each row."""
        x, at = observation[:, None], 0
        for i in range(0, len(shapes), 2):
            (out, inner), n = shapes[i], shapes[i].numel()
            weight, bias = vectors[:, at : at + n].reshape(-1, out, inner), vectors[:, at + n : at + n + out]
            x, at = torch.bmm(x, weight.transpose(1, 2)) + bias[:, None], at + n + out
            x = nn.functional.silu(x) if i + 2 < len(shapes) else x
        return x[:, 0].tanh()

    generations = updates // 5
    for generation in range(generations + 1):
        if generation % 2 == 0 or generation == generations:
            curve.add(
                generation * ENVS * length * SKIP, evaluate(world, lambda o, c=centre: many(c.expand(len(o), -1), o))
            )
        if generation == generations:
            break
        half = torch.randn(ENVS // 2, len(centre), dtype=torch.float64, generator=rng)
        noise = torch.cat([half, -half])
        q, v = (x[: ENVS // 2].repeat(2, 1) for x in world.reset(ENVS, rng))
        total, alive = torch.zeros(ENVS, dtype=torch.float64), torch.ones(ENVS, dtype=torch.bool)
        with torch.no_grad():
            for _ in range(length):
                q, v, reward = world.step(q, v, many(centre + sigma * noise, world.observe(q, v)))
                total += torch.where(alive, reward, 0.0)
                alive &= ~world.fallen(q)
        ranks = total.argsort().argsort().double() / (ENVS - 1) - 0.5
        centre = centre + rate * (ranks @ noise) / (ENVS * sigma)
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", choices=METHODS, default="exact")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--all", action="store_true", help="all methods, three seeds")
    parser.add_argument("--out", help="CSV of the curves")
    parser.add_argument("--quiet", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)  # the networks are small; the simulation has the cores
    still = evaluate(Walkers("exact"), lambda o: torch.zeros(len(o), 6, dtype=torch.float64))
    print(f"doing nothing: return {still:.2f}")
    jobs = [(m, s) for s in REPORTED for m in METHODS] if given.all else [(given.method, given.seed)]
    rows = []
    for method, seed in jobs:
        world = Walkers(method if method != "evolution" else "exact")
        if method == "evolution":
            curve = evolution(world, seed, given.updates, given.quiet)
        else:
            curve = first_order(world, method, seed, given.updates, given.quiet)
        first, last = curve.rows[0], curve.rows[-1]
        print(
            f"{method} seed {seed}: return {first[3]:.2f} -> {last[3]:.2f} in {last[2] / 1e6:.2f} M steps, "
            f"{last[4]:.0f} s"
        )
        rows += curve.rows
        if given.out:
            with Path(given.out).open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(("method", "seed", "steps", "return", "seconds"))
                writer.writerow(("nothing", 0, 0, round(still, 2), 0))
                writer.writerows(rows)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
