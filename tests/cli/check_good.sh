#!/usr/bin/env bash
# Every kind of file is told apart by what is in it.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" "$CASES/inputs/layout.txt" .
rehearse check tiny-llama.json two-nodes.json layout.txt
rehearse check tiny-llama.json missing.json --json
echo "exit $?"
