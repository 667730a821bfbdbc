"""Writes docs/python.md from the docstrings of the installed package; with --check, says whether it is up to date.

Every public class and function of `tangere` is on the page, with its public methods and properties. A name without a
docstring is an error. Needs the package; `make site` and the tests run it.
"""

from __future__ import annotations

import argparse
import enum
import inspect
import pathlib
import sys
from typing import Any

import tangere as tg

HEAD = """\
# Python reference

<!-- Made by scripts/python_doc.py from the docstrings: change them there. -->

`import tangere as tg`. Arguments are anything that NumPy converts to real numbers. Shapes are in parentheses: `q (nq)`
has `nq` numbers. [guide.md](guide.md) and [simulate.md](simulate.md) show how the parts work together.
"""

# the page in the order in which one needs the names; what is not named here follows at the end
SECTIONS = {
    "Models": ["load", "load_string", "Model", "Params", "Scene", "Key", "State", "Pose", "Poses", "Energy"],
    "Simulation": ["Sim", "step", "StepOptions", "Info", "StepContacts", "StepStatus", "ContactMode", "SimState"],
    "Derivatives of a step": ["Label", "Jacobian", "FrameJacobian", "StepGradient", "StepChange", "Linear"],
    "Rollouts and batches": ["rollout", "Rollout", "RolloutGradient", "RolloutChange", "RolloutJacobian", "RolloutInfo",
                             "Batch", "BatchRollout", "BatchError"],
    "Identification and inverse problems": ["fit", "FitResult", "Direction", "read_log", "Log", "solve", "Solution",
                                            "pose", "PoseResult", "inverse_contact_dynamics", "Holding", "NotHeldError",
                                            "excite", "Excitation", "least_squares", "minimise", "Optimum",
                                            "Iteration"],
    "Collision": ["distance", "Distance", "hull", "Shape", "Contacts", "ContactDerivatives", "Gap"],
    "Quadratic programs": ["qcqp", "QcqpSolution", "QcqpGradient", "QcqpJacobian"],
    "Checks and errors": ["check", "CheckResult", "CheckGroup", "CheckModes", "Error", "UnknownNameError",
                          "ModelWarning", "ReportEntry", "ReportKind", "ParamSlice"],
    "Viewing": ["view"],
}  # fmt: skip
ATTRIBUTES = {"__version__", "cpu_path", "cartesian"}  # neither classes nor functions
CONSTANTS = {
    "GIVEN_FIELDS": "The numbers of a given contact, in the order of its derivatives: the slice of each field.",
    "GIVEN_NUMBERS": "How many numbers a given contact has: {}.",
}


class MissingDocError(Exception):
    """A public name without a docstring."""


def doc_of(name: str, thing: Any) -> str:
    text = inspect.getdoc(thing)
    if not text:
        raise MissingDocError(name)
    return text.strip()


def signature_of(thing: Any) -> str:
    try:
        text = str(inspect.signature(thing)).replace(", **unknown: 'Never'", "")  # only for the message of a typo
    except (TypeError, ValueError):
        return "(...)"
    for long, short in (("tangere.", ""), ("'", ""), ("NDArray[np.float64]", "Array")):
        text = text.replace(long, short)
    return text.replace("(self, ", "(").replace("(self)", "()").replace("($self, ", "(")


def follows_doctest(line: str) -> bool:
    """Whether the line after this one is the output of a doctest."""
    return line.startswith((">>> ", "... "))


def prose(text: str) -> list[str]:
    """A docstring as Markdown: indented parts and doctests become blocks of code."""
    lines, block = [], False
    for line in text.splitlines():
        code = line.startswith(("    ", ">>> ", "... ")) or (block and line.strip() == "" and bool(lines))
        if code and not block and line.strip():
            lines += ["", "```text", line]
            block = True
        elif block and not code and not follows_doctest(lines[-1]) and line.strip():
            while lines[-1] == "":
                lines.pop()
            lines += ["```", "", line]
            block = False
        else:
            lines.append(line)
    if block:
        lines.append("```")
    return lines


def members_of(cls: type) -> list[tuple[str, Any]]:
    """Its own public methods and properties, and those that it has from the extension."""
    bases = [base for base in (tuple, BaseException, dict, enum.IntEnum) if issubclass(cls, base)]
    skipped = {name for base in bases for name in dir(base)}
    fields = set(getattr(cls, "_fields", ())) | set(getattr(cls, "__match_args__", ()))
    return [
        (name, member)
        for name, member in inspect.getmembers(cls)
        if not name.startswith("_")
        and name not in skipped | fields
        and (callable(member) or isinstance(member, property))
    ]


def entry(name: str, missing: list[str]) -> list[str]:
    thing = getattr(tg, name)
    if name in CONSTANTS:
        return [f"### `{name}`", "", CONSTANTS[name].format(thing), ""]
    if inspect.ismodule(thing):
        return [f"### `tangere.{name}`", "", *prose(doc_of(name, thing)), ""]
    if not inspect.isclass(thing):
        out = [f"### `{name}`", "", "```text", f"{name}{signature_of(thing)}", "```", ""]
        try:
            return [*out, *prose(doc_of(name, thing)), ""]
        except MissingDocError:
            missing.append(name)
            return out
    out = [f"### `{name}`", ""]
    fields = getattr(thing, "__match_args__", ()) if issubclass(thing, tuple) else ()
    if fields and not hasattr(thing, "_fields"):  # a result of the extension
        return [*out, "Named results: " + ", ".join(f"`{field}`" for field in fields) + ".", ""]
    if issubclass(thing, enum.Enum):
        out += [*prose(doc_of(name, thing)), "", ", ".join(f"`{member.name}`" for member in thing), ""]
        return out
    try:
        out += [*prose(doc_of(name, thing)), ""]
    except MissingDocError:
        missing.append(name)
    for member_name, member in members_of(thing):
        label = f"{name}.{member_name}"
        try:
            text = doc_of(label, member)
        except MissingDocError:
            missing.append(label)
            continue
        heading = (
            f"**`{member_name}`**" if isinstance(member, property) else f"**`{member_name}{signature_of(member)}`**"
        )
        first, *rest = prose(text)
        out += [f"{heading}  ", first, *rest, ""]
    return out


def page() -> tuple[str, list[str]]:
    """The page, and the public names without a docstring."""
    missing: list[str] = []
    lines = HEAD.splitlines()
    told = {name for names in SECTIONS.values() for name in names} | ATTRIBUTES
    rest = [name for name in tg.__all__ if name not in told]
    for title, names in {**SECTIONS, "Other results": rest}.items():
        lines += ["", f"## {title}", ""]
        for name in names:
            lines += entry(name, missing)
    text = "\n".join(lines).rstrip() + "\n"
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text, missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    path = pathlib.Path(__file__).resolve().parent.parent / "docs" / "python.md"
    text, missing = page()
    if missing:
        print(f"python_doc: without a docstring: {', '.join(missing)}", file=sys.stderr)
        return 1
    if arguments.check:
        fresh = path.exists() and path.read_text() == text
        print(
            "docs/python.md is up to date"
            if fresh
            else "docs/python.md is out of date: scripts/python_doc.py writes it"
        )
        return 0 if fresh else 1
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
