#!/usr/bin/env bash
# Prices of spot nodes that change while a run goes on: money by hand is 44.4 + 66.7 + 6.6 dollars.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --tokens 20B --step-time 0.1s -s 'tp4,mb1' -q
    --mtbf 1000d --detection 1min --policy shrink)
cat >prices.csv <<'END'
seconds,instances,usd_per_gpu_hour
0,2,1.00
20000,,3.00
30000,1,
40000,2,0.50
END
printf 'seconds,instances,usd_per_gpu_hour\n0,2,free\n' >free.csv
rehearse run "${job[@]}" --spot prices.csv | sed -n '1p;3p'
rehearse run "${job[@]}" --spot prices.csv,price=1USD || echo "exit $?"
rehearse run "${job[@]}" --spot free.csv || echo "exit $?"
