"""The libraries define nothing but tg_ symbols, and hold no global state that can change.

Looks at what the shared library exports, at every global symbol of the static library (hidden ones too: two static
libraries in one program must not collide), and at its sections for data that is writable.
"""

import argparse
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def global_symbols(nm, library, *options):
    lines = run(nm, "--defined-only", "--extern-only", *options, library).splitlines()
    return sorted({line.split()[-1].split("@")[0] for line in lines if len(line.split()) == 3})


def writable_sections(objdump, library):
    """(object, section, size) of what is neither code nor constant; tables of constant pointers lie in .data.rel.ro."""
    member = ""
    for line in run(objdump, "--section-headers", library).splitlines():
        if ":     file format" in line:
            member = line.split(":")[0]
        header = re.match(r"\s*\d+ (\S+)\s+([0-9a-f]+) ", line)
        if header is None or int(header[2], 16) == 0 or header[1].startswith(".data.rel.ro"):
            continue
        if header[1].split(".")[1] in ("data", "bss", "tdata", "tbss"):
            yield member, header[1], int(header[2], 16)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", required=True)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("shared")
    parser.add_argument("static")
    arguments = parser.parse_args()

    exported = global_symbols(arguments.nm, arguments.shared, "--dynamic")
    internal = global_symbols(arguments.nm, arguments.static)
    problems = [f"shared library exports {name}" for name in exported if not name.startswith("tg_")]
    problems += [f"static library defines {name}" for name in internal if not name.startswith("tg_")]
    problems += [f"{exported_name} is not in the static library" for exported_name in set(exported) - set(internal)]
    problems += [
        f"{member}: {size} bytes of writable data in {section}"
        for member, section, size in writable_sections(arguments.objdump, arguments.static)
    ]
    if "tg_version" not in exported:
        problems.append("shared library does not export tg_version")
    if "tg_fail" not in internal or "tg_fail" in exported:
        problems.append("tg_fail should be global in the static library and hidden in the shared one")
    print("\n".join(problems) or f"{len(exported)} symbols exported, {len(internal) - len(exported)} hidden")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
