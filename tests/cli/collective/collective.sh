#!/usr/bin/env bash
# Times of collectives by size: fitted links, a log beside them, files, and refusals.
cp "$CASES/../data/nccl-a100-2x8.log" log
rehearse collective all-reduce -p dgx-h100 --size 1M,64M,8G
rehearse collective allgather -p dgx-h100:8 --ranks 32 --size 1M..4M --json | grep -vE '"(version|argv)"'
rehearse collective all-reduce -p dgx-a100-40:2 --from log -o rates.csv -o rates.svg
head -n 2 rates.csv
grep -c '<circle' rates.svg
echo 'refused:'
rehearse collective all-reduse -p dgx-h100 || echo "exit $?"
rehearse collective barrier -p dgx-h100 --size 8 || echo "exit $?"
rehearse collective latency -p dgx-h100 --ranks 4 || echo "exit $?"
rehearse collective put -p dgx-h100 --from log || echo "exit $?"
rehearse collective all-reduce -p dgx-h100 --size 8G..1M || echo "exit $?"
rehearse collective all-reduce -p dgx-h100 --size 0 || echo "exit $?"
rehearse collective all-reduce -p dgx-h100 --size 1e300B || echo "exit $?"
rehearse collective all-reduce -p dgx-h100 --size 12parsecs || echo "exit $?"
rehearse collective all-reduce -p dgx-h100 --ranks 9 || echo "exit $?"
rehearse collective all-reduce -p dgx-h100:2 --ranks 9 || echo "exit $?"
rehearse collective all-reduce -p dgx-h100 --from log || echo "exit $?"
rehearse collective all-reduce -p dgx-a100-40:2 --from log --size 1M || echo "exit $?"
echo 'libraries:'
rehearse collective all-reduce -p frontera:16 --library mvapich --size 4K,1M -v
rehearse collective all-reduce -p frontera:16 --library mvapich-x --size 1M
rehearse collective all-reduce -p mi300x --size 64K,1G
rehearse collective all-reduce -p dgx-h100 --library mvapisch || echo "exit $?"
echo 'messages, and what OSU times beside collectives:'
for operation in latency bandwidth bidirectional put get; do
    rehearse collective "$operation" -p frontera:2 --size 8,4K,4M -q | sed -n '1,6p'
done
rehearse collective latency -p dgx-h100 --size 8,1M -q | sed -n '1,5p'
for operation in reduce scatter gather barrier; do
    rehearse collective "$operation" -p frontera:16 -o times.csv -q | sed -n 1p
    tail -n 1 times.csv
done
rehearse collective latency -p frontera:2 --size 8 --call 1us
rehearse collective iallreduce -p frontera:2 --call 1us || echo "exit $?"
