#!/usr/bin/env bash
# lint.sh: formatting (clang-format, ruff), static analysis (clang-tidy, ruff) and the project's own checks.
# `lint.sh --fix` formats the files, and writes the generated pages of docs/, instead. Runs everything even after a failure; fails if anything did.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
step() {
    local name=$1
    shift
    echo "== $name"
    "$@" || failed=1
}

existing() {
    local folder
    for folder in "$@"; do
        [ -d "$folder" ] && echo "$folder"
    done
}

mapfile -t c_folders < <(existing include src tests python bench examples models)
mapfile -t c_files < <(find "${c_folders[@]}" -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' | sort)
ruff=.venv/bin/ruff

if [ "${1:-}" = --fix ]; then
    clang-format -i "${c_files[@]}"
    $ruff check --fix --quiet .
    $ruff format --quiet .
    for generator in scripts/gen_*_doc.py; do
        .venv/bin/python -B "$generator"
    done
    exit
fi

# one file per run: clang-tidy 14 sees uninitialised va_lists in the second file of a run
tidy() {
    find src -name '*.c' | sort | xargs -P "${JOBS:-$(nproc)}" -n 1 clang-tidy --quiet -p build/release 2>&1 |
        grep -v -E '^[0-9]+ warnings? (and [0-9]+ errors? )?generated\.$'
    return "${PIPESTATUS[0]}"
}

step clang-format clang-format --dry-run -Werror "${c_files[@]}"
step clang-tidy tidy
step ruff $ruff check --quiet .
step "ruff format" $ruff format --check --quiet .
for check in scripts/check_*.py; do
    step "$(basename "$check")" .venv/bin/python -B "$check"
done
for generator in scripts/gen_*_doc.py; do
    step "$(basename "$generator")" .venv/bin/python -B "$generator" --check
done
[ $failed = 0 ] && echo "lint: clean" || echo "lint: FAILED"
exit $failed
