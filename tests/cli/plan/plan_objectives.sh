#!/usr/bin/env bash
# What is best by something else than time: signs of who is quicker, and prices with their month.
job=(-w llama-3.1-8b -p dgx-h100:2 --global-batch 128 --seq 8192)
rehearse plan "${job[@]}" --objective memory --top 3 -q | grep '^best layout of each kind'
old=(--set price=2USD@2024-01)
rehearse plan "${job[@]}" --objective cost --top 3 -q "${old[@]}" | grep -A 1 -E '^ *[0-9.]+ USD|^price'
rehearse simulate "${job[@]}" -s mb1,zero2 -q "${old[@]}" | grep -A 2 '^cost'
rehearse simulate "${job[@]}" -s mb1,zero2 -q --set price_per_gpu_hour=2USD | grep -A 1 '^cost'
rehearse simulate "${job[@]}" -s mb1,zero2 -q --set price=2USD@2024-13 2>&1
echo "exit $?"
# A degree that all rows share stands below them.
rehearse plan -w llama-3.1-8b -p dgx-h100:4 --global-batch 32 --seq 131072 --top 2 -q | sed -n '4,7p'
