"""Installs a build to a temporary prefix, moves the prefix, and builds and runs a consumer from it in C and in C++:
with find_package (shared and static), with pkg-config (shared and static), and as README.md prints it."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONSUMER = Path(__file__).resolve().parent / "consumer"
ROOT = CONSUMER.parents[2]


def run(*command, **keywords):
    print("+", shlex.join(map(str, command)), flush=True)
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **keywords).stdout


def expect(output, version):
    if output.strip() != f"tangere {version}":
        sys.exit(f"the consumer printed {output!r}, expected 'tangere {version}'")


def with_find_package(arguments, prefix, folder):
    run(
        arguments.cmake, "-S", CONSUMER, "-B", folder, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={arguments.cc}",
        f"-DCMAKE_CXX_COMPILER={arguments.cxx}",
        f"-DTANGERE_VERSION={arguments.version}",
    )  # fmt: skip
    run(arguments.cmake, "--build", folder)
    for name in ("c_shared", "c_static", "cpp_shared", "cpp_static"):
        expect(run(folder / name), arguments.version)


def with_pkg_config(arguments, prefix, folder):
    folder.mkdir()
    libdir = prefix / arguments.libdir
    environment = {**os.environ, "PKG_CONFIG_PATH": str(libdir / "pkgconfig")}

    def flags(*options):
        return run("pkg-config", *options, "tangere", env=environment).split()

    version = flags("--modversion")
    if version != [arguments.version]:
        sys.exit(f"pkg-config says version {version}")
    static = [flag for flag in flags("--static", "--libs") if flag != "-ltangere"]
    for compiler, source, standard in ((arguments.cc, "main.c", "c17"), (arguments.cxx, "main.cpp", "c++17")):
        compile_command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        compile_command += [*flags("--cflags"), CONSUMER / source]
        run(*compile_command, "-o", folder / "shared", *flags("--libs"), f"-Wl,-rpath,{libdir}")
        expect(run(folder / "shared"), arguments.version)
        run(*compile_command, "-o", folder / "static", libdir / "libtangere.a", *static)
        expect(run(folder / "static"), arguments.version)


def as_in_the_readme(arguments, prefix, folder):
    """The program and the CMakeLists.txt of README.md, exactly as they are printed there."""
    folder.mkdir()
    text = (ROOT / "README.md").read_text()
    for language, file in (("c", "robot.c"), ("cmake", "CMakeLists.txt")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        (folder / file).write_text(block)
    run(
        arguments.cmake, "-S", folder, "-B", folder / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={arguments.cc}",
    )  # fmt: skip
    run(arguments.cmake, "--build", folder / "build")
    printed = run(folder / "build" / "robot", ROOT / "models" / "quadruped.xml")
    if printed.strip() != "quadruped: 18 dofs":
        sys.exit(f"the program of README.md printed {printed!r}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("build", type=Path)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        installed, prefix = folder / "installed", folder / "moved"
        run(arguments.cmake, "--install", arguments.build, "--prefix", installed)
        shutil.move(installed, prefix)
        with_find_package(arguments, prefix, folder / "find_package")
        with_pkg_config(arguments, prefix, folder / "pkg_config")
        as_in_the_readme(arguments, prefix, folder / "readme")
        command = prefix / "bin" / "tangere"
        if (arguments.build / "tangere").exists():
            run(command, "--version")
            run(command, "info", "quadruped")  # finds the installed models
    return 0


if __name__ == "__main__":
    sys.exit(main())
