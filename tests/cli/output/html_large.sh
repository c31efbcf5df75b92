#!/usr/bin/env bash
# 131,072 passes, an eighth of a pixel each: a file that slides can hold, and as much of each colour as there was.
rehearse simulate -w llama-3.1-405b -p dgx-h100:64 --global-batch 2048 --seq 8192 -s tp8,pp16,mb1,vpp8 -q \
    -o large-gantt.svg -o large.html >large.txt
for file in large-gantt.svg large.html; do
    [ "$(wc -c <$file)" -lt 1500000 ] || echo "$file: $(wc -c <$file) bytes"
done
grep -c 'are drawn together with their neighbours' large-gantt.svg
for name in forward backward 'pipeline bubble'; do
    drawn=$(sed -n "s/.*data-name=\"$name\".* d=\"\([^\"]*\)\".*/\1/p" large-gantt.svg | head -n 1 | sed 's/[VhM]/\n&/g' |
        awk '/^V/ { head = $0 == "V0" } /^h/ && head { sum += substr($0, 2) } END { print sum }')
    told=$(sed -n '/id="course"/,/<\/script>/p' large.html | sed -n "s/.*\"$name\": *\([0-9.e-]*\).*/\1/p" | head -n 1)
    sed -n 's/.*data-units="\([0-9]*\)" data-span="\([0-9.]*\)".*/\1 \2/p' large-gantt.svg |
        awk -v name="$name" -v drawn="$drawn" -v told="$told" '{
            off = drawn * $2 / $1 / told - 1
            print name, "of a row as long as it was:", (off < 0 ? -off : off) < 0.02 ? "yes" : "no, off by " off }'
done
