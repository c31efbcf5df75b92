#!/usr/bin/env bash
# An MFU below what measured steps on the device have is said; one among them is not, nor one of a device
# on which no such step was measured.
few=(-w llama-3.1-8b --global-batch 64 --seq 512)
rehearse plan "${few[@]}" -p h100-sxm:8x8 --quick --top 1 | grep -A 1 'warning:.*MFU'
rehearse simulate "${few[@]}" -p h100-sxm:8x4 -s tp8,mb1 | grep -A 1 'warning:.*MFU'
rehearse simulate "${few[@]}" -p h100-nvl:8x4 -s tp8,mb1 | grep -o '^warning:.*MFU\|[0-9.]* % MFU'
rehearse simulate -w llama-3.1-8b --global-batch 64 --seq 8192 -p h100-sxm:8x1 -s tp2,mb1 | grep -o '^warning:.*MFU\|[0-9.]* % MFU'
# As data, under a word that stays; and in notes.
rehearse plan "${few[@]}" -p h100-sxm:8x8 --quick --top 1 -q -o plan.json -o plan.md -o plan.html >/dev/null
sed -n '/^  "watch"/,$p' plan.json
tail -n 3 plan.md
grep -c '"kind": "mfu"' plan.html
rehearse simulate "${few[@]}" -p h100-sxm:8x4 -s tp8,mb1 --json | sed -n '/^  "watch"/,/^  ]/p'
rehearse simulate -w llama-3.1-8b --global-batch 64 --seq 8192 -p h100-sxm:8x1 -s tp2,mb1 --json | grep '^  "watch"'
