"""The parameters of a model as an array that is also indexed by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

if TYPE_CHECKING:
    from tangere.model import Model


class Values(np.ndarray):
    """Parameters that were read: a read-only array.

    `m.params["body.*.mass"] *= 2` works, because in-place operators make a new array, which then goes back into the
    model. Writing into the array itself would change nothing in the model, and is an error.
    """

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise ValueError("these values are read-only; assign to the model instead: m.params[name] = values")
        super().__setitem__(key, value)

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return np.add(self, other)

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return np.subtract(self, other)

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        return np.multiply(self, other)

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        return np.divide(self, other)


def _read_only(array: np.ndarray) -> Values:
    values = array.view(Values)
    values.flags.writeable = False
    return values


class Params(NDArrayOperatorsMixin):
    """Every number of the model, as one vector of nparams float64.

    Index it like an array, or by name: `"body.trunk.mass"` (a float), `"geom.floor.friction"` (three numbers),
    `"geom.floor.friction[0]"`, or by a pattern with * and ?: `"body.*.mass"`. The world's numbers have no effect and
    match only patterns that name it. `keys()`, `items()` and `dict(m.params)` list all fields. Assignment validates the
    whole vector; invalid values (a negative mass, an inertia that no body can have) raise `tangere.Error` and change
    nothing. `np.asarray(m.params)` is the current vector, without a copy, read-only; later assignments do not change
    it.
    """

    __slots__ = ("_model",)

    def __init__(self, model: Model) -> None:
        self._model = model

    # ---- as an array ----

    dtype = np.dtype(np.float64)
    ndim = 1

    @property
    def shape(self) -> tuple[int]:
        """(nparams,)"""
        return (self._model.nparams,)

    @property
    def size(self) -> int:
        """The number of parameters: nparams."""
        return self._model.nparams

    def __len__(self) -> int:
        return self._model.nparams

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        vector = self._model._params
        if dtype is not None and np.dtype(dtype) != vector.dtype:
            if copy is False:
                raise ValueError(f"params are float64: dtype {np.dtype(dtype)} needs a copy")
            return vector.astype(dtype)
        return vector.copy() if copy else vector

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", ())
        arrays = [np.asarray(x) if isinstance(x, Params) else x for x in inputs]
        if not any(x is self for x in out):
            return getattr(ufunc, method)(*arrays, **kwargs, **({"out": out} if out else {}))
        self[...] = getattr(ufunc, method)(*arrays, **kwargs)
        return self

    def __iter__(self) -> Iterator[np.float64]:
        return iter(np.asarray(self))

    def __repr__(self) -> str:
        return f"<tangere.Params of {self._model.name!r}: {len(self)} numbers>"

    # ---- by name ----

    def keys(self) -> list[str]:
        """Names of all fields, in the order of the vector; `dict(m.params)` has the current values."""
        return [name for name, _, _ in self._model._param_slices()]

    def values(self) -> list[Any]:
        """The current values of the fields: numbers or arrays."""
        return [self[name] for name in self.keys()]

    def items(self) -> list[tuple[str, Any]]:
        """(name, value) of all fields."""
        return [(name, self[name]) for name in self.keys()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __getitem__(self, key: Any) -> Any:
        vector = self._model._params
        index = self._index(key) if isinstance(key, str) else key
        values = vector[index]
        return _read_only(values) if isinstance(values, np.ndarray) else float(values)

    def __setitem__(self, key: Any, value: Any) -> None:
        vector = self._model._params.copy()
        index = self._index(key) if isinstance(key, str) else key
        given = np.asarray(value)
        if given.dtype.kind not in "fiub":
            raise TypeError(f"params[{key!r}]: expected real numbers, got {value!r}")
        if isinstance(key, str) and given.ndim == 0 and given != 0:
            self._refuse_one_for_several(key, index, value)
        try:
            vector[index] = given
        except ValueError:
            raise ValueError(f"params[{key!r}]: expected shape {np.shape(vector[index])}, got {given.shape}") from None
        self._model._set_params(vector)

    def __delitem__(self, key: Any) -> None:
        raise TypeError(f"params[{key!r}]: parameters can be changed, but not deleted")

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name or pattern, or the default if the model does not have it."""
        index = self._find(name)
        return default if index is None else self[name]

    def update(self, values: Mapping[str, Any]) -> None:
        """Assigns several parameters, {name or pattern: value}, one after the other."""
        for name, value in values.items():
            self[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        matches = [f"*.{name}", f"*.{name}.*"] if self._model is not None else []
        hint = next((f"; by name: m.params[{p!r}]" for p in matches if p in self), "; parameters go by m.params[name]")
        raise AttributeError(f"tangere.Params has no attribute {name!r}{hint}", name=name, obj=self)

    def _refuse_one_for_several(self, key: str, index: Any, value: Any) -> None:
        """One number in all components of a vector, such as gravity, is a mistake, unless it is zero."""
        positions = set(self._positions(index).tolist())
        for name, offset, size in self._model._param_slices():
            if size > 1 and offset in positions and offset + 1 in positions:
                raise ValueError(
                    f"params[{key!r}]: {name} has {size} numbers, got one ({value!r}); give {size}, "
                    f"or name one of them: {key + '[0]'!r}"
                )

    def index(self, names: Any = "*") -> np.ndarray:
        """Positions in the vector of a name, a pattern, a position, or a list of these, in the given order."""
        if isinstance(names, str | int):
            names = [names]
        known = self._known(names)
        if known is not None:
            return known
        if not isinstance(names, np.ndarray) and all(isinstance(n, str) for n in names):
            return self._of_names(tuple(names))
        joined = self._joined(names)
        if joined.size and not (joined.min() >= 0 and joined.max() < len(self)):
            raise IndexError(
                f"params: expected positions from 0 to {len(self) - 1}, got {joined.min()} to {joined.max()}"
            )
        return joined

    def _known(self, names: Any) -> np.ndarray | None:
        """Positions of a list of names that was asked before; only names are kept."""
        try:
            return self._model.__dict__["_positions_of"][tuple(names)] if type(names) in (list, tuple) else None
        except (KeyError, TypeError):
            return None

    def _of_names(self, names: tuple[str, ...]) -> np.ndarray:
        """The same for names alone, which is asked again and again: names do not change."""
        known = self._model.__dict__.setdefault("_positions_of", {})
        if names not in known:
            if len(known) > 1000:
                known.clear()
            known[names] = self._joined(names)
            known[names].flags.writeable = False
        return known[names]

    def _joined(self, names: Any) -> np.ndarray:
        if isinstance(names, np.ndarray) and names.dtype == np.intc and names.ndim == 1:
            return names
        parts = [self._positions(self._index(n)) if isinstance(n, str) else np.atleast_1d(n) for n in names]
        joined = np.concatenate(parts) if parts else np.empty(0, np.intc)
        if joined.dtype.kind not in "iu":
            raise TypeError(f"params: expected names and integers, got dtype {joined.dtype}")
        return joined.astype(np.intc)

    def _positions(self, index: Any) -> np.ndarray:
        return np.atleast_1d(np.arange(len(self), dtype=np.intc)[index])

    def _find(self, name: str) -> Any:
        """An int (one number), a slice (one field), an array of positions (a pattern), or None."""
        found = self._model._param_find(name)
        if found is None:
            return self._model._param_match(name) if "*" in name or "?" in name else None
        offset, size = found
        return offset if size == 1 else slice(offset, offset + size)

    def _index(self, name: str) -> Any:
        index = self._find(name)
        if index is None:
            raise self._model._unknown_param(name)
        return index
