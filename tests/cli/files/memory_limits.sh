#!/usr/bin/env bash
# How full a GPU may be: what is out of range is explained, what changes nothing is told, bytes are understood.
job=(-w llama-3.2-1b -p h100-sxm:1x1 --global-batch 20 --seq 4608)
ask() {
    echo "\$ $*"
    rehearse "$1" "${job[@]}" "${@:2}" 2>err >out
    echo "exit $?"
    cat err
    grep -E 'MFU|^no layout|^memory:' out
}
for risk in -1 150% 7 many 5GiB; do
    ask simulate -s mb4 --risk "$risk"
done
ask simulate -s mb5 --risk 20%
ask simulate -s mb5 --risk 5%
ask simulate -s mb5 --risk 60%
ask simulate -s mb5 --risk 60% --limit 'memory<=90%'
for limit in 200GiB 79.5GiB 79GiB 60GiB 0.06TiB 0B 70 150%; do
    ask simulate -s mb5 --limit "memory<=$limit"
done
ask plan --limit 'memory<=200GiB' --quick --top 1
ask plan --limit 'memory<=1GiB' --quick --top 1
ask plan --risk 0% --quick --top 1
rehearse plan "${job[@]}" -q --fix mb=4 --limit 'memory<=20GiB' | sed -n '/help\|without/p'
# None may run out: not the default.
cell=(capacity -w llama-3.2-1b -p h100-sxm:1x1 --gpus 1 --seq 4608 --global-batch 20 --tokens 1B -q --json)
for risk in 0% 60%; do
    rehearse "${cell[@]}" --risk "$risk" | grep -m 1 '"memory_peak_bytes"'
done
