#!/usr/bin/env bash
# Parameters, FLOPs and operators of a configuration.
cp "$CASES/inputs/tiny-llama.json" .
rehearse show workloads tiny-llama.json
rehearse show workloads tiny-llama.json --seq 512 --set layers=2
