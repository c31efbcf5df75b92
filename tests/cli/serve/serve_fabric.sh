#!/usr/bin/env bash
# The best two pools are others where the fabric between them is half as fast.
for link in 50Gb/s 25Gb/s; do
    rehearse serve-plan -w llama-3.1-8b -p "h100-sxm:1x4,ib:$link" -s chunk=2048,batch=32 --mode disagg \
        --lengths in=4096,out=64,spread=0.8 --find-rate --count 1000 --ttft 'p99<1s' --tbt 'p99<9ms' --error-bar none -q | head -n 14
done
