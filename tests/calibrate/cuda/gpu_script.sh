#!/usr/bin/env bash
# bench/gpu.sh without a GPU, with a stand-in for rehearse-kernels: tests/calibrate/cuda/gpu_script.sh
set -uo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
# shellcheck source=tests/kit/want.sh
. "$root/tests/kit/want.sh"
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "GPU 0: NVIDIA H100 80GB HBM3"\n' >"$scratch/bin/nvidia-smi"
cat >"$scratch/bin/rehearse-kernels" <<'END'
#!/usr/bin/env bash
case "$1" in
--version) exit 0 ;;
--check) echo "gemm                 cublasLt  ${BROKEN:-ok}: largest error 0.1" && exit 0 ;;
esac
while [ "$1" != -o ]; do name=$1$name && shift; done
case $name in *"${FAILS:-nothing}"*) exit 139 ;; esac
printf '# rehearse.raw/1\n# complete=yes\n' >"$2"
END
chmod +x "$scratch"/bin/*
export PATH=$scratch/bin:$PATH TOOL=$scratch/bin/rehearse-kernels OUT=$scratch/out WORK=$scratch/work REHEARSE=none

# What is in the archive; a class that crashed is not, and all others are.
files() { tar tzf "$OUT/gpu.tgz" | grep raw.csv | sort | tr '\n' ' '; }

want 0 'gpu.tgz' "$root/bench/gpu.sh" first
[ "$(files)" = './attention.raw.csv ./gemm.raw.csv ./lists/experts-mixtral-ep4.raw.csv ./lists/gpt2-124m.raw.csv ./lists/llama-3.1-70b-tp8.raw.csv ./lists/llama-3.1-8b-tp1.raw.csv ./stream.raw.csv ' ] ||
    { echo "FAILED: $(files)" && failed=1; }
want 0 'gpu.tgz' "$root/bench/gpu.sh" second
[ "$(files | wc -w)" = 15 ] || { echo "FAILED: $(files)" && failed=1; }
rm -rf "$WORK" "$OUT"
FAILS=attention want 1 'attention: exit 139' "$root/bench/gpu.sh" first
[ "$(files | wc -w)" = 6 ] || { echo "FAILED: $(files)" && failed=1; }
BROKEN=WRONG want 1 'no cuBLASLt, or it is wrong' "$root/bench/gpu.sh" first
BUDGET_S=0 want 1 'no time left' "$root/bench/gpu.sh" second
want 3 'in two halves' "$root/bench/gpu.sh" third
exit "$failed"
