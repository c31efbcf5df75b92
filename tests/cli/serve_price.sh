#!/usr/bin/env bash
# What tokens of a planned service cost: of those made, read, and both; and the check of it, which has the same price.
on=(-w llama-3.1-8b -p dgx-h100 --gpus 1 -s "tp1,batch=64,chunk=1024" --lengths 'in=1024,out=128' --count 2000 --ttft 'p99<1s' -q)
rehearse serve-plan "${on[@]}" --find-rate --price 2.4USD@2026-11 | tee plan.txt | sed -n '1,3p;/^next/,$p'
sed -n '/^next: /,$p' plan.txt | sed 's/^next: //' | bash | sed -n '3p'
for price in free -1USD dgx-b200=2USD; do
    rehearse serve-plan "${on[@]}" --find-rate --price "$price" 2>&1
    echo "exit $?"
done
