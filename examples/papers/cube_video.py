"""Friction of a cube from a film (staggered projections, Fig. 4c).

A cube with a square marker on every face is filmed at 60 Hz by a known camera. Poses with covariances come from the
corners of the markers; `tg.fit` takes them, the transform from camera to plane being unknown too. Tested on films that
this script draws itself: markers projected over a simulated slide and a tilt, with motion blur and noise of the pixels.

Needs OpenCV: pip install 'tangere[video]'.
"""

import numpy as np
import tangere as tg
from paper import Experiment, arguments
from tangere._manifold import quat_exp, quat_log, quat_matrix, quat_multiply, right_jacobian

try:
    import cv2
except ImportError:
    raise SystemExit("this needs OpenCV: pip install 'tangere[video]'") from None

SCENE = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
  <geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.18"/></body></worldbody>
<custom><numeric name="tangere:geom.cube.kinetic" data="{}"/></custom></mujoco>"""
STATIC, KINETIC, FPS, HALF = 0.18, 0.13, 60, 0.05
SIZE = (1280, 720)
LENS = np.array([[1100.0, 0, 640], [0, 1100.0, 360], [0, 0, 1]])
MARKER = 0.08  # side of a marker, m
DICTIONARY = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)


def faces():
    """The corners of the marker of each face in the cube's frame (6, 4, 3), in the order in which they are detected."""
    h, s = HALF, MARKER / 2
    square = np.array([[-s, s, h], [s, s, h], [s, -s, h], [-s, -s, h]])  # seen from outside, from the upper left on
    turns = [[0, 0, 0], [np.pi, 0, 0], [np.pi / 2, 0, 0], [-np.pi / 2, 0, 0], [0, np.pi / 2, 0], [0, -np.pi / 2, 0]]
    return np.array([square @ quat_matrix(quat_exp(np.array(t, float))).T for t in turns])


CORNERS = faces()


class Camera:
    """Where it is: world to camera, x right, y down, z forward."""

    def __init__(self, place, at):
        z = np.asarray(at, float) - place
        z /= np.linalg.norm(z)
        x = np.cross(z, [0, 0, 1.0])
        x /= np.linalg.norm(x)
        self.R, self.place = np.stack([x, np.cross(z, x), z]), np.asarray(place, float)

    def project(self, points):
        seen = (points - self.place) @ self.R.T
        return seen[..., :2] / seen[..., 2:] * [LENS[0, 0], LENS[1, 1]] + LENS[:2, 2]


# ---- drawing ----


def draw(camera, position, R):
    image = np.full((SIZE[1], SIZE[0]), 150, np.float32)
    for i, corners in enumerate(CORNERS):
        world = corners @ R.T + position
        normal = R @ (corners.mean(axis=0) / HALF)
        if normal @ (camera.place - world.mean(axis=0)) <= 0.02:
            continue
        plate = world.mean(axis=0) + (world - world.mean(axis=0)) * (HALF / (MARKER / 2))  # the whole face is white
        cv2.fillConvexPoly(image, np.round(16 * camera.project(plate)).astype(np.int32), 235, cv2.LINE_AA, 4)
        marker = cv2.aruco.generateImageMarker(DICTIONARY, i, 240).astype(np.float32)
        source = np.array([[0, 0], [240, 0], [240, 240], [0, 240]], np.float32) - 0.5
        goal = camera.project(world).astype(np.float32)
        warp = cv2.getPerspectiveTransform(source, goal)
        mask = cv2.warpPerspective(np.ones_like(marker), warp, SIZE, flags=cv2.INTER_AREA)
        image = image * (1 - mask) + cv2.warpPerspective(marker, warp, SIZE, flags=cv2.INTER_AREA)
    return image


def film(camera, poses, seed=0, exposure=4, noise=3.0):
    """Frames from poses at 1 kHz: an exposure of so many ms (motion blur), noise of the pixels in steps of 1 / 255."""
    rng = np.random.default_rng(seed)
    for k in range(int(FPS * (len(poses) - exposure) / 1000) + 1):
        first = round(1000 * k / FPS)
        parts = [draw(camera, *poses[first + j]) for j in range(exposure)]
        image = np.mean(parts, axis=0) + noise * rng.normal(size=parts[0].shape)
        yield (first + (exposure - 1) / 2) / 1000, np.clip(image, 0, 255).astype(np.uint8)


# ---- poses from frames ----


class Tracker:
    """The pose of the cube in the frame of a camera that is believed to be at `camera`, with covariance."""

    def __init__(self, camera, pixel=0.15):
        options = cv2.aruco.DetectorParameters()
        options.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
        self._detector = cv2.aruco.ArucoDetector(DICTIONARY, options)
        self._camera, self._pixel, self._last = camera, pixel, None

    def __call__(self, image):
        corners, ids, _ = self._detector.detectMarkers(image)
        if ids is None:
            return None
        known = [(c.reshape(4, 2), int(i)) for c, i in zip(corners, ids.ravel(), strict=True) if i < 6]
        if not known:
            return None
        points = np.concatenate([CORNERS[i] for _, i in known])
        pixels = np.concatenate([c for c, _ in known]).astype(np.float64)
        guess = (
            {}
            if self._last is None
            else {"rvec": self._last[0].copy(), "tvec": self._last[1].copy(), "useExtrinsicGuess": True}
        )
        if self._last is None and len(known) == 1:
            ok, r, t = cv2.solvePnP(points, pixels, LENS, None, flags=cv2.SOLVEPNP_IPPE)
        else:
            ok, r, t = cv2.solvePnP(points, pixels, LENS, None, flags=cv2.SOLVEPNP_ITERATIVE, **guess)
        if not ok:
            return None
        self._last = (r, t)
        _, J = cv2.projectPoints(points, r, t, LENS, None)
        covariance = self._pixel**2 * np.linalg.inv(J[:, :6].T @ J[:, :6])
        R = self._camera.R  # world to camera
        turn = quat_multiply(quat_conjugate_of(R), quat_exp(r.ravel()))
        change = np.zeros((6, 6))  # of (position in the world, rotation in the body) by (rotation vector, translation)
        change[:3, 3:], change[3:, :3] = R.T, right_jacobian(r.ravel())
        return np.r_[R.T @ t.ravel() + self._camera.place, turn], change @ covariance @ change.T


def quat_conjugate_of(R):
    """The quaternion of R^T."""
    r, _ = cv2.Rodrigues(R)
    return quat_exp(-r.ravel())


def track(frames, believed):
    tracker, rows = Tracker(believed), []
    for time, image in frames:
        found = tracker(image)
        if found is not None:
            rows.append((time, *found))
    time, q, covariance = (np.array(part) for part in zip(*rows, strict=True))
    return time, q, covariance


# ---- the two films ----


def slide(seed=0, seconds=0.9):
    """A cube that slides at 1.5 m/s; the camera is 8 mm and 1 degree from where it is believed to be."""
    m = tg.load_string(SCENE.format(KINETIC / STATIC))
    r = tg.rollout(m, m.default_q(), [1.5, 0.2, 0, 0, 0, 0.8], round(1000 * seconds) + 10, 0.001, tape=False)
    camera = Camera([0.45, -1.3, 0.75], [0.45, 0.05, 0.05])
    believed = Camera(camera.place + np.array([0.006, -0.004, 0.003]), [0.45, 0.05, 0.05])
    believed.R = quat_matrix(quat_exp(np.radians([0.6, -0.7, 0.4]))) @ believed.R
    poses = [(q[:3], quat_matrix(q[3:])) for q in r.q]
    return m, track(film(camera, poses, seed), believed)


def tilt(seed=0, seconds=3.0, rate=4.0):
    """The plane is tilted by 4 degrees per second: in its frame the weight turns. The camera stays."""
    m = tg.load_string(SCENE.format(KINETIC / STATIC))
    steps = round(1000 * seconds)
    angle = np.radians(rate) * 0.001 * np.arange(steps + 1)
    wrench = np.zeros((steps, m.nbody, 6))
    wrench[:, 1, 0] = 9.81 * np.sin(angle[:-1])
    wrench[:, 1, 2] = 9.81 * (1 - np.cos(angle[:-1]))
    r = tg.rollout(m, m.default_q(), np.zeros(6), np.zeros((steps, 0)), 0.001, wrench=wrench, tape=False)
    poses = []
    for q, a in zip(r.q, angle, strict=True):
        R = quat_matrix(quat_exp(np.array([0, a, 0])))
        poses.append((R @ q[:3], R @ quat_matrix(q[3:])))
    camera = Camera([0.1, -1.2, 0.6], [0.1, 0, 0.03])
    return track(film(camera, poses, seed), camera)


def fit_slide(m, time, q, covariance):
    """mu from the film; the transform is free, so the start in the plane is not (both would be the same)."""
    start = m.copy()
    start.params["geom.cube.kinetic"] = 1.0
    start.params["geom.cube.friction[0]"] = 0.3
    first = m.default_q()
    moved = q.copy()
    moved[:, :2] -= q[0, :2]  # the origin is under the cube in the first frame
    log = tg.Log(
        "film",
        time - time[0],
        {"q": moved},
        start=(first, np.r_[(q[1, :3] - q[0, :3]) / (time[1] - time[0]), 0, 0, 0]),
        covariance={"q": covariance},
    )
    return tg.fit(
        start, [log], ["geom.cube.friction[0]"], initial=["v[0]", "v[1]", "v[5]"], frame=True, dt=0.002, robust="huber"
    )


def static_angle(time, q):
    """The tilt at which the cube leaves its place: displacement in its own frame is 0, then a (t - t0)^2 / 2."""
    rest = time < 0.5
    turn = np.array([quat_log(quat_multiply(q[0, 3:] * [1, -1, -1, -1], p)) for p in q[:, 3:]])
    angle = np.polyval(np.polyfit(time, np.linalg.norm(turn, axis=1), 1), time)
    slip = np.array(
        [
            (p - R @ (quat_matrix(q[0, 3:]).T @ q[0, :3])) @ R[:, 0]
            for p, R in zip(q[:, :3], map(quat_matrix, q[:, 3:]), strict=True)
        ]
    )
    slip -= slip[rest].mean()
    best = min((_misfit(time, slip, t0) for t0 in np.linspace(0.5, time[-1] - 0.1, 400)), key=lambda pair: pair[0])
    return np.degrees(np.interp(best[1], time, angle)), np.degrees(np.arctan(STATIC))


def _misfit(time, slip, start):
    """slip = a s^2 + b s^3 after its start: the weight along the plane goes on growing."""
    s = np.maximum(time - start, 0)
    A = np.stack([s**2, s**3], axis=1)
    x, *_ = np.linalg.lstsq(A, slip, rcond=None)
    return float(((A @ x - slip) ** 2).sum()), start


def main(small=False):
    told = Experiment("cube_video", "Friction from a film", "mu 0.13 for every start; static friction 0.18, measured")
    m, (time, q, covariance) = slide(seconds=0.6 if small else 0.9)
    told.row(
        "slide: frames with a pose; standard deviation of a position (mm)",
        "",
        f"{len(time)}, {1e3 * np.sqrt(covariance[:, 0, 0].mean()):.2f}",
    )
    track_time, track_q = time, q
    camera = Camera([0.45, -1.3, 0.75], [0.45, 0.05, 0.05])
    picture = draw(camera, np.array([0.1, 0, HALF]), np.eye(3))
    f = fit_slide(m, time, q, covariance)
    mu = f["geom.cube.friction[0]"]
    told.row(
        "mu_k from the drawn film",
        f"{KINETIC}, 3 %",
        f"{mu:.4f} +- {f.error('geom.cube.friction[0]'):.4f} ({100 * (mu / KINETIC - 1):+.1f} %)",
    )
    for note in f.notes:
        told.row("    note", "", note)
    time, q, _ = tilt()
    angle, true = static_angle(time, q)
    told.row("tilt: static angle (degrees)", f"{true:.2f}, 0.5 degree", f"{angle:.2f} ({angle - true:+.2f})")
    told.words(
        f"mu_k {mu:.4f} from a film that the script draws ({KINETIC} is true), with the camera 8 mm and 1 degree off"
        f"; the cube leaves its place at {angle:.2f} degrees ({true:.2f} is true)."
    )

    def show(figure):
        left, right = figure.subplots(1, 2)
        left.imshow(picture, cmap="gray")
        left.set_axis_off()
        sigma = np.sqrt(covariance[:, 0, 0])
        right.errorbar(track_time, track_q[:, 0], 2 * sigma, fmt=".", label="x from the film (2 standard deviations)")
        right.errorbar(track_time, track_q[:, 1], 2 * sigma, fmt=".", label="y")
        right.set(xlabel="time (s)", ylabel="m")
        right.legend(fontsize="x-small")

    told.figure(show)
    told.done()
    return mu, angle


if __name__ == "__main__":
    main(arguments().small)
