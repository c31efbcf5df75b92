#!/usr/bin/env bash
# A GPU's constants from raw samples (synthetic ones), the profile in use, and what is refused.
cp "$CASES/../data/synthetic-kernels.raw.csv" .
printf 'kind,source,destination,bytes,seconds\n' >pings.csv
raw=synthetic-kernels.raw.csv
rehearse calibrate --from "$raw" --device h200-sxm -o gpu.json
echo "exit $?"
rehearse check gpu.json
job=(-w llama-3.2-1b --global-batch 8 --seq 2048)
rehearse plan "${job[@]}" -p dgx-h200 --quick --profile gpu.json -o plan.json -v | tail -n 8
rehearse explain plan.json --term compute -v | grep -B3 -A6 "^ *launch  "
head -c 9000 "$raw" >cut.csv
rehearse calibrate --from cut.csv --device h200-sxm --holdout 0% | tail -n 2
echo "exit $?"
# Refused: another GPU's platform, a device that the samples do not tell, other files, options.
rehearse plan "${job[@]}" -p dgx-h100 --quick --profile gpu.json 2>&1
echo "exit $?"
rehearse calibrate --from "$raw" 2>&1
echo "exit $?"
rehearse calibrate --from "$raw" -d a100-sxm-80 2>&1
echo "exit $?"
sed '20s/,own,9,[^,]*/,own,9,fast/' "$raw" >wrong.csv
rehearse calibrate --from wrong.csv -d h200-sxm 2>&1
echo "exit $?"
rehearse calibrate --from "$raw" "$CASES/inputs/layout.txt" 2>&1
echo "exit $?"
rehearse calibrate --from "$raw" --holdout 80% 2>&1
echo "exit $?"
# Files behind --tables are tables, too.
rehearse calibrate -d h200-sxm --tables "$raw" nowhere.csv 2>&1
echo "exit $?"
rehearse calibrate -d h200-sxm --tables nowhere.csv "$raw" 2>&1
echo "exit $?"
rehearse calibrate --from pings.csv --tables "$raw" -d h200-sxm -p lab-star 2>&1
echo "exit $?"
rehearse calibrate --run 2>&1
echo "exit $?"
rehearse calibrate --run gemm,pingpong -o x.json 2>&1
echo "exit $?"
# A profile of the catalogue, by its name.
rehearse plan "${job[@]}" -p dgx-h200 --quick --profile h200-sxm-trtllm-1.3.0rc20 -v 2>&1 | grep '^profile'
rehearse plan "${job[@]}" -p dgx-h200 --quick --profile h200-sxm 2>&1
echo "exit $?"
# Measuring: a stand-in for the program that needs a GPU.
mkdir path
cat >path/rehearse-kernels <<END
#!/usr/bin/env bash
echo "called: \$*" >&2
[ "\$KIND" != none ] || exit 4
cp "$PWD/$raw" "\$2"
[ "\$KIND" != early ] || exit 1
END
chmod +x path/rehearse-kernels
export REHEARSE_KERNELS=$PWD/path/rehearse-kernels
KIND=none rehearse calibrate --run -d h200-sxm -o x.json 2>&1
echo "exit $?"
KIND=early rehearse calibrate --run gemm,allreduce --budget 2m -d h200-sxm -o x.json 2>&1 | head -n 3
cmp x.raw.csv "$raw" && rehearse check x.json | head -n 1
# Nobody waits for a program that hangs, and nothing of it is left.
printf '#!/bin/sh\necho $$ >pid\nsleep 1000\n' >path/rehearse-kernels
rehearse calibrate --run -d h200-sxm -o x.json --timeout 300ms 2>&1
echo "exit $?"
kill -0 "$(cat pid)" 2>/dev/null && echo 'it still runs'
rm pid
rehearse calibrate --run -d h200-sxm -o x.json 2>/dev/null &
disown # bash would tell of its death
while [ ! -s pid ]; do sleep 0.05; done
kill -KILL $!
for _ in {1..100}; do kill -0 "$(cat pid)" 2>/dev/null && sleep 0.05 || exit 0; done
echo 'it still runs'
