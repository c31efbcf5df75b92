#!/usr/bin/env bash
# What of a service's kernels was never measured is told, beside its error bar: experts without a table, prompts longer
# than the table's.
rehearse serve-simulate -w gpt-oss-120b -p dgx-a100:1 --dtype mxfp4-experts -s server=vllm,tp2 --lengths in=1024,out=256 --concurrency 8 --count 40 -q | grep -A 1 '^warning'
rehearse serve-simulate -w gpt-oss-120b -p dgx-b200:1 --dtype nvfp4 -s server=trtllm,tp1 --lengths in=1024,out=256 --concurrency 8 --count 40 -q | grep -c '^warning' || true
rehearse serve-simulate -w llama-3.1-8b -p dgx-h100:1 -s tp1 --lengths in=100000,out=64 --concurrency 2 --count 10 --json | sed -n '/^  "watch"/,/^  ]/p'
rehearse serve-plan -w gpt-oss-120b -p dgx-a100:1 --gpus 2 --dtype mxfp4-experts -s server=vllm,tp2,batch=64,chunk=8192 --rate 8/s --lengths in=512,out=64 --ttft 'p90<5s' --error-bar none -q | grep -A 1 '^warning'
