"""How a subcommand reads its MODEL: the options that every one of them has."""

from __future__ import annotations

import argparse
import sys
import warnings

from tangere.model import Model, load

_FLAGS = ("strict", "floating-base", "keep-fixed", "exclude-overlaps", "ignore-missing-meshes")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Adds MODEL and the options of reading it."""
    parser.add_argument("model")
    parser.add_argument("--srdf")
    parser.add_argument("--package-path", action="append", default=[])
    for name in _FLAGS:
        parser.add_argument(f"--{name}", action="store_true")


def read_model(given: argparse.Namespace) -> Model:
    """The model that a command line asks for."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        m = load(
            given.model,
            strict=given.strict,
            package_path=given.package_path,
            floating_base=given.floating_base,
            keep_fixed=given.keep_fixed,
            srdf=given.srdf,
            exclude_overlaps=given.exclude_overlaps,
            missing_meshes="ignore" if given.ignore_missing_meshes else "error",
        )
    for warning in said:
        print(f"tangere: warning: {warning.message}", file=sys.stderr)
    return m
