#!/usr/bin/env bash
# A thousand drawn launches, fed to Megatron-LM's own parser and validation.
#
#   REHEARSE_MEGATRON=/path/to/Megatron-LM tests/strategies/launch/megatron_arguments_test.sh LAUNCH_ASSERTS_TEST...
#
# Skipped (77) without a checkout of it (core_v0.15.3), or without Python 3.10. PyTorch is not needed.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
checkout=${REHEARSE_MEGATRON-}
if [ ! -f "$checkout/megatron/training/arguments.py" ]; then
    echo 'skipped: REHEARSE_MEGATRON names no checkout of Megatron-LM'
    exit 77
fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo 'skipped: no python3 of 3.10 or later'
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
REHEARSE_LAUNCHES=$scratch/launches "$@" >"$scratch/said" || {
    cat -- "$scratch/said"
    exit 1
}
python3 -B "$here/megatron_arguments.py" "$checkout" <"$scratch/launches"
# What is spoilt must be refused, or nothing was checked.
if sed 's/--micro-batch-size [0-9]*/--micro-batch-size 0/' "$scratch/launches" | head -n 3 |
    python3 -B "$here/megatron_arguments.py" "$checkout" >"$scratch/said"; then
    echo 'a micro-batch of 0 was let through'
    exit 1
fi
