#!/usr/bin/env bash
# The same picture as text and as SVG; more tiers, fewer GPUs, no network.
cp "$CASES/inputs/two-nodes.json" .
rehearse show platforms two-nodes.json -v
rehearse show platforms two-nodes.json -o picture.svg >again.txt && cat picture.svg
rehearse show platforms "$CASES/inputs/two-nodes.json" --set nodes=40
rehearse show platforms two-nodes.json --set nodes=1
