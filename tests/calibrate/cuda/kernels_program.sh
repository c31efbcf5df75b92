#!/usr/bin/env bash
# rehearse-kernels as a program, as far as it goes without a GPU: tests/calibrate/cuda/kernels_program.sh PROGRAM
set -uo pipefail
tool=$1
# shellcheck source=tests/kit/want.sh
. "$(dirname "$0")/../../kit/want.sh"

want 0 'Usage: rehearse-kernels' "$tool" --help
want 0 'writes rehearse.raw/1' "$tool" --version
want 3 'error: --budget 5h' "$tool" --budget 5h
want 3 'cannot be opened' "$tool" --list "$scratch/none.csv"
printf '# rehearse.kernels/1\nkernel\n' >"$scratch/bad.csv"
want 3 "$scratch/bad.csv:2: the header must be" "$tool" --list "$scratch/bad.csv"

"$tool" --grid >"$scratch/grid.csv" || failed=1
diff - <(head -n 5 "$scratch/grid.csv") <<'END' || failed=1
# rehearse.kernels/1
kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,count
gemm,bf16,1,4096,6144,4096,0,0,0,134217728,206158430208,1
gemm,bf16,1,4096,4096,4096,0,0,0,100663296,137438953472,1
gemm,bf16,1,4096,28672,4096,0,0,0,503316480,962072674304,1
END

# Where there is no driver it says so, and makes no file.
if [ ! -e /proc/driver/nvidia/version ]; then
    want 4 'error: no usable GPU: no NVIDIA driver' "$tool" -o "$scratch/out.csv"
    [ ! -e "$scratch/out.csv" ] || { echo 'FAILED: a file without a GPU' && failed=1; }
fi
exit "$failed"
