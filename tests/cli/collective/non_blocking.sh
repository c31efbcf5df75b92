#!/usr/bin/env bash
# Collectives that do not block: overlap as OSU's benchmarks count it, of MPI, of NCCL, and what is refused.
rehearse collective iallreduce -p frontera:16 --ranks 16 --size 1K..16M -o i.csv
head -3 i.csv
rehearse collective ialltoall -p frontera:16 --size 64K,1M --tests 100 --json | sed -n '/"sizes"/,$p'
rehearse collective iall-gather -p dgx-h100:4 --size 1M,1G | sed -n '1,/^$/p;/GiB/p'
rehearse collective iscatter -p dgx-h100:4 --size 1M | sed -n '/MiB/p'
rehearse collective ilatency -p frontera:16 || echo "exit $?"
rehearse collective all-reduce -p frontera:16 --tests 5 || echo "exit $?"
