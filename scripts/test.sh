#!/usr/bin/env bash
# test.sh: the C tests in three builds (for this machine; for the plain architecture; with sanitizers), then the Python and
# command-line tests. Runs everything even after a failure; fails if anything did. Ends with pytest's own closing line.
set -uo pipefail
cd "$(dirname "$0")/.."

jobs=${JOBS:-$(nproc)}
export TANGERE_ROOT=$PWD
export TANGERE_SHARED=${TANGERE_SHARED:-$(dirname "$PWD")/shared}
export TANGERE_COMMAND=$PWD/build/tangere
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
summary=()
failed=0

# c_tests <preset> <ctest options...>
c_tests() {
    local preset=$1 line
    shift
    echo "== C tests, $preset"
    if cmake --preset "$preset" --log-level=NOTICE >"$log" 2>&1 &&
        cmake --build --preset "$preset" -j "$jobs" >"$log" 2>&1; then
        ctest --preset "$preset" -j "$jobs" "$@" 2>&1 | tee "$log"
        [ "${PIPESTATUS[0]}" = 0 ] || failed=1
        line=$(grep -E 'tests passed' "$log" || echo "no tests ran")
    else
        cat "$log"
        failed=1
        line="does not build"
    fi
    summary+=("$(printf '%-9s %s' "$preset" "$line")")
}

c_tests release
c_tests portable --label-exclude 'lint|package'
c_tests asan

echo "== Python and command-line tests"
.venv/bin/python -m pytest -n "$jobs" --dist loadfile 2>&1 | tee "$log"
[ "${PIPESTATUS[0]}" = 0 ] || failed=1
closing=$(tail -n 1 "$log")

echo
echo "== summary"
printf '%s\n' "${summary[@]}"
[ $failed = 0 ] && echo "all passed" || echo "FAILED"
echo "$closing"
exit $failed
