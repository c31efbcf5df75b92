#!/usr/bin/env bash
# A layout of more tasks than a rehearsal holds is left out and counted; the others are ranked. Where
# there is no other, the bounds are told as bounds.
job=(-w gpt2 -p h100-sxm:1x1 --global-batch 1048576 --seq 1)
rehearse plan "${job[@]}" --fix mb=1
echo "exit $?"
rehearse plan "${job[@]}" --fix mb=1 --quick --top 1 | head -n 6
rehearse plan "${job[@]}" --limit 'mb>=1024' --top 1 | head -n 1
rehearse plan "${job[@]}" --fix mb=1 --json | grep -E '"(too_large|proved)"'
# The bound is the segment graph's, where that is not too large itself.
rehearse plan -w llama-3.1-405b -p dgx-h100:128 --global-batch 4096 --seq 4096 --fix tp=8 --fix pp=128 --fix mb=1 \
    --fix recompute=none --limit 'memory<=100%' | grep 'a step'
printf '\n--quick takes what bounds of a step alone say, whatever it holds:\n'
rehearse plan -w llama-2-70b -p dgx-h100:32 --global-batch 268435456 --seq 4096 --top 2 --quick \
    --fix tp=4 --fix pp=32 --fix mb=1 | sed 's/in [0-9.]* s;/in T s;/'
