"""Tries an installed wheel: import, a URDF with a mesh, a simulation, derivatives, the command.

expat and qhull must be inside.
The argument is the code path that TANGERE_CPU asks for: baseline or avx2.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import tangere as tg

TETRAHEDRON = [(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def stl() -> bytes:
    triangles = [struct.pack("<12fH", 0, 0, 0, *(x for v in face for x in TETRAHEDRON[v]), 0) for face in FACES]
    return bytes(80) + struct.pack("<I", len(triangles)) + b"".join(triangles)


def import_time() -> float:
    """Processor time of an import with NumPy's, s: the least of five new interpreters."""
    code = "import time; t = time.process_time(); import tangere; print(time.process_time() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def try_command() -> None:
    """The command comes with the wheel; `view` says what it needs."""
    command = pathlib.Path(sys.executable).parent / "tangere"
    for arguments in (
        ["sim", "quadruped", "--key", "home"],
        ["grad", "cube"],
        ["check", "pendulum"],
        ["fit", "--help"],
    ):
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    done = subprocess.run([command, "view", "quadruped"], capture_output=True, text=True, check=False)
    assert "tangere[view]" in done.stderr, done.stderr


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "t.stl").write_bytes(stl())
        pathlib.Path(folder, "r.urdf").write_text(
            '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"'
            ' ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh filename="t.stl"/></geometry></collision>'
            "</link></robot>",
            encoding="utf-8",
        )
        body = tg.load(f"{folder}/r.urdf", floating_base=True)
        scene = tg.Scene(timestep=0.002)
        scene.add(body, pos=(0, 0, 0.1))
        scene.floor()
        m = scene.build()
    sim = tg.Sim(m)
    for _ in range(500):
        sim.step()
    assert sim.info.status == tg.StepStatus.SOLVED
    assert sim.info.ncontact > 0
    assert np.isfinite(sim.jacobian().dv_dq).all()
    linked = ""
    here = pathlib.Path(tg.__file__).parent
    for library in (*here.glob("*.so"), here / "bin" / "tangere"):
        linked += subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    for name in ("expat", "qhull"):
        assert f"lib{name}" not in linked, f"{name} is linked dynamically"
    for licence in ("expat.txt", "qhull.txt"):
        assert (here / "licences" / licence).exists(), licence
    expected = {"baseline": "SSE2", "avx2": "AVX2 and FMA"}[sys.argv[1]]
    assert tg.cpu_path == expected, f"TANGERE_CPU={sys.argv[1]} gave {tg.cpu_path}"
    try_command()
    seconds = import_time()
    assert seconds < 0.3, f"import takes {seconds:.2f} s"
    print(f"wheel: {tg.cpu_path}: import {1e3 * seconds:.0f} ms, mesh, steps and derivatives good")


if __name__ == "__main__":
    sys.exit(main())
