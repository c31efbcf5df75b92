#!/usr/bin/env bash
# Measures this machine's GPU in one command, without a network, in ten minutes at most: builds rehearse-kernels
# for it, checks its kernels, runs the grid and every kernel list, and makes a profile where rehearse is built.
#
#   bench/gpu.sh [LISTS]    LISTS: a folder of kernel lists, bench/kernel-lists by default
#
# Results go to $OUT (build/gpu by default): check.txt, grid.raw.csv, LIST.raw.csv. Each file is valid whenever the
# run is cut. Exit status: 0 all done; 1 something was cut or failed; 77 no nvcc or no GPU.
set -uo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
lists=${1:-$root/bench/kernel-lists}
out=${OUT:-$root/build/gpu}
total_s=${BUDGET_S:-570}
tool=$out/rehearse-kernels
failed=0

left_s() { echo $((total_s - SECONDS)); }

skip() {
    printf 'gpu.sh: %s\n' "$*" >&2
    exit 77
}

# The tool stops by itself; `timeout` only guards against a hung device, and asks politely first.
tool() {
    timeout --signal=INT --kill-after=10 "$(($(left_s) > 15 ? $(left_s) : 15))" "$tool" "$@"
}

find_nvcc() {
    nvcc=$(command -v nvcc || true)
    [ -n "$nvcc" ] || [ ! -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] || nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
    [ -n "$nvcc" ] || skip 'nvcc is neither on the PATH nor in /usr/local/cuda/bin: install the CUDA Toolkit 12 or 13'
}

find_gpu() {
    command -v nvidia-smi >/dev/null || skip 'no NVIDIA driver on this machine (nvidia-smi is missing)'
    nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || skip 'the NVIDIA driver shows no GPU'
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
}

build() {
    printf 'building %s with %s\n' "$tool" "$nvcc"
    (cd -- "$root" && "$nvcc" -std=c++17 -O2 -t 0 -I. -arch=native -cudart static -o "$tool" \
        calibrate/cuda/*.c calibrate/cuda/*.cu -ldl -lm)
}

check() {
    tool --check 2>&1 | tee "$out/check.txt"
    [ "${PIPESTATUS[0]}" = 0 ] || {
        failed=1
        printf 'gpu.sh: a kernel differs from its reference: do not trust its rows\n' >&2
    }
}

# Half of what is left, at most the five minutes that the grid usually takes; the rest is for the lists.
grid() {
    local share=$(($(left_s) / 2))
    [ "$share" -le 300 ] || share=300
    tool -o "$out/grid.raw.csv" --budget "${share}s" || failed=1
}

kernel_lists() {
    local file name share left=${#files[@]}
    for file in "${files[@]}"; do
        name=$(basename -- "$file" .csv)
        share=$((($(left_s) - 10) / left))
        [ "$share" -le 60 ] || share=60
        left=$((left - 1))
        if [ "$share" -lt 5 ]; then
            printf 'gpu.sh: no time left for %s\n' "$name" >&2
            failed=1
            continue
        fi
        tool --list "$file" -o "$out/$name.raw.csv" --budget "${share}s" || failed=1
    done
}

# rehearse need not be on the GPU's machine.
profile() {
    local rehearse=$root/build/rehearse
    if [ -x "$rehearse" ]; then
        "$rehearse" calibrate --from "$out/grid.raw.csv" -o "$out/profile.json" || failed=1
        [ ${#files[@]} = 0 ] || "$rehearse" validate --run step --from "$out" --profile "$out/profile.json" || failed=1
    else
        printf '\nOn a machine with rehearse, with the folder %s:\n' "$out"
        printf '  rehearse calibrate --from %s/grid.raw.csv -o profile.json\n' "$(basename -- "$out")"
        printf '  rehearse validate --run step --from %s --profile profile.json\n' "$(basename -- "$out")"
    fi
}

find_nvcc
find_gpu
mkdir -p -- "$out"
shopt -s nullglob
files=("$lists"/*.csv)
build || {
    printf 'gpu.sh: the build failed\n' >&2
    exit 1
}
check
grid
kernel_lists
printf '\nmeasured in %d s:\n' "$SECONDS"
wc -l -- "$out"/*.raw.csv
profile
exit "$failed"
