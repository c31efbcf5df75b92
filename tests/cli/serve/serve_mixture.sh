#!/usr/bin/env bash
# A mixture whose degrees are searched: what its error bar rests on is asked of a deployment before one is known.
rehearse serve-plan -w mixtral-8x7b -p dgx-h100:1 --lengths in=128,out=32 --rate 1/s --tpot 'p99<100ms' --count 400 -q |
    sed -n '1,2p;/^model error/,/^[a-z]*:/p'
