#!/usr/bin/env bash
# Recipes of number formats: what there is, what each makes narrow, and who can run it.
rehearse show recipes
rehearse show recipe nvfp4
rehearse show recipes fp4 2>&1
job=(-w llama-3.1-8b --global-batch 32 --seq 8192 -s "tp2,mb1")
rehearse simulate "${job[@]}" -p dgx-h100 --dtype nvfp4 2>&1
# Hopper has units for fp8, and none that scale blocks of 32: in training and in serving alike.
rehearse simulate "${job[@]}" -p dgx-h100 --dtype mxfp8 2>&1
rehearse serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1 --dtype mxfp8 --rate 1/s --lengths in=100,out=10 2>&1
rehearse plan -w llama-3.1-8b --global-batch 32 --seq 8192 -p dgx-b200 --fix tp=2 --dtype nvfp4 --emit megatron |
    grep -oE -e '--fp4-[a-z]+ [a-z0-9]+'
step() { rehearse simulate "${job[@]}" -p dgx-b200 --dtype "$1" --json | sed -n 's/^  "step_time_s": \(.*\),/\1/p'; }
# Narrower is quicker; scales looked for first cost a read more; a sixteenth of scales more than a 32nd.
printf '%s\n' "$(step bf16)" "$(step fp8)" "$(step nvfp4)" | sort -rn -c && echo 'bf16 > fp8 > nvfp4'
printf '%s\n' "$(step fp8-current)" "$(step mxfp8)" "$(step fp8)" | sort -rn -c && echo 'fp8-current > mxfp8 > fp8'
# An MFU is of the format's own peak, and says so where that is not bf16's.
for dtype in bf16 fp8; do
    rehearse simulate "${job[@]}" -p dgx-b200 --dtype $dtype -q -o $dtype.json -o $dtype.md | grep MFU
    grep MFU $dtype.md
done
rehearse compare bf16.json fp8.json | grep MFU
rehearse plan -w llama-3.1-8b --global-batch 32 --seq 8192 -p dgx-b200 --fix tp=2 --dtype fp8 -q | grep -A1 'MFU  '
