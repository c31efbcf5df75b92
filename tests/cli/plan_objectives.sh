#!/usr/bin/env bash
# What is best by something else than time: signs of who is quicker.
job=(-w llama-3.1-8b -p dgx-h100:2 --global-batch 128 --seq 8192)
rehearse plan "${job[@]}" --objective memory --top 3 -q | grep '^families'
# A degree that all rows share stands below them.
rehearse plan -w llama-3.1-8b -p dgx-h100:4 --global-batch 32 --seq 131072 --top 2 -q | sed -n '4,7p'
