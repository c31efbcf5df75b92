#!/usr/bin/env bash
# A plan is read in one glance: 79 columns and some 40 lines (42), however many words a layout needs.
while read -r model platform batch more; do
    # shellcheck disable=SC2086 # options are words
    rehearse plan -w "$model" -p "$platform" --global-batch "$batch" --seq 4096 $more >plan.txt 2>said.txt
    awk -v what="$model $platform" '
        length($0) > 79 { print what ": " length($0) " columns: " $0 }
        END { if (NR > 42) print what ": " NR " lines" }' plan.txt
    awk 'NR < 4' plan.txt
done <<'END'
qwen3-235b-a22b dgx-b200:16 1024 --fix tp=1
llama-3.1-8b dgx-h100 64
deepseek-v3 dgx-h100:64 4096 --fix pp=8 --fix tp=1
llama-3.1-8b dgx-h100 64 --quick
llama-3.1-70b dgx-h100:1 16 --limit memory<=100%
END
