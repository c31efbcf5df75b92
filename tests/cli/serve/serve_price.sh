#!/usr/bin/env bash
# What tokens of a planned service cost: of those made, read, and both; and the check of it, which has the same price.
on=(-w llama-3.1-8b -p dgx-h100 --gpus 1 -s "tp1,batch=64,chunk=1024" --lengths 'in=1024,out=128' --count 2000 --ttft 'p99<1s' -q)
rehearse serve-plan "${on[@]}" --find-rate --price 2.4USD@2026-11 | tee plan.txt | sed -n '1,3p;/^next/,$p'
sed -n '/^next: /,$p' plan.txt | sed 's/^next: //' | bash | sed -n '3p'
for price in free -1USD dgx-b200=2USD; do
    rehearse serve-plan "${on[@]}" --find-rate --price "$price" 2>&1
    echo "exit $?"
done
# A name stands for all counts of its nodes, but not before one that says the count.
rehearse serve-plan "${on[@]/dgx-h100/dgx-h100:2}" --find-rate --price dgx-h100:2=3USD --price dgx-h100=2.4USD | sed -n 3p
rehearse capacity -w llama-3.1-8b -p dgx-h100:2,dgx-h200:1 --rate 2/s --lengths in=1024,out=128 --ttft 'p99<1s' -s tp1,batch=64,chunk=1024 -q \
    --price dgx-h100=2.4USD --price dgx-h200=3USD | head -n 2
