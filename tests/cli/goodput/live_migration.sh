#!/usr/bin/env bash
# Machines that are moved while they run, as they are and compressed; what is refused.
moves='every=7d,moves=512GB,link=25GB/s,dirty=10GB/s'
job=(run -w llama-3.1-8b -p dgx-h100:4 --global-batch 64 --seq 4096 --step-time 2s --tokens 100B -s 'tp1,dp32,mb1,zero1')
rehearse "${job[@]}" --maintenance "$moves" | sed -n '/^maintenance/,/counted/p'
rehearse "${job[@]}" --maintenance "$moves,packed=55.9%,pack=60GB/s" --json | sed -n '/"migration"/,/}/p'
rehearse "${job[@]}" --maintenance "$moves,lasts=1h" 2>&1 || echo "exit $?"
rehearse "${job[@]}" --maintenance 'every=7d,lasts=1h,dirty=1GB/s' 2>&1 || echo "exit $?"
