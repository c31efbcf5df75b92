#!/usr/bin/env bash
# What a service did, as a program: rehearsed, it takes as long as the service said.
ask=(--lengths 'in=4096,out=16,spread=0.5' --rate 8/s --count 24)
rehearse serve-simulate -w llama-3.1-8b -p h100-sxm:1x4,ib:100Gb/s -s tp1,replicas=3/tp1 "${ask[@]}" \
    -o pools.program.json | sed -n '/^done/,/^servers/p'
rehearse simulate --program pools.program.json -p h100-sxm:1x4,ib:100Gb/s | head -n 12
rehearse serve-simulate -w llama-3.1-8b -p h100-sxm:2x2,ib:400Gb/s -s tp4 "${ask[@]}" \
    -o ranks.program.json | sed -n '/^done/,/^servers/p'
rehearse simulate --program ranks.program.json -p h100-sxm:2x2,ib:400Gb/s | head -n 12
rehearse serve-simulate -w llama-3.1-8b -p h100-sxm:2x2,ib:400Gb/s -s tp2,pp2 "${ask[@]}" \
    -o stages.program.json 2>&1
echo "exit $?"
