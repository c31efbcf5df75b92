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
# A price is said in one way to every command.
price=(-w llama-3.2-1b -p dgx-h100:1 --global-batch 16 --seq 2048 -s mb1 -q)
rehearse simulate "${price[@]}" --price 2USD@2026-11 | grep -E '^(cost|price)'
rehearse run "${price[@]}" --tokens 1B --price dgx-h100=2USD | grep 'GPU-hours'
rehearse simulate "${price[@]}" --price dgx-a100=2USD 2>&1
rehearse simulate "${price[@]}" --price 2USD --set price_per_gpu_hour=3USD 2>&1
rehearse simulate "${price[@]}" --price 0 2>&1 || true
