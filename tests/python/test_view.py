"""What is drawn is where physics has it; the viewer, its pages and its pictures."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest
import tangere as tg
from browser import WAIT, Tab, browser, changed
from support import ROBOTS, ROOT
from tangere._film import film
from tangere._overlay import Friction, gradient_of, marks_of, scalar_of
from tangere._stage import Stage, _quaternions, rotate
from tangere._trajectory import trajectory_of
from tangere._triangles import looks_of, shown_layers, triangles_of
from tangere.enums import GeomType
from tangere.viewer import Viewer

MODELS = ROOT / "models"
needs_robots = pytest.mark.skipif(not ROBOTS.is_dir(), reason="the robots are not here")

EVERY = """<mujoco><asset>
  <mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1  0.2 0.2 0.2" scale="0.4 -0.3 0.5"/>
  <mesh name="looks" vertex="0 0 0  1 0 0  0 1 0  0 0 1" face="0 2 1  0 1 3  1 2 3  2 0 3" scale="-1 1 1"/>
  <hfield name="h" nrow="3" ncol="4" size="1.5 1 0.5 0.1" elevation="0 1 0 0.5  0.25 0.5 1 0  0 0 0.75 1"/>
  <material name="paint" rgba="0.1 0.2 0.3 0.5"/></asset>
<worldbody>
  <geom name="plane" type="plane" size="0 0 1" pos="0 0 -1" euler="10 20 0"/>
  <geom name="hfield" type="hfield" hfield="h" pos="3 0 0"/>
  <body pos="0.3 0.2 1" euler="30 20 10"><freejoint/>
    <geom name="sphere" type="sphere" size="0.3" pos="0.1 0 0" rgba="1 0 0 1"/>
    <geom name="capsule" type="capsule" size="0.2 0.4" pos="0 1 0" euler="20 0 0" material="paint"/>
    <geom name="cylinder" type="cylinder" size="0.25 0.3" pos="1 0 0" euler="0 40 0"/>
    <geom name="ellipsoid" type="ellipsoid" size="0.2 0.3 0.4" pos="0 -1 0" euler="10 20 30"/>
    <geom name="box" type="box" size="0.1 0.2 0.3" pos="-1 0 0" euler="30 0 45"/>
    <geom name="mesh" type="mesh" mesh="m" pos="0 0 1" euler="0 70 0"/>
    <geom name="looks" type="mesh" mesh="looks" contype="0" conaffinity="0" group="2"/>
  </body></worldbody></mujoco>"""


def in_world(m: tg.Model, one: object, points: np.ndarray) -> np.ndarray:
    poses = m.body_poses(m.default_q())
    local = rotate(one.quaternion, points) + one.position
    return rotate(poses.quaternion[one.body], local) + poses.position[one.body]


def shape_of(m: tg.Model, geom: int) -> tg.Shape:
    kind, size = GeomType(m.geom_type[geom]), m.params[f"geom.#{geom}.size"]
    if kind == GeomType.MESH:
        return tg.hull(looks_of(m).meshes[m.geom_mesh[geom]][0], size)
    if kind == GeomType.HFIELD:
        index = m.geom_hfield[geom]
        return tg.Shape(kind, m.params[f"hfield.#{index}.size"], elevation=looks_of(m).hfields[index])
    return tg.Shape(kind, size[: {GeomType.SPHERE: 1, GeomType.CAPSULE: 2, GeomType.CYLINDER: 2}.get(kind, 3)])


def support_points(shape: tg.Shape, pose: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Of the collision shape: the point farthest along each direction, where a plane meets it first."""
    turn = _quaternions(-along)
    found = []
    for n, q in zip(along, turn, strict=True):
        d = tg.distance(tg.Shape("plane"), np.concatenate([pose[:3] + 50 * n, q]), shape, pose)
        found.append(d.point + 0.5 * d.distance * d.normal)
    return np.array(found)


def surface_normals(one: object) -> np.ndarray:
    """Outward normals of a curved shape at its drawn vertices, in its own frame."""
    v = one.vertices
    if one.type == GeomType.SPHERE:
        n = v.copy()
    elif one.type == GeomType.ELLIPSOID:
        n = v / v.max(0) ** 2
    else:  # capsule: from the segment inside it
        radius = np.abs(v[:, 0]).max()
        half = v[:, 2].max() - radius
        n = v - np.stack([0 * v[:, 0], 0 * v[:, 0], np.clip(v[:, 2], -half, half)], 1)
    return n / np.linalg.norm(n, axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"])
def test_drawn_vertices_are_support_points(name: str) -> None:
    m = tg.load_string(EVERY)
    geom = m.index("geom", name)
    drawn = [one for one in triangles_of(m) if one.geom == geom and (name != "mesh" or one.layer == "hulls")]
    assert len(drawn) == 1
    pose = np.concatenate(m.geom_pose(name, m.default_q()))
    vertices = in_world(m, drawn[0], drawn[0].vertices.astype(np.float32).astype(float))
    if name in {"sphere", "capsule", "ellipsoid"}:
        normal = surface_normals(drawn[0])[::7]
        along = rotate(pose[3:], normal)
        points = support_points(shape_of(m, geom), pose, along)
        assert np.abs(np.einsum("ij,ij->i", points - vertices[::7], along)).max() < 1e-6
        single = np.abs(normal[:, 2]) > 1e-3  # across a capsule all points of a line are as far
        np.testing.assert_allclose(points[single], vertices[::7][single], atol=1e-6)
        assert single.sum() > 20
        return
    along = np.random.default_rng(1).normal(size=(300, 3))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    if name == "cylinder":  # directions in which a drawn corner is the farthest point of the circle
        local = drawn[0].vertices[np.linalg.norm(drawn[0].vertices[:, :2], axis=1) > 0.1]
        along = rotate(pose[3:], local * [1, 1, 0] / 0.25 + [0, 0, 1] * np.sign(local[:, 2:]) * 0.5)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
    farthest = vertices[np.argmax(along @ vertices.T, axis=1)]
    np.testing.assert_allclose(support_points(shape_of(m, geom), pose, along), farthest, atol=1e-6)
    assert len(np.unique(np.round(farthest, 5), axis=0)) >= 4  # not one corner for all directions


def test_planes_and_height_fields_are_drawn_where_they_are() -> None:
    m = tg.load_string(EVERY)
    drawn = {one.name: one for one in triangles_of(m)}
    pose = np.concatenate(m.geom_pose("plane", m.default_q()))
    normal = rotate(pose[3:], np.array([[0.0, 0.0, 1.0]]))[0]
    assert np.abs((in_world(m, drawn["plane"], drawn["plane"].vertices) - pose[:3]) @ normal).max() < 1e-6
    field = drawn["hfield"]
    top = in_world(m, field, field.vertices[:12].astype(np.float32).astype(float))
    shape, at = shape_of(m, m.index("geom", "hfield")), np.concatenate(m.geom_pose("hfield", m.default_q()))
    for face in field.faces[
        : 2 * 2 * 3
    ]:  # small balls on the middle of every triangle touch it, and not another surface
        corner = top[face]
        n = np.cross(corner[1] - corner[0], corner[2] - corner[0])
        n /= np.linalg.norm(n)
        assert n[2] > 0
        d = tg.distance(shape, at, tg.Shape("sphere", 0.01), corner.mean(0) + 0.01 * n)
        assert abs(d.distance) < 1e-6
        np.testing.assert_allclose(d.normal, n, atol=1e-5)


def test_faces_look_outwards_also_in_a_mirror() -> None:
    m = tg.load_string(EVERY)
    for one in triangles_of(m):
        if one.type in {GeomType.PLANE, GeomType.HFIELD}:
            continue
        corner = one.vertices[one.faces]
        volume = np.einsum("ij,ij->i", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])).sum() / 6
        assert volume > 0, one.name


def test_colours_come_from_geoms_and_materials_and_are_written() -> None:
    m = tg.load_string(EVERY)
    looks = looks_of(m)
    assert looks.rgba[m.index("geom", "sphere")] == (1, 0, 0, 1)
    assert looks.rgba[m.index("geom", "capsule")] == (0.1, 0.2, 0.3, 0.5)
    assert looks.rgba[m.index("geom", "box")] == (0.5, 0.5, 0.5, 1)
    text = m.to_mjcf()
    again = tg.load_string(text)
    assert looks_of(again).rgba == looks.rgba
    assert again.to_mjcf() == text


URDF = """<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
  <visual name="shell"><origin xyz="0 0 0.5" rpy="0 0 0"/><geometry><box size="1 2 3"/></geometry>
    <material name="blue"/></visual>
  <visual><geometry><mesh filename="package://no/such.stl" scale="1 1 -1"/></geometry></visual>
  <visual><geometry><sphere radius="nonsense"/></geometry></visual>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="tip"><visual><geometry><sphere radius="0.2"/></geometry></visual></link>
<joint name="j" type="fixed"><origin xyz="1 0 0"/><parent link="base"/><child link="tip"/></joint></robot>"""


def test_visual_shapes_of_a_urdf_are_kept_and_change_nothing() -> None:
    m = tg.load_string(URDF, floating_base=True)
    bare = tg.load_string(URDF[: URDF.index("<visual name")] + URDF[URDF.index("<collision>") :], floating_base=True)
    assert (m.ngeom, m.nparams, m.mass) == (bare.ngeom, bare.nparams, bare.mass)
    assert np.array_equal(m._params, bare._params)
    said: list[str] = []
    drawn = [one for one in triangles_of(m, said.append) if one.layer == "visual"]
    assert [one.type for one in drawn] == [GeomType.BOX, GeomType.SPHERE]
    assert drawn[0].rgba == (0, 0, 1, 1)
    np.testing.assert_allclose(drawn[0].position, (0, 0, 0.5))
    np.testing.assert_allclose(drawn[1].position, (1, 0, 0))  # in the body into which its link was merged
    assert len(said) == 1
    assert "no/such.stl" in said[0]
    assert "no such file" in said[0]
    scene = tg.Scene()
    scene.add(m, prefix="a_", pos=(0, 0, 1))
    assert len(looks_of(scene.build()).visuals) == 3


@needs_robots
def test_groups_that_are_shown() -> None:
    cassie = tg.load(ROBOTS / "agility_cassie" / "scene.xml")
    assert "group 3" not in shown_layers(cassie, triangles_of(cassie))
    h1 = tg.load(ROBOTS / "unitree_h1" / "scene_mesh.xml")
    assert "group 3" in shown_layers(h1, triangles_of(h1))  # otherwise there would be nothing to see


def test_forces_are_in_their_cones() -> None:
    m = tg.load(MODELS / "quadruped.xml")
    key = m.key("home")
    r = tg.rollout(m, key.q, key.v, np.tile(key.ctrl, (200, 1)))
    marks = marks_of(m, r.contacts[-1], Friction(m, looks_of(m)))
    normal = np.einsum("ij,ij->i", marks.force, marks.axis)
    tangential = np.linalg.norm(marks.force - normal[:, None] * marks.axis, axis=1)
    assert len(normal) == 4
    assert normal.sum() == pytest.approx(m.mass * 9.81, rel=0.05)
    assert (tangential <= marks.friction * normal * (1 + 1e-9)).all()
    assert (marks.axis[:, 2] > 0.99).all()


def test_the_gradient_is_that_of_differences() -> None:
    m = tg.load(MODELS / "quadruped.xml")
    key = m.key("home")
    state, n = (key.q, key.v, key.act), 20
    scalar, steps = scalar_of(m, "com.x@20")
    assert steps == n
    g = gradient_of(m, state, key.ctrl, scalar, steps=n, dt=m.timestep)

    def value(wrench: np.ndarray) -> float:
        r = tg.rollout(m, key.q, key.v, np.tile(key.ctrl, (n, 1)), wrench=np.tile(wrench, (n, 1, 1)))
        return float(m.com(r.q[-1])[0])

    for body in (1, 3, 4):
        push = np.zeros((m.nbody, 6))
        push[body, 0] = 1e-4
        assert g.force[body, 0] == pytest.approx((value(push) - value(-push)) / 2e-4, rel=1e-5)
        assert g.force[body, 0] > 0
    name, effect = g.effect[0]
    before = m.params[name]
    m.params[name] = before * 1.0001
    more = value(np.zeros((m.nbody, 6)))
    m.params[name] = before * 0.9999
    less = value(np.zeros((m.nbody, 6)))
    assert effect == pytest.approx(100 * (more - less) / 2, rel=1e-4)
    assert abs(effect) > 0
    with pytest.raises(tg.Error, match=r"com\.y"):
        scalar_of(m, "height")
    with pytest.raises(tg.UnknownNameError, match="trunk"):
        scalar_of(m, "body:trnk.z")


def test_logs_are_trajectories(tmp_path: Path) -> None:
    m = tg.load(MODELS / "quadruped.xml")
    key = m.key("home")
    r = tg.rollout(m, key.q, key.v, np.tile(key.ctrl, (20, 1)))
    t = trajectory_of(None, r)
    u = np.concatenate([np.zeros((1, m.nu)), t.u[:-1]])
    np.savez(tmp_path / "log.npz", time=t.time, q=t.q, v=t.v, u=u)
    log = trajectory_of(m, tmp_path / "log.npz")
    np.testing.assert_array_equal(log.u[:-1], t.u[:-1])
    np.testing.assert_allclose(log.contacts(10).force, r.contacts[10].force, atol=1e-6)
    assert len(log.frames(100)) == len(log.frames(1000)) // round(0.01 / m.timestep) + 1
    with pytest.raises(tg.Error, match="there is no 'q'"):
        trajectory_of(m, {"v": t.v})
    with pytest.raises(tg.Error, match=r"q\[3, 1\] is nan"):
        trajectory_of(m, np.where(np.arange(t.q.size).reshape(t.q.shape) == 3 * m.nq + 1, np.nan, t.q))
    with pytest.raises(FileNotFoundError, match=r"no\.npz"):
        trajectory_of(m, tmp_path / "no.npz")


# ---- pages ----


def need_browser() -> None:
    """Software rendering takes minutes on a busy machine: these tests have a target of their own."""
    if not os.environ.get("TANGERE_BROWSER_TESTS"):
        pytest.skip("make browser-tests")


@pytest.fixture(scope="module")
def chromium() -> object:
    need_browser()
    with browser() as launched:
        yield launched


def dropped(path: Path, length: float, page: Path, **options: object) -> tg.Model:
    """A page of a model that falls from a little above its keyframe or reference."""
    m = tg.load(path)
    tg.view(m, html=str(page), key=0 if m.nkey else None, length=length, lift=0.05, **options)
    return m


def test_page_plays_scrubs_and_switches_overlays(chromium: object, tmp_path: Path) -> None:
    page = tmp_path / "quadruped.html"
    dropped(MODELS / "quadruped.xml", 1.0, page, fps=25, gradient="com.x@20")
    tab = Tab(chromium, page.as_uri())
    tab.wait_until_loaded()
    tab.set_playing(True)
    start = tab.time()
    tab.wait_for(
        "(t) => Math.abs(document.querySelector('[role=\"slider\"]').getAttribute('aria-valuenow') - t) > 0.02", start
    )
    tab.set_playing(False)
    tab.open_tree()
    tab.scrub(0.02)
    first = tab.settled()
    assert tab.time() < 0.1
    tab.scrub(0.9)
    last = tab.settled()
    assert tab.time() > 0.8
    assert changed(first, last) > 300  # the robot has fallen, forces are there
    tab.wait_for("document.getElementById('tangere-now').textContent.includes('gradient exact')")
    tab.page.locator("#tangere summary").click()  # the panel folds
    assert tab.page.evaluate("document.getElementById('tangere').open") is False
    for overlay in ("friction cones", "contact forces", "contact points", "margins", "gradient", "group 0"):
        before = tab.settled()
        tab.toggle(overlay)
        after = tab.settled()
        assert changed(before, after) > 40, overlay
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    tab.close()


@needs_robots
@pytest.mark.parametrize("robot", ["unitree_h1/scene_mesh.xml", "agility_cassie/scene.xml"])
def test_pages_of_robots_open(chromium: object, tmp_path: Path, robot: str) -> None:
    page = tmp_path / "robot.html"
    dropped(ROBOTS / robot, 0.1, page, fps=20)
    tab = Tab(chromium, page.as_uri())
    tab.wait_until_loaded()
    tab.set_playing(False)
    tab.open_tree()
    with_robot = tab.settled()
    tab.toggle("group 3" if "h1" in robot else "group 2")
    assert changed(with_robot, tab.settled()) > 2000
    assert tab.complaints == []
    tab.close()


@needs_robots
def test_page_of_ten_seconds_is_small_and_opens_fast(chromium: object, tmp_path: Path) -> None:
    page = tmp_path / "humanoid.html"
    dropped(ROBOTS / "mujoco_humanoid" / "humanoid.xml", 10.0, page)
    assert page.stat().st_size < 5e6
    tab = Tab(chromium, page.as_uri())
    tab.wait_until_loaded()
    assert tab.processor_time() < 2.0
    assert tab.complaints == []
    tab.close()


# ---- live ----


@pytest.fixture
def viewer() -> object:
    m = tg.load(MODELS / "quadruped.xml")
    running = Viewer(m, key="home", port=0, say=lambda _: None)
    yield running
    running.stop()


def port_of(viewer: Viewer) -> int:
    return int(viewer.url.rsplit(":", 1)[1])


def test_live_viewer_is_seen_from_this_machine_only(viewer: Viewer) -> None:
    port = port_of(viewer)
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
    ]
    assert [address for address in listening if int(address.split(":")[1], 16) == port] == [f"0100007F:{port:04X}"]


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/models/quadruped.xml",
    ],
)
def test_live_viewer_serves_no_files(viewer: Viewer, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(viewer), timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    assert b"root:" not in body
    assert b"<mujoco" not in body
    connection.close()


def test_live_viewer_simulates_resets_and_drags(viewer: Viewer) -> None:
    viewer._advance(0.1)
    assert viewer.sim.time == pytest.approx(0.1, abs=viewer.sim.dt)
    viewer._draw()
    viewer.single_step()
    assert viewer.playing is False
    high = viewer.sim.q[2]
    viewer.reset("home")
    assert viewer.sim.time == 0
    trunk = viewer.model.index("body", "trunk")
    start = viewer.model.body_pose(trunk, viewer.sim.q).position
    viewer._drag.take(trunk, start, viewer.sim.q)
    viewer._drag.move(start + np.array([0, 0, viewer.stage.extent]))
    viewer.playing = True
    for _ in range(10):
        viewer._advance(0.05)
    assert viewer.sim.q[2] > high + 0.1  # twice the weight pulls it up
    viewer._drag.let_go()
    assert viewer._drag.wrench(viewer.sim.q, viewer.sim.dt) is None
    viewer.set_opacity(0.5)
    viewer.set_scalar("com.z")
    viewer._draw()
    assert "value" in viewer._bars.content
    viewer.set_scalar("nonsense")
    assert "expected" in viewer._bars.content


def test_live_viewer_keeps_thirty_pictures_a_second(viewer: Viewer) -> None:
    """Processor time of the simulation and the scene, since the machine may be busy: one core at most."""
    for _ in range(5):
        viewer._advance(1 / 30)
        viewer._draw()
    start, frames = time.process_time(), 30
    for _ in range(frames):
        viewer._advance(1 / 30)
        viewer._draw()
    assert (time.process_time() - start) / frames < 1 / 30


def click_and_wait(tab: Tab, name: str, done: object, role: str = "button") -> None:
    """Clicks what has that name in the panel, until this program has heard of it."""
    tab.page.get_by_role(role, name=name, exact=True).first.click()
    end = time.monotonic() + WAIT
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    assert done(), name


def test_panel_of_the_live_viewer(chromium: object) -> None:
    """Buttons, boxes and choices do what they say, and change pixels."""
    m = tg.load(MODELS / "quadruped.xml")
    viewer = Viewer(m, key="home", port=0, say=lambda _: None).start()
    try:
        tab = Tab(chromium, viewer.url, (900, 700))  # the panel is at the side there
        tab.wait_for("document.body.innerText.includes('Camera follows') || document.body.innerText.includes('Pause')")
        click_and_wait(tab, "Pause", lambda: not viewer.playing)
        before = viewer.sim.time
        click_and_wait(tab, "Step", lambda: viewer.sim.time != before)
        assert viewer.sim.time == pytest.approx(before + viewer.sim.dt)
        click_and_wait(tab, "Reset", lambda: viewer.sim.time == 0)
        click_and_wait(tab, "Step", lambda: viewer.sim.time > 0)
        tab.page.get_by_text("Show", exact=True).first.click()
        tab.wait_for("[...document.querySelectorAll('label')].some((e) => e.textContent === 'margins')")
        for name in ("margins", "contact points", "friction cones", "contact forces", "group 0"):
            shown, picture = viewer.stage.nodes[name].visible, tab.settled()
            click_and_wait(tab, name, lambda n=name, s=shown: viewer.stage.nodes[n].visible != s, "checkbox")
            assert changed(picture, tab.settled()) > 40, name
        click_and_wait(tab, "group 0", lambda: viewer.stage.nodes["group 0"].visible, "checkbox")
        for change in (lambda: viewer.set_opacity(0.3), lambda: viewer.set_camera("top")):
            picture = tab.settled()
            change()
            assert changed(picture, tab.settled()) > 1000
        click_and_wait(tab, "Play", lambda: viewer.playing)
        assert tab.complaints == []
        tab.close()
    finally:
        viewer.stop()


def test_a_body_is_dragged_with_the_pointer(chromium: object) -> None:
    viewer = Viewer(tg.load(MODELS / "quadruped.xml"), key="home", port=0, say=lambda _: None).start()
    try:
        tab = Tab(chromium, viewer.url, (700, 500))
        tab.wait_for("document.body.innerText.includes('Pause')")
        viewer.set_playing(False)
        tab.settled()
        tab.page.keyboard.down("Control")
        tab.page.mouse.move(350, 250)  # the robot is in the middle
        tab.page.mouse.down()
        end, y = time.monotonic() + WAIT, 250
        while (viewer._drag._body < 0 or y > 200) and time.monotonic() < end:
            y = max(y - 10, 190)
            tab.page.mouse.move(350, y)
            time.sleep(0.2)
        assert viewer._drag._body > 0
        assert viewer._drag.wrench(viewer.sim.q, viewer.sim.dt)[viewer._drag._body, 2] > 0  # upwards
        tab.page.mouse.up()
        tab.page.keyboard.up("Control")
        while viewer._drag._body >= 0 and time.monotonic() < end:
            time.sleep(0.1)
        assert viewer._drag._body < 0
        tab.close()
    finally:
        viewer.stop()


def test_keyframes_without_names_and_cameras(viewer: Viewer) -> None:
    text = (MODELS / "quadruped.xml").read_text().replace('<key name="home"', "<key")
    running = Viewer(tg.load_string(text, dir=MODELS), key=0, port=0, say=lambda _: None)
    try:
        running._advance(0.05)
        running.reset(0)
        assert running.sim.time == 0
        assert np.array_equal(running.sim.q, running.model.key(0).q)
    finally:
        running.stop()
    viewer.set_camera("front")  # nobody looks: nothing to do
    with pytest.raises(KeyError):
        viewer.set_camera("inside")


def test_ports_that_cannot_be_had() -> None:
    m = tg.load(MODELS / "cube.xml")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(tg.Error, match=f"port {port} at 127.0.0.1: .*in use"):
            tg.view(m, port=port, block=False)
    with pytest.raises(tg.Error, match="expected 0 to 65535"):
        tg.view(m, port=70000, block=False)


def command(*words: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [os.environ.get("TANGERE_COMMAND", "build/tangere"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "TANGERE_PYTHON": sys.executable, **environment},
    )  # fmt: skip


def test_ctrl_c_leaves_nothing_behind() -> None:
    process = command("view", str(MODELS / "quadruped.xml"), "--port", "0")
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line, process.stderr.read()
    port = int(line.split("http://127.0.0.1:")[1].split()[0])
    socket.create_connection(("127.0.0.1", port), timeout=30).close()
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    os.kill(child, signal.SIGINT)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert not Path(f"/proc/{child}").exists()


def test_a_browser_that_goes_away_is_told(chromium: object) -> None:
    said: list[str] = []
    viewer = Viewer(tg.load(MODELS / "cube.xml"), port=0, say=said.append).start()
    try:
        tab = Tab(chromium, viewer.url)
        tab.wait_for("document.querySelector('canvas') !== null")
        end = time.monotonic() + 60
        while not viewer.server.get_clients() and time.monotonic() < end:
            time.sleep(0.1)
        tab.close()
        while not said and time.monotonic() < end:
            time.sleep(0.1)
        assert "gone away" in said[0]
        assert tab.complaints == []
        before = viewer.frames
        time.sleep(0.5)
        assert viewer.frames > before
    finally:
        viewer.stop()


# ---- without the extras ----


@pytest.mark.parametrize(
    ("module", "call", "line"),
    [
        ("viser", "tg.view(m)", "pip install 'tangere[view]'"),
        ("matplotlib", "tg.plot.trajectory(np.zeros((3, m.nq)), model=m)", "pip install 'tangere[plot]'"),
        ("av", "tg.view(m, mp4='x.mp4', length=0.01)", "pip install 'tangere[video]'"),
    ],
)
def test_missing_extras_are_named(module: str, call: str, line: str) -> None:
    text = (
        f"import sys; sys.modules[{module!r}] = None\nimport numpy as np, tangere as tg\n"
        f"m = tg.load({str(MODELS / 'cube.xml')!r})\ntry:\n    {call}\nexcept ImportError as e:\n    print(e)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert line in done.stdout, done.stderr


def test_the_command_names_the_extra(tmp_path: Path) -> None:
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without site-packages
    bare.chmod(0o755)
    process = command("view", "cube", TANGERE_PYTHON=str(bare))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "extra 'view'" in err
    assert "pip install 'tangere[view]'" in err
    process = command("view", "cube", "--port", "99999")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--port" in err


def test_pictures_need_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGERE_BROWSER", "no-such-browser")
    with pytest.raises(tg.Error, match="apt install chromium"):
        tg.view(tg.load(MODELS / "cube.xml"), png="x.png")


def test_picture_and_film(tmp_path: Path) -> None:
    need_browser()
    import av  # noqa: PLC0415

    m = tg.load(MODELS / "cube.xml")
    tg.view(m, png=str(tmp_path / "cube.png"), mp4=str(tmp_path / "cube.mp4"), length=0.1, fps=20, size=(240, 160))
    image = imageio.imread(tmp_path / "cube.png")[..., :3]
    assert image.shape == (160, 240, 3)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 20
    with av.open(tmp_path / "cube.mp4") as film:
        stream = film.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")  # what browsers play
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert len(frames) == 3
    assert frames[0].shape == (160, 240, 3)
    assert np.abs(frames[0].astype(float) - image).mean() < 20  # the same scene as the picture


def test_films_of_odd_size_and_bad_paths(tmp_path: Path) -> None:
    import av  # noqa: PLC0415

    grey = np.full((101, 151, 3), 128, np.uint8)
    with film(str(tmp_path / "odd.mp4"), (151, 101), 29.97) as add:
        for shade in range(5):
            add(grey + shade)
    with av.open(tmp_path / "odd.mp4") as made:
        assert sum(1 for _ in made.decode(video=0)) == 5
    with (
        pytest.raises(OSError, match=r"cannot write '/no/such/folder/film\.mp4'"),
        film("/no/such/folder/film.mp4", (4, 4), 10),
    ):
        pass


def test_stage_draws_tendons_by_their_tension() -> None:
    m = tg.load(MODELS / "cable_toy.xml")
    running = Viewer(m, port=0, say=lambda _: None)
    try:
        assert isinstance(running.stage, Stage)
        running._advance(0.1)
        running._draw()
        assert running.stage._tendons is not None
    finally:
        running.stop()
