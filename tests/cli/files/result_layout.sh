#!/usr/bin/env bash
# A layout in a result reads as on the command line: what is left out takes its default, what no
# knob is called is refused.
job=(-w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 128)
rehearse simulate "${job[@]}" -s tp2,pp2,stages=3-5 -o whole.json >/dev/null
sed '/"layout"/,/}/{/"cp"/d;/"schedule"/d;/"sp"/d;/"order"/d}' whole.json >short.json
for edit in 's/"tp"/"tpp"/' 's/"zero": 1/"zero": 7/' 's/"none"/"some"/' 's/^ *3,$/40000,/'; do
    sed "/\"layout\"/,/}/$edit" whole.json >wrong.json
    rehearse explain wrong.json
    echo exit $?
done 2>&1
for file in whole.json short.json; do
    rehearse explain $file | sed -n '1s/.*#1/#1/p'
done
rehearse explain whole.json --what-if recompute=full | grep -A 1 '^  changed: '
