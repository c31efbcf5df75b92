#!/usr/bin/env bash
# Programs that others made: ours from a file, GOAL, Chakra traces; and what is wrong with them.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
cp "$CASES"/inputs/chakra/step.*.et .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 8 --seq 1024 --stack bare)
rehearse simulate "${job[@]}" -s tp2,pp2,mb1 -o step.program.json -o step.goal | head -n 1
rehearse simulate --program step.program.json -p two-nodes.json
rehearse simulate --program step.goal -p two-nodes.json
rehearse simulate --program step.2.et -p two-nodes.json --trace run.trace.json.gz -o run.json
gzip -t run.trace.json.gz && echo trace is gzip
grep -E '"(schema|format|ranks_count|bound_by|left_out_count)"' run.json
gzip step.0.et step.1.et step.2.et step.3.et
rehearse simulate --program step -p two-nodes.json | head -n 1
cp "$CASES"/inputs/chakra/step.0.et alone.et
rehearse simulate --program alone.et -p dgx-h100 --gpus 8 -v | head -n 12
rehearse simulate --program alone.et -p dgx-h100 --gpus 8 --stack bare | head -n 3
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
printf 'num_ranks 2\nrank 0 {\n  a: send 100b to 1 tag 1\n}\nrank 1 {\n}\n' >lost.goal
printf 'num_ranks 1\nrank 0 {\n  a: calc 10\n  b: calc 20\n  a requires b\n  b requires a\n}\n' >ring.goal
printf '[{"id": 1, "type": "CHECKPOINT_NODE"}]' >type.json
printf '[{"id": 7, "type": "COMP_NODE", "data_deps": [8]}]' >deps.json
head -c 100 alone.et >cut.et
rm step.1.et.gz
for file in lost.goal ring.goal type.json deps.json cut.et step.0.et.gz nosuch.goal two-nodes.json; do
    try simulate --program $file -p two-nodes.json
done
try simulate --program lost.goal -s tp2 -p two-nodes.json
printf '[]' >nothing.json
try simulate --program nothing.json -p two-nodes.json -q
try simulate --program alone.et -p two-nodes.json --set layers=2
try simulate -p two-nodes.json
