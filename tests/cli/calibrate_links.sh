#!/usr/bin/env bash
# A cluster's links from the log that nccl-tests leave, its profile in use, and what is refused.
cp "$CASES/../data/nccl-a100-2x8.log" .
log=nccl-a100-2x8.log
rehearse calibrate -p dgx-a100-40:2 --from "$log" -o links.json
echo "exit $?"
rehearse check links.json
gzip -k "$log"
rehearse calibrate -p dgx-a100-40:2 --from "$log.gz" | head -n 1
for platform in dgx-a100-40 dgx-h100:2 lab-star; do
    rehearse calibrate -p "$platform" --from "$log" 2>&1
    echo "exit $?"
done
sed 's/85.58   12.25   22.97/85.58   12.25   2x.97/' "$log" >wrong.log
rehearse calibrate -p dgx-a100-40:2 --from wrong.log 2>&1
echo "exit $?"
grep -v Rank "$log" >hosts.log
rehearse calibrate -p dgx-a100-40:2 --from hosts.log 2>&1
echo "exit $?"
rehearse calibrate --from "$log" 2>&1
echo "exit $?"
rehearse calibrate -p dgx-a100-40:2 --from "$log" "$CASES/../data/synthetic-kernels.raw.csv" 2>&1
echo "exit $?"
