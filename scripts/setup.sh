#!/usr/bin/env bash
# setup.sh <group>...: installs what is missing of a group, and says so; quick and silent when nothing is.
#   core    compiler, CMake, Ninja, expat, qhull
#   python  Python with headers and venv; .venv with requirements/build.txt
#   test    cmocka, pkg-config, chromium; .venv with requirements/dev.txt
#   learn   .venv with requirements/learn.txt (torch, JAX, Gymnasium); what cannot be had is left out, and said
#   mjx     .venv with requirements/mjx.txt, in the same way
#   qcqp    .venv with requirements/qcqp.txt, in the same way
#   bench   Eigen; .venv with requirements/dev.txt
#   lint    clang-format, clang-tidy; .venv with requirements/lint.txt
#   site    .venv with requirements/site.txt (mkdocs-material)
#   types   .venv with requirements/types.txt (mypy, pyright)
#   fuzz    clang with libFuzzer and the sanitizers
#   valgrind
# System packages come from apt (Debian 12 and its kin), as root or with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
packages=()
requirements=()
optional=()

# need <packages> <command that succeeds when they are there...>
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || packages+=($package)
}

has_header() {
    echo "#include <$1>" | cc -E -x c -
}

has_cxx_header() {
    echo "#include <$1>" | c++ -E -x c++ "${@:2}" -
}

has_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*//p')
    [ "$(printf '%s\n' 3.20 "$version" | sort -V | head -n 1)" = 3.20 ]
}

has_python() {
    "$PYTHON" -c 'import ensurepip, os, sysconfig, venv
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))'
}

has_cmocka() {
    printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\n' |
        cc -E -x c -
}

# one that tangere._film finds
has_browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

# clang and its run-time libraries, of the same version
has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d[n] * 0; }' |
        clang -fsanitize=fuzzer,address,undefined -x c -o /dev/null -
}

fuzzer_packages() {
    local version
    version=$({ clang -dumpversion 2>/dev/null || apt-cache depends clang | sed -n 's/.*Depends: clang-//p'; } | cut -d. -f1)
    echo "clang libclang-rt-${version:-14}-dev"
}

for group in "$@"; do
    case $group in
    core)
        need build-essential has_header stdio.h
        need build-essential make --version
        need cmake has_cmake
        need ninja-build ninja --version
        need libexpat1-dev has_header expat.h
        need libqhull-dev has_header libqhull_r/libqhull_r.h
        ;;
    python)
        need "python3 python3-venv python3-dev" has_python
        requirements+=(requirements/build.txt)
        ;;
    test)
        need build-essential has_cxx_header string
        need binutils objdump --version
        need libcmocka-dev has_cmocka
        need pkg-config pkg-config --version
        need chromium has_browser
        requirements+=(requirements/dev.txt)
        ;;
    learn)
        optional+=(requirements/learn.txt)
        ;;
    mjx)
        optional+=(requirements/mjx.txt)
        ;;
    qcqp)
        optional+=(requirements/qcqp.txt)
        ;;
    bench)
        need build-essential has_cxx_header string
        need libeigen3-dev has_cxx_header Eigen/Core -I/usr/include/eigen3
        requirements+=(requirements/dev.txt)
        ;;
    lint)
        need clang-format clang-format --version
        need clang-tidy clang-tidy --version
        need clang clang --version
        requirements+=(requirements/lint.txt)
        ;;
    site)
        requirements+=(requirements/site.txt)
        ;;
    types)
        requirements+=(requirements/types.txt)
        ;;
    aarch64)
        need "gcc-aarch64-linux-gnu g++-aarch64-linux-gnu" aarch64-linux-gnu-g++ --version
        need qemu-user qemu-aarch64 --version
        need dpkg-dev dpkg-source --version
        need libcmocka-dev has_cmocka
        ;;
    fuzz)
        need "$(fuzzer_packages)" has_fuzzer
        ;;
    valgrind)
        need valgrind valgrind --version
        need libc6-dbg test -d /usr/lib/debug/.build-id
        ;;
    *)
        echo "setup: unknown group '$group'" >&2
        exit 2
        ;;
    esac
done

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

install_packages() {
    local install="apt-get install -y --no-install-recommends $*"
    if ! command -v apt-get >/dev/null; then
        echo "setup: please install what Debian calls: $*" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "setup: neither root nor sudo here; please have root run: $install" >&2
        exit 1
    fi
    echo "setup: apt-get install $*"
    local log
    log=$(mktemp)
    as_root apt-get update >"$log" 2>&1 || echo "setup: apt-get update failed, trying with the package lists that are here" >&2
    if ! as_root env DEBIAN_FRONTEND=noninteractive $install >>"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
}

install_requirements() {
    local files=() file missing
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        echo "setup: $PYTHON -m venv .venv"
        "$PYTHON" -m venv --clear .venv
    fi
    if ! missing=$(.venv/bin/python scripts/missing_requirements.py "$@"); then
        echo "setup: pip install $missing"
        for file in "$@"; do
            files+=(-r "$file")
        done
        .venv/bin/python -m pip install --quiet --disable-pip-version-check "${files[@]}"
    fi
}

if [ ${#packages[@]} -gt 0 ]; then
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
    install_packages "${packages[@]}"
fi
if [ ${#requirements[@]} -gt 0 ]; then
    mapfile -t requirements < <(printf '%s\n' "${requirements[@]}" | sort -u)
    install_requirements "${requirements[@]}"
fi
for file in "${optional[@]}"; do
    install_requirements "$file" || echo "setup: $file could not be installed; what needs it is skipped" >&2
done
