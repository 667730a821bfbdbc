"""Distance and normal of every pair of shapes, 1,000 poses each, beside Coal and MuJoCo's mj_geomDistance.

Both peers search shapes without a closed form to about 1e-6 m, and now and then stop farther away. Where a distance
differs from theirs, ours must be the larger separation: see collision_pairs.py.
"""

import re

import pytest
from collision_pairs import HEADER, PAIRS, PairErrors, bound, compare, row
from support import ROOT

EXACT = 1e-12  # m
PEER_MESH = 1e-6  # MuJoCo stores meshes in single precision

measured: dict[tuple[str, str], PairErrors] = {}


@pytest.mark.parametrize("pair", PAIRS, ids=", ".join)
def test_pair(pair):
    e = measured[pair] = compare(pair)
    assert e.separation < EXACT
    assert e.touching < EXACT
    assert e.mirrored < EXACT
    assert e.beaten < (PEER_MESH if "mesh" in pair else EXACT)
    round_shapes = {"ellipsoid", "cylinder"} & set(pair)
    for name in ("coal", "mujoco"):
        assert e.peer_differs[name] <= (10 if round_shapes else 0)
        assert e.peer_normal[name] < (5e-2 if round_shapes else 1e-4 if "mesh" in pair else 1e-9)
        if not round_shapes and "mesh" not in pair:
            assert e.peer[name] < EXACT


def documented() -> dict[tuple[str, ...], list[str]]:
    text = (ROOT / "docs" / "collision.md").read_text()
    rows = re.findall(r"^\| (\w+, \w+) \| (.*) \|$", text, re.MULTILINE)
    return {tuple(name.split(", ")): cells.split(" | ") for name, cells in rows}


def test_matrix():
    """Prints the matrix, and the page shows it: no error is larger than what stands there."""
    if set(measured) != set(PAIRS):
        pytest.skip("the pairs were not all measured")
    print("\n" + HEADER)
    page = documented()
    assert set(page) == set(PAIRS)
    for pair in PAIRS:
        e = measured[pair]
        print(row(e))
        for cell, value in zip(page[pair], (e.separation, e.touching, e.mirrored, e.beaten), strict=False):
            assert float(bound(value)) <= 10 * max(float(cell), 1e-16), (pair, "run scripts/measure_collision.py")
