#!/usr/bin/env bash
# Requests that are looked up in an index of vectors first; what is refused. Pictures drawn in passes; streamed weights
# without prefetch.
index=${REHEARSE_DATA:-$CASES/../..}/docs/guide/founding-systems/diskann-sift1b.json
job=(-w llama-3.1-8b -p dgx-h100:1 -s tp1 --lengths 'in=512,out=32' --rate 20/s --count 400 -q)
rehearse serve-simulate "${job[@]}" --index "$index"
rehearse serve-simulate "${job[@]}" --index "$index" --json | sed -n '/"search": {/,/^  }/p'
rehearse serve-simulate "${job[@]}" --index "$index" --mtbf 1h 2>&1 || echo "exit $?"
sed 's/"tier": "ssd"/"tier": "tape"/; s/"hops": 25/"hops": 0/' "$index" >wrong.json
rehearse serve-simulate "${job[@]}" --index wrong.json 2>&1 || echo "exit $?"
wrong=(-w llama-3.1-8b -p dgx-h100:1 --lengths 'in=512,out=32' --rate 20/s --count 400 -q)
picture=(-w stable-diffusion-unet -p dgx-a100:1 --lengths in=1 --concurrency 1 --count 3 --dtype fp16 -q)
rehearse serve-simulate "${picture[@]}" -s 'server=triton,batch=1,passes=50,guidance=on' | head -8
rehearse serve-simulate "${wrong[@]}" -s tp1,passes=2 2>&1 || echo "exit $?"
rehearse serve-simulate "${wrong[@]}" -s tp1,prefetch=off 2>&1 || echo "exit $?"
rehearse check "$index" wrong.json 2>&1 | sed "s|^$index|diskann-sift1b.json|"
