#!/usr/bin/env bash
# A device with matrix units for one 16-bit format alone: the other is told; asked for the right one, or on a
# device that has both, nothing is.
job=(-w llama-3.2-1b --global-batch 16 --seq 512)
for dtype in bf16 fp16; do
    rehearse plan "${job[@]}" -p v100-sxm-32:8x1 --dtype "$dtype" --quick --top 1 | grep -c -A 1 'matrix units'
done
rehearse simulate "${job[@]}" -p t4:4x1 -s tp4,mb1 | grep -A 1 'matrix units'
rehearse simulate "${job[@]}" -p dgx-a100:1 -s tp4,mb1 | grep -c 'matrix units'
rehearse serve-simulate -w llama-3.2-1b -p t4:4x1 -s tp2 --lengths in=128,out=16 --rate 1/s --count 4 | grep -A 1 'matrix units'
