#!/usr/bin/env bash
# Measures this machine's GPU with rehearse-kernels, without a network, in two halves that are each useful alone.
#
#   bench/gpu.sh [first|second|all]
#
#   first    checks the kernels; GEMMs, memory-bound kernels, copies, launches, attention, experts; the training
#            steps that matter most: what a profile is made of, in 350 s at most
#   second   GEMMs again with other random data (how well times repeat), and the other training steps, in 270 s
#   all      both, which is the default
#
# Everything is written to $WORK (a folder below $TMPDIR) and kept as one archive, $OUT/gpu.tgz (build/gpu), which
# is renewed after every stage: what a run had measured when it was cut is in it. Each stage is a process with a limit
# of its own, so that a crash or a hang costs its kernels alone. Lists of decode steps are left out unless LISTS names
# their folder: engines run attention of one query per sequence by kernels that rehearse-kernels does not have.
#
#   TOOL=FILE      a rehearse-kernels that was built elsewhere, instead of building it here
#   PYTHON=FILE    the Python whose wheels (nvidia-cublas, nvidia-cudnn, nvidia-nccl) hold the vendor's libraries
#   BUDGET_S=N     seconds for all of it
#   REHEARSE=FILE  the rehearse that makes the profile at the end (build/rehearse), if it is there
#
# Exit status: 0 all done; 1 something was cut or failed; 77 no nvcc or no GPU.
set -uo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
half=${1:-all}
work=${WORK:-${TMPDIR:-/tmp}/rehearse-gpu}
out=${OUT:-$root/build/gpu}
declare -A usual_s=([first]=350 [second]=270 [all]=620)
total_s=${BUDGET_S:-${usual_s[$half]:-0}}
tool=${TOOL:-$work/rehearse-kernels}
failed=0

# The kernels of each stage. GEMMs first: most of a step's time is theirs.
gemms=gemm,grouped_gemm,sustained_gemm
streams=norm,add,activation,softmax,rotary,embedding,cross_entropy,optimizer,reduce,permute,copy,empty,launch,graph_launch
first_lists=(llama-3.1-8b-tp1 llama-3.1-70b-tp8 experts-mixtral-ep4 gpt2-124m)

skip() {
    printf 'gpu.sh: %s\n' "$*" >&2
    exit 77
}

say() { printf '[%3d s] %s\n' "$SECONDS" "$*" | tee -a "$work/log.txt"; }

keep() {
    tar czf "$out/gpu.tgz.new" -C "$work" --exclude rehearse-kernels . && mv "$out/gpu.tgz.new" "$out/gpu.tgz"
}

# stage SECONDS NAME COMMAND...: asked to stop at the limit, killed five seconds later. No stage's failure ends the next.
stage() {
    local limit=$1 name=$2 status left=$((total_s - SECONDS))
    shift 2
    [ "$limit" -le "$left" ] || limit=$left
    if [ "$limit" -lt 5 ]; then
        say "$name: no time left"
        failed=1
        return 1
    fi
    timeout --signal=INT --kill-after=5 "$limit" "$@" >"$work/$name.log" 2>&1
    status=$?
    [ "$status" = 0 ] || failed=1
    say "$name: exit $status; $(tail -n 1 "$work/$name.log" | cut -c1-150)"
    keep
    return "$status"
}

# measure BUDGET NAME OPTION...: the tool stops by itself in time; the limit guards against a hung device.
measure() {
    local budget=$1 name=$2
    shift 2
    stage $((budget + 15)) "$name" "$tool" "$@" --budget "${budget}s" -o "$work/$name.raw.csv"
}

# Folders of the vendor's libraries and headers that Python wheels brought, for the compiler and the loader. What
# LD_LIBRARY_PATH held stays: libcuda may come from there.
find_wheels() {
    local site part
    site=$("${PYTHON:-python3}" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)/nvidia
    for part in cu13 cu12 cublas cudnn nccl; do
        [ -d "$site/$part/lib" ] || continue
        RK_LIBRARIES=${RK_LIBRARIES:+$RK_LIBRARIES:}$site/$part/lib
        includes+=("-I$site/$part/include")
    done
    export RK_LIBRARIES LD_LIBRARY_PATH=${RK_LIBRARIES:+$RK_LIBRARIES:}${LD_LIBRARY_PATH:-}
    say "libraries of wheels: ${RK_LIBRARIES:-none}"
}

find_gpu() {
    command -v nvidia-smi >/dev/null || skip 'no NVIDIA driver on this machine (nvidia-smi is missing)'
    nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || skip 'the NVIDIA driver shows no GPU'
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE >"$work/machine.txt" 2>&1
}

build() {
    local nvcc
    ! "$tool" --version >/dev/null 2>&1 || return 0
    nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
    [ -x "$nvcc" ] || skip 'nvcc is neither on the PATH nor in /usr/local/cuda/bin: install the CUDA Toolkit 12 or 13'
    tool=$work/rehearse-kernels
    (cd -- "$root" && stage 120 build "$nvcc" -std=c++17 -O2 -t 0 -I. "${includes[@]}" -arch=native -cudart static \
        -o "$tool" calibrate/measure/*.c calibrate/cuda/*.cu -ldl -lm)
    [ -x "$tool" ] || {
        tail -n 20 "$work/build.log"
        exit 1
    }
}

# Without cuBLASLt there is nothing to fit: nothing is measured then.
check() {
    stage 60 check "$tool" --check || say 'a kernel differs from its reference: do not trust its rows'
    cat "$work/check.log"
    grep -q '^gemm .*cublasLt *ok' "$work/check.log" || {
        say 'no cuBLASLt, or it is wrong: set PYTHON to the Python whose wheels hold it, or RK_LIBRARIES to its folder'
        exit 1
    }
}

# One list of kernels, if there is such.
list() {
    local name=$1
    [ ! -f "$lists/$name.csv" ] || stage 30 "$name" "$tool" --list "$lists/$name.csv" --budget 12s -o "$work/lists/$name.raw.csv"
}

first() {
    local name
    check
    measure 90 gemm --run "$gemms"
    measure 25 stream --run "$streams"
    measure 60 attention --run attention
    for name in "${first_lists[@]}"; do list "$name"; done
}

second() {
    local file name
    measure 80 gemm-again --run gemm --seed 2
    for file in "$lists"/*.csv; do
        name=$(basename -- "$file" .csv)
        [[ -n ${LISTS:-} || $name != decode-* ]] || continue
        [ -f "$work/lists/$name.raw.csv" ] || list "$name"
    done
}

# rehearse need not be on the GPU's machine.
profile() {
    local rehearse=${REHEARSE:-$root/build/rehearse} fit=(calibrate) name
    for name in gemm stream attention; do
        [ ! -f "$work/$name.raw.csv" ] || fit+=(--from "$work/$name.raw.csv")
    done
    if [ -x "$rehearse" ]; then
        "$rehearse" "${fit[@]}" -o "$work/profile.json" || failed=1
        "$rehearse" validate --run step --from "$work/lists" --profile "$work/profile.json" || failed=1
        keep
    else
        printf '\nOn a machine with rehearse, where %s is unpacked:\n' "$out/gpu.tgz"
        printf '  rehearse calibrate --from gemm.raw.csv --from stream.raw.csv --from attention.raw.csv -o profile.json\n'
        printf '  rehearse validate --run step --from lists --profile profile.json\n'
    fi
}

case $half in
first | second | all) ;;
*) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit 3 ;;
esac
mkdir -p -- "$work/lists" "$out"
includes=()
lists=${LISTS:-$root/bench/kernel-lists}
find_gpu
find_wheels
build
[ "$half" = second ] || first
[ "$half" = first ] || second
say "measured: $(cat "$work"/*.raw.csv "$work"/lists/*.raw.csv 2>/dev/null | grep -c '^[a-z]') rows, in $out/gpu.tgz"
profile
exit "$failed"
