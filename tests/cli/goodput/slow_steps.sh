#!/usr/bin/env bash
# Steps that are slow now and then, and steps that change.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --tokens 20B -q)
try() {
    printf '$ rehearse run ... %s\n' "$*"
    rehearse run "${job[@]}" "$@" 2>&1
    echo "exit $?"
}
try --step-time 1s --mtbf 1d --stragglers every=12h,slows=25%,lasts=6h --stalls every=1h,lasts=30s |
    sed -n '2p;/where/,/^$/p;/^what/,$p'
try --step-time 1s --mtbf 1d --stragglers every=12h,slows=25%,lasts=6h,found=5min | sed -n '/where/,/^$/p'
try -s tp2 --mtbf 1d | sed -n '/where/,/^$/p'
try -s tp2,mb1 --mtbf 1d --phase tokens=2B,batch=16,seq=512 --phase tokens=8B,drop=50% | sed -n '/phases/,/^$/p'
try --step-time 1s --mtbf 1d --phase tokens=10B,step=0.7s --json | sed -n '/"phases"/,/\]/p'
try -s dp8,zero0,mb1,codec=onebit --mtbf 1d --phase tokens=3B,whole=100% --phase tokens=8B,silent=50% | sed -n '/phases/,/^$/p'
try --step-time 1s --phase tokens=10B,whole=100%
try --step-time 1s --phase tokens=10B,whole=70%,silent=40%
try --step-time 1s --phase tokens=10B,batch=16
try --step-time 1s --phase tokens=30B,step=1s
try --step-time 1s --phase batch=16
try --step-time 1s --stragglers every=1h
try --step-time 1s --stalls lasts=1h
