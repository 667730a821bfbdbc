#!/usr/bin/env bash
# static_deps.sh <folder> [options of cmake]: expat and qhull from Debian's sources, static and position-independent, with
# headers and licences, in <folder>/{lib,include,licences}. Does nothing where they are there. The options say for which
# machine (e.g. -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc). CMOCKA=1: cmocka, too, which the tests need.
set -euo pipefail

deps=$1
shift
[ ! -f "$deps/done" ] || exit 0
work=$deps/work
mkdir -p "$work/lists/partial" "$deps/lib" "$deps/include/libqhull_r" "$deps/licences"
command -v dpkg-source >/dev/null || {
    echo "static_deps: needs dpkg-source (apt install dpkg-dev)" >&2
    exit 1
}
echo "expat and qhull from source"

echo "deb-src http://deb.debian.org/debian bookworm main" >"$work/sources.list"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$work" && "${apt[@]}" source --download-only qhull expat ${CMOCKA:+cmocka})
for archive in "$work"/*.orig.tar.[gx]z; do
    tar -xf "$archive" -C "$work"
done
expat=$(echo "$work"/*expat*/expat)
qhull=$(echo "$work"/qhull-*)

# build <name> <folder with CMakeLists.txt> <target> [options of cmake]
build() {
    local name=$1 folder=$2 target=$3
    shift 3
    {
        cmake -S "$folder" -B "$work/build-$name" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
            -DEXPAT_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
        cmake --build "$work/build-$name" --target "$target"
    } >"$work/$name.log" 2>&1 || {
        tail -20 "$work/$name.log" >&2
        exit 1
    }
    find "$work/build-$name" -name "lib$target.a" -exec cp {} "$deps/lib/" \;
}

# expat without arc4random, which glibc has since 2.36 only: a wheel runs on 2.34 and later
build expat "$expat" expat -DHAVE_ARC4RANDOM_BUF=0 -DHAVE_ARC4RANDOM=0 -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_EXAMPLES=OFF "$@"
build qhull "$qhull" qhullstatic_r "$@"
cp "$expat"/lib/expat.h "$expat"/lib/expat_external.h "$work/build-expat/expat_config.h" "$deps/include/"
cp "$qhull"/src/libqhull_r/*.h "$deps/include/libqhull_r/"
cp "$expat/COPYING" "$deps/licences/expat.txt"
cp "$qhull/COPYING.txt" "$deps/licences/qhull.txt"
if [ -n "${CMOCKA:-}" ]; then
    cmocka=$(echo "$work"/cmocka-*/)
    build cmocka "$cmocka" cmocka-static -DWITH_STATIC_LIB=ON -DUNIT_TESTING=OFF -DWITH_EXAMPLES=OFF "$@"
    mv "$deps/lib/libcmocka-static.a" "$deps/lib/libcmocka.a"
    cp "$cmocka/include/cmocka.h" "$deps/include/"
fi
touch "$deps/done"
