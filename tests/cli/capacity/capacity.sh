#!/usr/bin/env bash
# Which cluster, how much of it, by when, for how much; and what is refused.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
sed 's/"two-nodes"/"thinner"/; s/"400Gb/"100Gb/' two-nodes.json >thinner.json
job=(-w tiny-llama.json --tokens 20B --seq 1024 -q)
prices=(--price two-nodes.json=2USD@2026-10 --price thinner.json=1.5USD@2020-01)
both=(-p 'two-nodes.json,thinner.json' "${job[@]}" --gpus 4..16 --global-batch 64)
try() {
    printf '$ rehearse capacity %s\n' "$*"
    rehearse capacity "${job[@]}" "$@" 2>&1
    echo "exit $?"
}
rehearse capacity "${both[@]}" "${prices[@]}" -o answer.json -o answer.csv -o answer.md
echo "exit $?"
cut -d, -f1-3 answer.csv
sed -n 's/^  "\([a-z_]*\)":.*/\1/p' answer.json | tr '\n' ' '
grep -A7 '"price"' answer.json | head -8
head -3 answer.md
rehearse capacity "${both[@]}" "${prices[@]}" --json -j 1 >again.json
cmp answer.json again.json && echo 'the same bytes'
rehearse capacity "${both[@]}" "${prices[@]}" --by 1s | head -3
echo "exit ${PIPESTATUS[0]}"
rehearse capacity "${both[@]}" "${prices[@]}" --by 1s --json >by.json
rehearse capacity "${both[@]/#-p/--platforms}" "${prices[@]}" --deadline 1s --json | cmp - by.json && echo 'by other names'
rehearse capacity "${both[@]}" --budget 100USD 2>&1 | tail -2
echo "exit ${PIPESTATUS[0]}"
for wrong in '--gpus 16..4' '--gpus many' '--gpus 8 --global-batch 0' '--gpus 8 --price 2' \
    '--gpus 8 --price other.json=2USD' '--gpus 8 --price 2USD@May' '--gpus 8 --by 3' \
    '--gpus 8 -p two-nodes.json' '--gpus 8 -p nobody.json' '--gpus 8 -o x.svg' '-v'; do
    # shellcheck disable=SC2086
    try -p two-nodes.json $wrong
done
rehearse capacity -w tiny-llama.json -p two-nodes.json --gpus 8 --seq 1024 --tokens 5X 2>&1
echo "exit $?"
# Nothing is a goal too, no list may be empty, and inputs stay what they are.
echo '{}' >own.json
for wrong in '--gpus=' '--gpus 8 --by 0d' '--gpus 8 --budget 0USD' \
    '--gpus 8 -p own.json,two-nodes.json -o own.json'; do
    # shellcheck disable=SC2086
    try -p two-nodes.json $wrong
done
# Time that is up before anything was searched does not say that nothing fits.
rehearse capacity "${both[@]}" --timeout 1ms | grep -E 'time|fit|help'
rehearse serve-plan -w tiny-llama.json -p two-nodes.json --find-rate --lengths in=64,out=16 --ttft 'p99<2s' \
    --tpot 'p99<40ms' --timeout 1ms -q | grep -E 'time|TIME|help'
# One token is one step; a batch of pictures is counted in pictures.
rehearse capacity -w tiny-llama.json -p two-nodes.json --gpus 8 --seq 1024 --global-batch 64 --tokens 1 --json -q |
    sed -n '/"seconds"/s/[^0-9.]//gp; /"step_time_s"/s/[^0-9.]//gp' | uniq | wc -l
rehearse capacity -w resnet-50 -p h100-sxm:8x1 --gpus 8 --tokens 1B | sed -n '/batch/{N;s/;.*//p;}'
# A size that a platform cannot be built at is left out, and said so; where none can, that is an error.
rehearse capacity -w tiny-llama.json -p tpu-v5p --gpus 64..128 --seq 1024 --tokens 1B -q -o torus.json | grep -E '^fewest|left out'
grep -A4 '"left_out"' torus.json
rehearse capacity -w tiny-llama.json -p tpu-v5p --gpus 96 --seq 1024 --tokens 1B -q 2>&1
echo "exit $?"
# What a budget buys, and what can be trained on by a date; rows of formats and of batches; electricity.
rehearse capacity -w tiny-llama.json -p two-nodes.json --seq 1024 -q --gpus 4,8 --global-batch 64 --budget 100USD --price 2USD --price-kwh 0.1USD --pue 1.5 -o buys.md -o buys.csv |
    grep -vE '^( |memory|error|next)'
head -3 buys.md
cut -d, -f2,7,11,26- buys.csv
rehearse capacity -w tiny-llama.json -p two-nodes.json --seq 1024 -q --gpus 8 --global-batch 32,64 --dtype bf16,fp8 --by 1h | sed -n '1,2p;/platform/,/^  \*/p'
rehearse capacity -w tiny-llama.json -p two-nodes.json --seq 1024 -q --gpus 8 --global-batch 64 --tokens 1B --price-kwh 0.1USD | grep -E '^(chea|elec|price)'
# A platform whole; as many nodes as it takes; neither.
rehearse capacity -w tiny-llama.json -p two-nodes.json --seq 1024 -q --global-batch 64 --tokens 1B | sed -n '/platform/,/two/p'
rehearse capacity -w tiny-llama.json -p dgx-h100 --seq 1024 -q --global-batch 1024 --tokens 500B --by 12h | sed -n '1,2p;/platform/,/^  \*/p'
for wrong in '' '--budget 1kUSD --gpus 8' '--price-kwh 0.1USD --tokens 1B --gpus 8 --price thinner.json=2USD' '--tokens 1B --gpus 8 --dtype bf16,fp9' \
    '--tokens 1B --gpus 8 --dtype bf16,bf16'; do
    # shellcheck disable=SC2086
    rehearse capacity -w tiny-llama.json -p two-nodes.json,thinner.json --seq 1024 -q $wrong 2>&1
    echo "exit $?"
done
rehearse capacity -w tiny-llama.json -p dgx-h100 --seq 1024 -q --tokens 1B 2>&1
rehearse capacity -w tiny-llama.json -p dgx-h100 --lengths in=8,out=8 --dtype bf16,fp8 --rate 1/s --ttft 'p99<1s' 2>&1
echo "exit $?"
echo 'a budget names every platform whose price it lacks, of services too:'
rehearse capacity -w tiny-llama.json -p dgx-h100:1,dgx-h200:1 --lengths in=8,out=8 --rate 1/s --ttft 'p99<1s' --by 1d --budget 3M 2>&1
echo "exit $?"
# The launch of a training says the job, and not how many GPUs are compared.
cp "$CASES/inputs/launch/pretrain.sh" .
rehearse capacity --from pretrain.sh -p dgx-h100 --gpus 16 --tokens 1T 2>&1 | grep -E '^(note: pretrain.sh is|fewest|job)'
