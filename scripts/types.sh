#!/usr/bin/env bash
# types.sh: mypy --strict and pyright on the installed package, as a user's project sees it, and on the examples.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
mapfile -t examples < <(ls examples/[0-9][0-9]_*.py examples/gradients/*.py)
.venv/bin/python -m mypy --strict "${examples[@]}" tests/python/types_of_users.py || failed=1
.venv/bin/python -m pyright --pythonpath .venv/bin/python "${examples[@]}" tests/python/types_of_users.py || failed=1
exit $failed
