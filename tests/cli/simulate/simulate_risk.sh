#!/usr/bin/env bash
# Memory is a matter of odds in simulate, too: what fits may run out, --limit and --risk say how much is
# asked for, and the exit status whether it is kept.
job=(-w llama-3.2-1b -p h100-sxm:1x1 --global-batch 20 --seq 4608 -q)
ask() {
    echo "== $*"
    rehearse simulate "${job[@]}" "$@" >out 2>&1
    echo "exit $?"
    grep -E 'MFU|^error:|^help|^memory' out
}
ask -s mb4
ask -s mb5
ask -s mb5 --risk 5%
ask -s mb5 --risk 0%
ask -s mb5 --risk 60%
ask -s mb4 --risk 5%
ask -s mb5 --limit 'memory<=100%'
ask -s mb4 --limit 'memory<=50%'
ask -s mb10 --limit 'memory<=100%'
ask -s mb4 --limit 'tp<=4'
ask -s mb4 --limit 'memory>=50%'
rehearse simulate "${job[@]}" -s mb4 --risk 5% --beside x.json 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" -s mb5 --json 2>/dev/null | grep -E '"(fits|odds_frac|memory_safe_bytes|memory_peak_bytes)"'
# What would win is asked with the same words.
rehearse simulate "${job[@]}" -s mb4 --limit 'memory<=60%' -o run.json >/dev/null
rehearse explain run.json -q --what-if recompute=full | grep -E 'best now|still the best|of the plan'
rehearse simulate "${job[@]}" -s mb4 -o run.json >/dev/null
rehearse explain run.json -q --what-if recompute=full | grep -E 'best now|still the best|of the plan'
# What is much quicker and less sure is a row.
rehearse plan "${job[@]}" --stack aleph --fix mb=2 --risk 0.001% | grep -E '^best|^ +(#|[0-9!-]) |^!|^ +[0-9.]+ of'
