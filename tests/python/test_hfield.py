"""Height fields from files, against MuJoCo."""

from __future__ import annotations

import itertools
import re
import struct
import zlib

import mujoco
import numpy as np
import pytest
import tangere as tg

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
FORMATS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16)]
FORMATS += [(6, 8), (6, 16)]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def predict(kind: int, left: int, up: int, corner: int) -> int:
    p = left + up - corner
    nearest = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
    return (0, left, up, (left + up) // 2, nearest)[kind]


def png(rows: np.ndarray, colour: int, depth: int, pack=zlib.compress, *, header=None, parts: int = 1) -> bytes:
    """rows: height x bytes a row, as they are before filtering; the filters take turns."""
    bits = depth * CHANNELS[colour]
    step, (height, size) = max(1, bits // 8), rows.shape
    raw = bytearray()
    for y in range(height):
        kind = y % 5
        raw.append(kind)
        for i in range(size):
            left = int(rows[y, i - step]) if i >= step else 0
            up = int(rows[y - 1, i]) if y else 0
            corner = int(rows[y - 1, i - step]) if y and i >= step else 0
            raw.append((int(rows[y, i]) - predict(kind, left, up, corner)) % 256)
    header = header or struct.pack(">IIBBBBB", size * 8 // bits, height, depth, colour, 0, 0, 0)
    packed = pack(bytes(raw))
    cut = [len(packed) * i // parts for i in range(parts + 1)]
    palette = bytes((37 * i) % 256 for i in range(3 * 2 ** min(depth, 8)))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"tEXt", b"who\0cares")
        + (chunk(b"PLTE", palette) if colour == 3 else b"")
        + b"".join(chunk(b"IDAT", packed[a:b]) for a, b in itertools.pairwise(cut))
        + chunk(b"IEND", b"")
    )


def pixels(colour: int, depth: int, width: int = 24, height: int = 11) -> np.ndarray:
    bytes_a_row = width * depth * CHANNELS[colour] // 8
    rng = np.random.default_rng(10 * colour + depth)
    smooth = np.cumsum(rng.integers(0, 5, (height, bytes_a_row)), axis=1)  # so that there is something to pack
    return (smooth % 256).astype(np.uint8)


def compare(folder, data: bytes, name: str = "h.png") -> None:
    (folder / name).write_bytes(data)
    text = (
        f'<mujoco><asset><hfield name="h" file="{name}" size="1 2 0.5 0.1"/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )
    (folder / "m.xml").write_text(text)
    m, mj = tg.load(folder / "m.xml"), mujoco.MjModel.from_xml_path(str(folder / "m.xml"))
    saved = m.to_mjcf()
    shape = [int(re.search(rf'{n}="(\d+)"', saved).group(1)) for n in ("nrow", "ncol")]
    assert shape == [mj.hfield_nrow[0], mj.hfield_ncol[0]]
    ours = np.array(re.search(r'elevation="([^"]*)"', saved).group(1).split(), dtype=np.float32).reshape(shape)
    np.testing.assert_allclose(ours[::-1].ravel(), mj.hfield_data, atol=1e-7)


@pytest.mark.parametrize(("colour", "depth"), FORMATS)
def test_formats(tmp_path, colour: int, depth: int) -> None:
    compare(tmp_path, png(pixels(colour, depth), colour, depth))


def packer(level: int, strategy: int):
    def pack(raw: bytes) -> bytes:
        c = zlib.compressobj(level, strategy=strategy)
        return c.compress(raw) + c.flush()

    return pack


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE])
def test_packings(tmp_path, level: int, strategy: int) -> None:
    rows = pixels(0, 8, 400, 300)
    compare(tmp_path, png(rows, 0, 8, packer(level, strategy), parts=7))


def test_flat(tmp_path) -> None:
    compare(tmp_path, png(np.full((3, 5), 9, np.uint8), 0, 8))


GOOD = png(pixels(0, 8), 0, 8)
HEADER = struct.pack(">II", 24, 11)
BROKEN = {
    "empty": (b"", "does not start as one"),
    "no PNG": (b"GIF89a" + GOOD, "does not start as one"),
    "cut": (GOOD[:-30], "ends early"),
    "cut in a chunk": (GOOD[:50], "ends early"),
    "no header": (GOOD[:8] + GOOD[33:], "header is not first"),
    "no pixels": (GOOD[:33] + chunk(b"IEND", b""), "broken|do not fit"),
    "interlaced": (png(pixels(0, 8), 0, 8, header=HEADER + bytes([8, 0, 0, 0, 1])), "interlac"),
    "unknown colour": (png(pixels(0, 8), 0, 8, header=HEADER + bytes([8, 5, 0, 0, 0])), "colour type 5 with 8"),
    "unknown depth": (png(pixels(0, 8), 0, 8, header=HEADER + bytes([9, 0, 0, 0, 0])), "with 9 bits"),
    "no palette": (png(pixels(0, 8), 0, 8, header=HEADER + bytes([8, 3, 0, 0, 0])), "palette is missing"),
    "huge": (png(pixels(0, 8), 0, 8, header=struct.pack(">IIBBBBB", 2**31, 2**31, 8, 0, 0, 0, 0)), "2147483648 x"),
    "large": (png(pixels(0, 8), 0, 8, header=struct.pack(">IIBBBBB", 4096, 4096, 8, 0, 0, 0, 0)), "do not fit"),
    "another size": (png(pixels(0, 8), 0, 8, header=struct.pack(">IIBBBBB", 25, 11, 8, 0, 0, 0, 0)), "broken"),
    "broken sum": (png(pixels(0, 8), 0, 8, lambda raw: zlib.compress(raw)[:-1] + b"?"), "broken"),
    "garbage": (png(pixels(0, 8), 0, 8, lambda raw: b"\x78\x9c" + bytes(range(256)) * 3), "broken"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(tmp_path, name: str) -> None:
    data, message = BROKEN[name]
    (tmp_path / "h.png").write_bytes(data)
    (tmp_path / "m.xml").write_text(
        '<mujoco><asset>\n<hfield name="h" file="h.png" size="1 2 0.5 0.1"/></asset></mujoco>'
    )
    with pytest.raises(tg.Error, match=rf"m\.xml:2: hfield 'h'.*h\.png.*({message})"):
        tg.load(tmp_path / "m.xml")


BLOCK = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.07, 0.07) for z in (-0.05, 0.05))
SHAPES = {
    "box": 'type="box" size="0.1 0.07 0.05"',
    "mesh": 'type="mesh" mesh="block"',
    "cylinder": 'type="cylinder" size="0.1 0.05" condim="6" friction="1 0.01 0.002"',
    "capsule": 'type="capsule" size="0.05 0.1" euler="0 90 0" condim="6" friction="1 0.01 0.002"',
}


@pytest.mark.parametrize("cells", [2, 20, 60])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_lands_comes_to_rest(shape: str, cells: int) -> None:
    """A body that lands on a flat field, or beside its seams, at 5 ms: as on a plane, on all of its corners."""
    elevation = "0 " * (cells + 1) ** 2
    m = tg.load_string(
        f"""<mujoco><option timestep="0.005"/><asset><mesh name="block" vertex="{BLOCK}"/>
        <hfield name="h" nrow="{cells + 1}" ncol="{cells + 1}" size="0.5 0.5 1 0.1" elevation="{elevation}"/></asset>
        <worldbody><geom type="hfield" hfield="h" friction="1 0.01 0.002"/>
        <body pos="0.02 0.01 0.13" euler="4 5 20"><freejoint/><geom {SHAPES[shape]} mass="1"/></body></worldbody>
        </mujoco>"""
    )
    sim = tg.Sim(m)
    overlap = 0.0
    for _ in range(300):
        sim.step()
        overlap = max(overlap, sim.info.penetration)
    assert overlap < 5e-4
    assert np.abs(sim.v).max() < 1e-6


@pytest.mark.parametrize("ground", ["step", "roof", "slope"])
@pytest.mark.parametrize("shape", ["box", "mesh", "cylinder"])
def test_what_lands_on_an_edge_comes_to_rest(shape: str, ground: str) -> None:
    """A face over the edge of a step or over a ridge is held along all of it, tilted or not; 5 ms."""
    x = np.linspace(-1, 1, 41)
    height = {"step": (x < 0.001) * 1.0, "roof": 1 - np.abs(x), "slope": 0.5 + 0.25 * x}[ground]
    elevation = " ".join(map(str, np.tile(height, 41)))
    m = tg.load_string(
        f"""<mujoco><option timestep="0.005"/><asset><mesh name="block" vertex="{BLOCK}"/>
        <hfield name="h" nrow="41" ncol="41" size="1 1 0.3 0.1" elevation="{elevation}"/></asset>
        <worldbody><geom type="hfield" hfield="h" pos="0 0 {-0.3 * height[20]}" friction="1 0.01 0.002"/>
        <body pos="-0.05 0.01 0.08" euler="4 5 20"><freejoint/><geom {SHAPES[shape]} mass="1"/></body></worldbody>
        </mujoco>"""
    )
    sim = tg.Sim(m)
    overlaps = []
    for _ in range(400):
        sim.step()
        overlaps.append(sim.info.penetration)
    assert max(overlaps) < 5e-3
    assert np.mean(overlaps) < 2e-4
    assert np.abs(sim.v).max() < 1e-3
