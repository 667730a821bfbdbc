"""The public face of a model: names, parameters, structure; everything that computes is inherited from C."""

from __future__ import annotations

import difflib
import os
import pathlib
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._errors import ModelWarning, UnknownNameError, unknown_name
from tangere._names import Strict, no_attribute, real_number, told
from tangere.enums import ReportKind
from tangere.params import Params
from tangere.shape import ContactDerivatives, Contacts, Gap

Array = NDArray[np.float64]


class ReportEntry(NamedTuple):
    """How the reader used one attribute of a file."""

    kind: ReportKind
    file: str
    line: int
    element: str
    attribute: str
    note: str


class ParamSlice(NamedTuple):
    """A field in the parameter vector: numbers offset .. offset + size."""

    name: str
    offset: int
    size: int


class Model(Strict, _core.Model):
    """A robot or a scene: `tangere.load` makes one.

    Layout of q and v, the same as MuJoCo's, joint after joint in depth-first order of the bodies:

        joint   q                                   v, and every tangent vector dq
        free    position (world), quaternion wxyz   linear velocity (world axes), angular velocity (body axes)
        ball    quaternion wxyz                     angular velocity (body axes)
        hinge   angle (rad)                         rad/s
        slide   position (m)                        m/s

    Arguments are anything that NumPy turns into real numbers; float64 arrays are used without a copy.
    Results are new arrays, or the arrays given as `out` (a tuple of them for functions with several results). Elements
    are given by name or by index. A model can be used from several threads at once.

    Structure, as read-only arrays of int: body_parent, body_tree, body_joint, body_njoint, body_dof, body_ndof,
    body_geom, body_ngeom; joint_type, joint_body, joint_q, joint_dof, joint_limited; geom_type, geom_body, geom_mesh,
    geom_hfield, geom_contype, geom_conaffinity, geom_condim, geom_priority, geom_group; site_body;
    actuator_transmission, actuator_target, actuator_dynamics, actuator_act, actuator_ctrl_limited,
    actuator_force_limited, actuator_act_limited. -1 stands for none.
    """

    if not TYPE_CHECKING:  # the stub of the extension declares the arrays

        def __getattr__(self, name: str) -> Any:
            # the structure arrays are made when the first of them is asked for
            if not name.startswith("_") and "body_parent" not in self.__dict__:
                self.__dict__.update(self._structure())
                if name in self.__dict__:
                    return self.__dict__[name]
            raise no_attribute(self, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *self._structure()})

    def __repr__(self) -> str:
        return (
            f"<tangere.Model {self.name!r}: nq {self.nq}, nv {self.nv}, nu {self.nu}, na {self.na}, "
            f"{self.nbody} bodies, {self.mass:.6g} kg>"
        )

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> Model:
        return self.copy()

    def __reduce__(self) -> Any:
        return _from_bytes, (type(self), self._to_bytes(), np.array(self.params))

    # ---- parameters ----

    @property
    def params(self) -> Params:
        """The parameters, by position, name or pattern; see `tangere.Params`."""
        return Params(self)

    @params.setter
    def params(self, values: ArrayLike) -> None:
        self._set_params(np.asarray(values))

    def param_names(self, pattern: str = "*") -> list[str]:
        """Names of the single numbers whose parameter matches a pattern, in the order of the vector."""
        return self._param_names(self.params.index(pattern))

    def masked(self, params: str | int | Iterable[str | int] = "*") -> dict[str, str]:
        """Parameters that cannot matter at their current values, each with the one that counts in its place.

        Of two geoms in contact the larger friction and restitution counts, or that of the higher priority, or that of
        their declared pair. A parameter that counts in no contact of its geom has derivative 0, and no data show it.
        """
        return self._param_masked(self.params.index(params))

    def param_slices(self) -> list[ParamSlice]:
        """All fields of the parameter vector: (name, offset, size)."""
        return [ParamSlice(*entry) for entry in self._param_slices()]

    def _unknown_param(self, name: str) -> UnknownNameError:
        known = [entry[0] for entry in self._param_slices()]
        if "*" not in name and "?" not in name:
            return unknown_name("parameter", name, known)
        kinds = sorted({entry.split(".")[0] for entry in known})
        fields = sorted({".".join((e.split(".")[0], "*", e.split(".")[-1])) for e in known if "." in e})
        close = difflib.get_close_matches(name, fields, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"names begin with {', '.join(kinds)}"
        return UnknownNameError(f"no parameter matches {name!r}; {hint}", "unknown name")

    def _chosen(self, params: str | Iterable[str | int]) -> NDArray[np.intc]:
        return self.params.index(params)

    def rnea_param_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, params: Any = "*", *, out: Array | None = None
    ) -> Array:
        """Derivative of rnea by chosen parameters: names, patterns, positions, or a list of them.

        Returns D (nv, number of chosen parameters); `param_names` gives the columns of a pattern.
        """
        return self._rnea_param_derivatives(q, v, a, self._chosen(params), out=out)

    def passive_param_derivatives(
        self, q: ArrayLike, v: ArrayLike, params: Any = "*", *, out: Array | None = None
    ) -> Array:
        """Derivative of passive by chosen parameters. Returns D (nv, number of chosen parameters)."""
        return self._passive_param_derivatives(q, v, self._chosen(params), out=out)

    def actuation_param_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None = None,
        u: ArrayLike | None = None,
        params: Any = "*",
        *,
        out: Array | None = None,
    ) -> Array:
        """Derivative of the force of actuation by chosen parameters. Returns D (nv, number of chosen parameters)."""
        return self._actuation_param_derivatives(q, v, act, u, self._chosen(params), out=out)

    def forward_dynamics_param_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, params: Any = "*", *, out: Array | None = None
    ) -> Array:
        """Derivative of forward_dynamics by chosen parameters. Returns D (nv, number of chosen parameters)."""
        return self._forward_dynamics_param_derivatives(q, v, tau, self._chosen(params), out=out)

    # ---- contacts ----

    def collide(self, q: ArrayLike, margin: float = 0.0) -> Contacts:
        """Contact points at q of every candidate pair with distance < its own margin + margin (m).

        The margin of a pair is the sum of its two geoms' margins, or its own where a pair is declared. Distances are
        signed and without margins; see `tangere.Contacts`.

        Returns (geom1 (n), geom2 (n), point (n, 3), normal (n, 3), distance (n), id (n), gap (n): less margins).
        """
        return Contacts(*self._collide(q, real_number("margin", margin)))

    def collide_derivatives(self, q: ArrayLike, margin: float = 0.0) -> ContactDerivatives:
        """The contacts of `collide`, and their derivatives with respect to q in the tangent space, with fixed features.

        Returns (contacts, point (n, 3, nv), normal (n, 3, nv), distance (n, nv)).
        """
        contacts, *derivatives = self._collide_derivatives(q, real_number("margin", margin))
        return ContactDerivatives(Contacts(*contacts), *derivatives)

    def gap(self, geom1: str | int, geom2: str | int, q: ArrayLike) -> Gap:
        """The gap between two geoms that may collide, as used by a step, and its derivative with respect to q.

        The distance less the margins of the two geoms (or of their declared pair); a step closes a positive gap to 0 at
        most and corrects a negative one. With several contact points, the smallest gap is returned.
        """
        first, second = self.index("geom", geom1), self.index("geom", geom2)
        return Gap(*self._gap(first, second, q))

    # ---- the model as a whole ----

    def linearise(self, q: ArrayLike, v: ArrayLike | None = None, u: ArrayLike | None = None, **more: Any) -> Any:
        """A, B, c of a step, or of several, about a state, as a `tangere.Linear`.

        more: act, dt, steps (1), and the options of `Sim`.
        """
        from tangere.linear import linearise  # noqa: PLC0415  (it is made of rollouts, which are made of models)

        return linearise(self, q, v, u, **more)

    def static_control(self, q: ArrayLike, guess: ArrayLike | None = None, **more: Any) -> Array:
        """Controls (nu) with which the model stays at rest at q, supported by its contacts; nearest to guess.

        more: act, dt, tolerance (1e-6), iterations (50), and the options of `Sim`.
        """
        from tangere.linear import static_control  # noqa: PLC0415

        return static_control(self, q, guess, **more)

    @property
    def mass(self) -> float:
        """Total mass of the bodies at the current parameters, kg."""
        return float(np.sum(self.params.get("body.*.mass", 0.0)))  # none: a world without bodies

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as MJCF, with the current parameters; see `to_mjcf`."""
        if os.fspath(path).lower().endswith((".urdf", ".usd", ".usda", ".sdf")):
            raise ValueError(f"{os.fspath(path)}: a model is written as MJCF; give a file that ends in .xml")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.to_mjcf())

    @property
    def report(self) -> list[ReportEntry]:
        """What the reader used, approximated or left out of the file."""
        return [ReportEntry(ReportKind(kind), *rest) for kind, *rest in self._report()]


def _from_bytes(kind: type[Model], image: bytes, params: Array) -> Model:
    m = kind._from_bytes(image)
    m.params = params
    return m


Path = str | os.PathLike[str]
_MODELS = pathlib.Path(__file__).with_name("models")  # those that come with the package


def _load_options(  # noqa: PLR0917  (the order of the extension)
    strict: bool,
    package_path: Path | Iterable[Path],
    floating_base: bool,
    keep_fixed: bool,
    srdf: Path | None,
    missing_meshes: str,
) -> tuple:
    if missing_meshes not in {"error", "ignore"}:
        raise ValueError(f"missing_meshes: expected 'error' or 'ignore', got {missing_meshes!r}")
    folders = (package_path,) if isinstance(package_path, (str, os.PathLike)) else package_path
    return (
        strict,
        tuple(os.fsencode(folder) for folder in folders),
        floating_base,
        keep_fixed,
        None if srdf is None else os.fsencode(srdf),
        missing_meshes == "ignore",
    )


def _find(path: Path) -> Path:
    """The file that is meant: that one, or a model that comes with the package, by its name."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path: expected a file or the name of a built-in model, got {path!r}")
    name = os.fspath(path)
    if not isinstance(name, str) or os.path.exists(name):
        return path
    if name.lstrip().startswith("<"):
        raise FileNotFoundError("path: this is the text of a model, not a file; tangere.load_string reads it")
    known = sorted(file.stem for file in _MODELS.glob("*.xml"))
    if name.removesuffix(".xml") in known and name.endswith(".xml"):
        raise FileNotFoundError(f"{name}: no such file; the built-in model is {name.removesuffix('.xml')!r}")
    if "/" in name or "." in name:
        return path
    if name in known:
        return _MODELS / f"{name}.xml"
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    raise FileNotFoundError(
        f"{name}: no such file, and no model of that name comes with tangere: {', '.join(known)}"
        + (f"; did you mean {close[0]!r}?" if close else "")
    )


def _loaded(m: Model, exclude_overlaps: bool) -> Model:
    """The result of `load`. Warns of unsupported elements that would change the motion, and of a time step that is too
    long for explicit springs and dampers.
    """
    left_out = [entry for entry in m.report if entry.kind == ReportKind.IGNORED_PHYSICS]
    if left_out:
        first = left_out[0]
        warnings.warn(
            f"{first.file}: physics that is left out: {len(left_out)}, the first is "
            f"{' '.join(part for part in (first.element, first.attribute) if part)}: {first.note}; "
            "m.report lists all, strict=True refuses the file",
            ModelWarning,
            stacklevel=3,
        )
    stable = m._stable_dt()
    if stable < m.timestep:
        warnings.warn(
            f"timestep = {m.timestep:g} s: springs, dampers or servos of {m.name!r} are stable up to {stable:.4g} s; "
            "a shorter dt, implicit_springs or implicit_actuators",
            stacklevel=3,
        )
    return m.exclude_overlaps() if exclude_overlaps else m


@told()
def load(
    path: Path,
    *,
    strict: bool = False,
    package_path: Path | Iterable[Path] = (),
    floating_base: bool = False,
    keep_fixed: bool = False,
    srdf: Path | None = None,
    exclude_overlaps: bool = False,
    missing_meshes: str = "error",
) -> Model:
    """Reads a model from a file, MJCF or URDF; the format is decided by its content.

    path: a file, or the name of a model that comes with the package ("quadruped", "pendulum", ...). Unsupported
    elements that would change the motion give a `tangere.ModelWarning`, and entries in `Model.report`.

    strict: unsupported elements that would change the motion are an error instead of an entry in `Model.report`.
    exclude_overlaps: geoms that overlap in the reference pose do not collide; see `Model.exclude_overlaps`.

    For URDF:

    package_path: folders in which package:// is looked up, before TANGERE_PACKAGE_PATH, ROS_PACKAGE_PATH and the
    folders above the file. floating_base: the root link gets a free joint; otherwise it is fixed to the world.
    keep_fixed: links on fixed joints stay bodies; otherwise they are merged into their parents, and each leaves a site
    of its name. srdf: a file whose disable_collisions become excludes. missing_meshes: "error", or "ignore": collision
    meshes that cannot be read are left out, with a warning.
    """
    options = _load_options(strict, package_path, floating_base, keep_fixed, srdf, missing_meshes)
    path = _find(path)
    try:
        m = Model._load(path, options)
    except OSError as refused:
        try:
            with open(path, "rb"):
                raise
        except OSError as cause:
            if cause is refused:
                raise
            raise type(cause)(cause.errno, str(refused)) from None
    return _loaded(m, exclude_overlaps)


@told()
def load_string(
    text: str,
    *,
    dir: Path = ".",
    strict: bool = False,
    package_path: Path | Iterable[Path] = (),
    floating_base: bool = False,
    keep_fixed: bool = False,
    srdf: Path | None = None,
    exclude_overlaps: bool = False,
    missing_meshes: str = "error",
) -> Model:
    """Reads a model from a string; relative paths in it start at dir. The options are those of `load`."""
    options = _load_options(strict, package_path, floating_base, keep_fixed, srdf, missing_meshes)
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text: expected a string with a model, got {type(text).__name__}")
    return _loaded(Model._load_string(text, dir, options), exclude_overlaps)
