#!/usr/bin/env bash
# wheel.sh: source archive and wheels in build/wheel/dist, tested in empty environments.
#   - the source archive is made first and checked; the wheels are built from it
#   - the library is built for any x86-64 and for AVX2 with FMA; it chooses when it is loaded (cmake/TangerePaths.cmake)
#   - expat and qhull are built from Debian's sources and linked statically; their licences are in the wheel
#   - auditwheel checks what is still linked dynamically, and sets the manylinux tag
# PYTHONS: the interpreters, one wheel each; default: every Python 3.11 to 3.14 that is found.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
work=$root/build/wheel
deps=$work/deps
most_kb=6144 # a wheel is smaller than 6 MB
tag=manylinux_2_34_x86_64  # glibc 2.34, where threads became part of it, or later
mkdir -p "$work/dist"

fail() {
    echo "wheel: $*" >&2
    exit 1
}

# every Python 3.11 to 3.14 with its headers: of the system, or of pyenv
find_pythons() {
    local version candidate
    for version in 3.11 3.12 3.13 3.14; do
        for candidate in "$HOME"/.pyenv/versions/"$version".*/bin/python "$(command -v "python$version" || true)"; do
            if [ -x "$candidate" ] && "$candidate" -c 'import os, sysconfig, venv
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2>/dev/null; then
                echo "$candidate"
                break
            fi
        done
    done
}

PYTHONS=${PYTHONS:-$(find_pythons)}
[ -n "$PYTHONS" ] || fail "no Python 3.11 to 3.14 with headers was found; PYTHONS=..."
first=$(echo $PYTHONS | cut -d ' ' -f 1)

scripts/static_deps.sh "$deps"

# ---- the source archive ----

# tools <python>: an environment with what builds a wheel for it; jaxlib has the header of XLA's handlers
tools() {
    local venv=$work/tools-$1
    [ -f "$venv/done" ] || {
        rm -rf "$venv"
        "$2" -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements/build.txt -r requirements/wheel.txt
        "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$(grep '^jaxlib==' requirements/learn.txt)" ||
            echo "wheel: no jaxlib for $1: this wheel has no handlers for JAX" >&2
        touch "$venv/done"
    }
}

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

tools "$(version_of "$first")" "$first"
rm -rf "$work/dist" "$work/source"
mkdir -p "$work/dist" "$work/source"
"$work/tools-$(version_of "$first")/bin/python" -m build --sdist --no-isolation --outdir "$work/dist" . >"$work/sdist.log" 2>&1 ||
    { cat "$work/sdist.log" >&2; fail "no source archive"; }
archive=$(echo "$work"/dist/*.tar.gz)
strangers=$(tar -tzf "$archive" | cut -d / -f 2- |
    grep -Ev '^((include|src|python|cmake|models|licences)/.*\.(c|h|def|py|pyi|typed|cmake|in|txt|xml|md|stl|obj|js|css|html)|(CMakeLists\.txt|pyproject\.toml|LICENSE|README\.md|PKG-INFO|\.gitignore)|python/tangere/py\.typed)$' || true)
[ -z "$strangers" ] || fail "the source archive has files that do not belong there: $strangers"
tar -xzf "$archive" -C "$work/source" --strip-components 1
echo "wheel: $(basename "$archive"), $(du -k "$archive" | cut -f 1) kB, $(tar -tzf "$archive" | wc -l) files"

# ---- a wheel for each Python, from the archive ----

launcher=()
! command -v ccache >/dev/null || launcher=(-Ccmake.define.CMAKE_C_COMPILER_LAUNCHER=ccache)

build_wheel() {
    local version=$1 venv=$work/tools-$1
    rm -rf "$work/raw" "$work/tangere-$version" # times of files in the archive say nothing about what changed
    "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$work/raw" \
        -Cbuild-dir="$work/tangere-$version" -Ccmake.define.TANGERE_NATIVE=OFF -Ccmake.define.TANGERE_PATHS=ON \
        -Ccmake.define.TANGERE_LICENCES="$deps/licences" -Ccmake.define.CMAKE_PREFIX_PATH="$deps" \
        -Ccmake.define.EXPAT_LIBRARY="$deps/lib/libexpat.a" -Ccmake.define.EXPAT_INCLUDE_DIR="$deps/include" \
        -Ccmake.define.QhullR_LIBRARY="$deps/lib/libqhullstatic_r.a" -Ccmake.define.QhullR_INCLUDE_DIR="$deps/include" \
        -Cinstall.strip=true "${launcher[@]}" "$work/source"
    PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --plat "$tag" --wheel-dir "$work/dist" "$work"/raw/*.whl >"$work/audit.log" 2>&1 ||
        { cat "$work/audit.log" >&2; fail "auditwheel refuses the wheel"; }
}

# ---- tests, in an environment with NumPy and the wheel alone ----

# hidden <command...>: with the system's expat, qhull and compilers out of sight, where we may do that
hidden() {
    if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
        unshare --mount bash -c '
            for file in /lib/*/libexpat.so* /lib/*/libqhull* /usr/lib/*/libexpat.so* /usr/lib/*/libqhull* \
                /usr/bin/cc /usr/bin/gcc* /usr/bin/clang*; do
                [ ! -f "$file" ] || mount --bind /dev/null "$(readlink -f "$file")"
            done
            exec "$@"' hidden "$@"
    else
        echo "wheel: not root: expat and qhull are not hidden, only looked for with ldd" >&2
        "$@"
    fi
}

try_wheel() {
    local version=$1 python=$2 wheel=$3 empty=$work/empty-$1 size path
    size=$(du -k "$wheel" | cut -f 1)
    echo "wheel: $(basename "$wheel"), $size kB"
    [ "$size" -lt "$most_kb" ] || fail "larger than $most_kb kB"
    rm -rf "$empty"
    "$python" -m venv "$empty"
    "$empty/bin/pip" install --quiet --disable-pip-version-check "$wheel"
    for path in baseline avx2; do
        (cd / && TANGERE_CPU=$path hidden "$empty/bin/python" "$root/scripts/try_wheel.py" "$path")
    done
}

for python in $PYTHONS; do
    version=$(version_of "$python")
    echo "wheel: Python $version"
    tools "$version" "$python"
    build_wheel "$version"
    try_wheel "$version" "$python" "$(echo "$work"/dist/*-cp"${version/./}"-*.whl)"
done

# ---- the two paths compute the same ----

version=$(version_of "$first")
python=$work/empty-$version/bin/python
TANGERE_CPU=baseline "$python" scripts/compare_paths.py record "$work/paths.pickle"
TANGERE_CPU=avx2 "$python" scripts/compare_paths.py compare "$work/paths.pickle"
(cd / && "$work/empty-$version/bin/tangere" doctor)
echo "wheel: all good"
