#!/usr/bin/env bash
# Models and ways of sharding of 2026: published steps that nothing was fitted to, each said and fitting.
cp "$CASES/inputs/bridge-2608.csv" bridge.csv
rehearse validate --cases bridge.csv -q 2>&1
echo "exit $?"
rehearse validate --cases bridge.csv -q --json | grep -E '"(strategy|fits)":'
# GPT-3 as MLPerf trained it: weights in fp8 alone, gradients in bf16, no dropout. The layout ran.
{
    echo source,model,layers,hidden,heads,kv_heads,ffn,vocab,seq,gpu,gpus,tp,pp,dp,cp,ep,vpp,microbatch,global_batch,recompute,seqpar,zero,precision,measured_iteration_s
    echo 'MLPerf v4.0,gpt3-175b,96,12288,96,96,49152,51200,2048,H100-80GB,512,4,8,16,1,1,4,2,2304,,1,1,fp8,10.9020'
} >mlperf.csv
rehearse validate --cases mlperf.csv -q --json | grep -E '"(predicted|strategy|fits)":'
