#!/usr/bin/env bash
# A machine that lends few descriptors, as one that lends few processes: fewer are at work and the answer is the same,
# or there is none, at once and in a sentence.
job=(-w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 128)
requests=(--lengths 'in=64,out=8' --rate 4/s --count 402)
# The program itself: a shell that calls it needs descriptors of its own.
binary=$(sed -nE 's/^exec .*"([^"]+)" "\$@"$/\1/p' "$REHEARSE")
limited() {
    local descriptors=$1
    shift
    # Whoever runs the tests may have left some open.
    (
        for descriptor in /proc/self/fd/*; do
            [ "${descriptor##*/}" -le 2 ] || eval "exec ${descriptor##*/}>&-"
        done
        exec timeout 60 prlimit --nofile="$descriptors" "$binary" "$@" -q 2>&1
    )
    echo "exit $?"
}
rehearse plan "${job[@]}" --top 1 --json -q | grep -v '^ *"argv"' >all.json
limited 5 plan "${job[@]}" --top 1 --json | grep -v '^ *"argv"' >few.json
head -c -7 few.json | cmp - all.json && tail -n 1 few.json
limited 4 plan "${job[@]}"
limited 4 capacity -w "$CASES/inputs/tiny-llama.json" -p dgx-h100 --gpus 8,16 --tokens 1B --seq 128 --price 2USD -j 2
limited 4 serve-plan -w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 "${requests[@]}" --ttft 'p99<1s'
limited 4 simulate "${job[@]}" -s tp1
