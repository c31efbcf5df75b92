#!/usr/bin/env bash
# docs/guide/cli.md names every option and every key of an answer: what it does not name would be printed.
page=$CASES/../../docs/guide/cli.md
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
for command in plan simulate capacity sweep serve-plan serve-simulate explain collective check show compare report calibrate validate; do
    rehearse "$command" -h | sed -nE 's/^ +(-[a-z], +)?(--[a-z0-9-]+).*/\2/p'
done | sort -u | while read -r option; do
    grep -qF -- "\`$option\`" "$page" || echo "not in docs/guide/cli.md: $option"
done
echo '{"workload": "tiny-llama.json", "layout": "tp2", "nodes": "1", "global_batch": 32, "sequence": 1024}' >other.json
rehearse plan "${job[@]}" --top 2 -o plan.json -q >plan.txt
rehearse simulate "${job[@]}" -s tp2 -o one.json >one.txt
rehearse simulate "${job[@]}" --gpus 2 -s tp2 --on 0 --beside other.json -o two.json >two.txt
rehearse simulate --program "$CASES/inputs/chakra/step.0.et" -p two-nodes.json -o five.json >five.txt
rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --lengths in=100,out=10 --concurrency 4 --ttft 'p99<9s' -o six.json >six.txt
rehearse serve-plan -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --find-rate --lengths in=1000,out=100 --count 3000 --ttft 'p99<9s' -o seven.json -q >seven.txt
rehearse capacity -w tiny-llama.json -p two-nodes.json --tokens 1B --gpus 8 --global-batch 32 --seq 1024 -o eight.json -q >eight.txt
rehearse capacity -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --rate 2/s --lengths in=1000,out=100 --count 3000 --ttft 'p99<9s' -o nine.json -q >nine.txt
rehearse explain plan.json --json >three.json
rehearse compare plan.json#1 plan.json#2 --json >four.json
sed -n 's/^  "\([a-z_0-9]*\)":.*/\1/p' plan.json one.json two.json three.json four.json five.json six.json seven.json eight.json nine.json | sort -u | tee keys |
    while read -r key; do
        grep -qF "\`$key\`" "$page" || echo "not in docs/guide/cli.md: $key"
    done
[ "$(wc -l <keys)" -gt 40 ] && echo 'all keys looked for'
# What is written inside of answers, by the sources that write them; a Gantt chart's own data and a template are none.
find "$CASES/../../report" "$CASES/../../cli" -name '*.c' | sort | while read -r source; do
    case $source in */gantt.c | */text_device.c) ;; *) cat "$source" ;; esac
done | tr -d '\n' | grep -oE '\b(rh_json_(put|begin)_[a-z_]+|rh_put_[a-z_]+|put_[a-z_]+)\(w, *"[a-zA-Z0-9_]+"' |
    sed 's/.*"\(.*\)"/\1/' | sort -u | tee keys | while read -r key; do
    grep -qF "\`$key\`" "$page" || echo "not in docs/guide/cli.md: $key"
done
[ "$(wc -l <keys)" -gt 400 ] && echo 'all keys of the sources looked for'
# An option goes before the environment.
for when in never auto always; do
    NO_COLOR=1 rehearse plan "${job[@]}" --top 1 -q --color "$when" | head -n 1 | grep -c "$(printf '\033')"
done
# --version lists every schema that the sources write, and no other.
grep -rohE '"rehearse\.[a-z-]+/[0-9]+"' "$CASES"/../../{accuracy,base,calibrate,cli,platforms,report,sim,strategies,sweep,validate,workloads} \
    --include='*.c' --include='*.h' | tr -d '"' | sort -u >written
rehearse --version --json | grep -o 'rehearse\.[a-z-]*/[0-9]*' | sort -u | diff written - && echo 'all schemas listed'
