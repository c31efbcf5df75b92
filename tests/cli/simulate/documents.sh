#!/usr/bin/env bash
# Documents in samples: packed, they do not see one another; padded, the rest of a sample is lost.
job=(-w llama-3.1-8b -p dgx-h100:1 --global-batch 16 --seq 16384 -q)
try() {
    echo "\$ rehearse simulate ... $*"
    rehearse simulate "${job[@]}" "$@" 2>&1 | grep -E '^(error|note|help|[0-9.]+ m?s/step)'
}
try -s tp8
try -s tp8 --set documents=16384
try -s tp8 --set documents=512
try -s tp8 --set documents=300x5-2000x1
try -s tp8 --set documents=300x5-2000x1 --set packing=off
try -s tp8 --set documents=300x5+2000
try -s tp8 --set packing=perhaps
try -s tp4,cp2
try -s tp4,cp2 --set documents=512
try -s cp8,kv=gather --set documents=300x5-2000x1
try -s cp8,kv=gather --set documents=15
