#!/usr/bin/env bash
# Where ranks talk over TCP the bounds are estimates: nothing is called proved. A profile and the
# network's description; compared timelines.
cp "$CASES/../../validate/data/lab-gpt.json" .
job=(-w lab-gpt.json -p lab-2x4 --stack lab --global-batch 16 --seq 256)
rehearse plan "${job[@]}" --top 3 | head -n 15
printf '%s\n' 'kind,source,destination,bytes,seconds' >pings.csv
for bytes in 4 64 1024 8192 65536 262144 1048576; do
    printf 'trip,0,4,%d,%s\n' "$bytes" "$(awk -v n="$bytes" 'BEGIN { print 2e-4 + n / 12.4e6 }')"
done >>pings.csv
rehearse calibrate -p lab-star --from pings.csv -o profile.json
rehearse simulate "${job[@]}" -s tp2,pp2 --profile profile.json -o a.trace.json.gz | head -n 2
rehearse simulate "${job[@]}" -s tp2,pp2 -o b.trace.json.gz | head -n 1
rehearse compare a.trace.json.gz b.trace.json.gz | head -n 8
rehearse validate --lab lab-star | tail -n 2
rehearse validate --suite mpi-large 2>&1
echo "exit $?"
rehearse calibrate -p lab-star --from profile.json 2>&1
echo "exit $?"
