#!/usr/bin/env bash
# The page of sliders: in a real browser sliders move the answer, and cells are what `simulate` says of the same layout.
#
#   tests/report/playground_test.sh REHEARSE
#
# Without a Chromium only the size of the page and its cells are looked at.
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rehearse=$(realpath -- "$1")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
export REHEARSE_DATA=$tree
cd -- "$scratch"
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
number() { # KEY FILE: the first number of a key
    grep -o "\"$1\": *[0-9.e+-]*" "$2" | head -n 1 | sed 's/.*: *//'
}

"$rehearse" show playground -o play.html >play.txt
[ "$(wc -c <play.html)" -lt 3000000 ] || fail "the page has $(wc -c <play.html) bytes"
sed -n 's|.*id="data">||p' play.html >play.json

# cell MODEL CLUSTER GPUS PLACE: milliseconds of the step and MiB of the peak, by their places in the document.
cell() {
    tr '{' '\n' <play.json | sed -n "s/^\"model\":$1,\"cluster\":$2,\"gpus\":$3,.*\"cells\":\[\([^]]*\)\].*/\1/p" |
        awk -v RS= -F, -v at="$4" '{ for (i = 1; i < NF; i += 7) if ($i == at) printf "%s %s", $(i + 1), $(i + 5) }'
}
# agrees MODEL CLUSTER GPUS PLACE and the question: the cell is the program's lower bound and peak; a rehearsal takes at most 15 % more.
agrees() {
    local step mib
    read -r step mib <<<"$(cell "$1" "$2" "$3" "$4")"
    [ -n "$mib" ] || fail "no cell $1 $2 $3 $4"
    "$rehearse" simulate -w "$5" -p "$6" --gpus "$7" --global-batch 1024 --seq 4096 -s "$8" --json >run.json 2>/dev/null
    awk -v page="$step" -v bound="$(number bound_segment_s run.json)" -v run="$(number step_time_s run.json)" -v mib="$mib" \
        -v peak="$(number memory_peak_bytes run.json)" 'BEGIN {
            near = page / 1e3 / bound
            exit !(near > 0.999 && near < 1.001 && mib - peak / 1048576 >= 0 && mib - peak / 1048576 < 1 && run >= bound * 0.999 && run < bound * 1.15)
        }' || fail "$5 on $7 of $6, $8: $step ms and $mib MiB, simulate: $(number bound_segment_s run.json) to $(number step_time_s run.json) s, $(number memory_peak_bytes run.json) B"
}
# Places: ((((((tp 4 + pp) 2 + cp) 2 + ep) 2 + zero) 3 + mb) 2 + recompute, by index.
agrees 1 1 1 194 llama-3.1-8b dgx-h100 64 tp2,pp1,cp1,ep1,zero1,mb2,recompute=none
agrees 0 0 0 0 llama-3.2-1b dgx-a100 8 tp1,pp1,cp1,ep1,zero1,mb1,recompute=none
agrees 2 2 1 385 llama-3.1-70b dgx-b200 64 tp4,pp1,cp1,ep1,zero1,mb1,recompute=full
agrees 2 1 2 672 llama-3.1-70b dgx-h100 256 tp8,pp4,cp1,ep1,zero1,mb1,recompute=none

browser=
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    browser=$(command -v "$name") && break
done
[ -n "$browser" ] || {
    [ "$failed" = 0 ] || exit 1
    echo 'cells agree; the browser is skipped: no chromium here (Debian: apt-get install chromium-headless-shell)'
    exit 0
}
browse() { # PAGE: its document is in dom, what it logs in log
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$scratch/profile" --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$scratch/$1" >dom 2>log
}
browse play.html || true
grep -q 'data-ready="yes"' dom || fail 'its script did not end'
! grep -i 'CONSOLE' log || fail 'the console has something to say'
sed '/http-equiv="Content-Security-Policy"/d' play.html >played.html
cat >>played.html <<'END'
<script>
const said = [], at = (id) => document.getElementById(id);
const move = (id, value) => { at(id).value = value; at(id).dispatchEvent(new Event("input")); };
const figures = () => [...document.querySelectorAll("#cards .figure")].map((node) => node.textContent).join(" | ");
move("model", 1); move("cluster", 1); move("gpus", 1); move("tp", 1); move("mb", 1);
said.push(`8B: ${figures()}`);
said.push(at("command").textContent);
move("tp", 2);
said.push(`moved: ${figures() !== said[0].slice(4)}`);
move("model", 2); move("tp", 0); move("zero", 0); move("mb", 0);
said.push(`70B: ${/does not fit/.test(at("cards").textContent)}`);
at("best").click();
said.push(`best: ${/fits: /.test(at("cards").textContent)} ${!/does not/.test(at("cards").textContent)}`);
move("model", 0); move("pp", 3); move("tp", 3); move("gpus", 0);
said.push(`none: ${/no such layout/.test(at("cards").textContent)}`);
said.push(`unnamed: ${[...document.querySelectorAll("input, button")].filter((f) => !f.textContent && !document.querySelector(`label[for="${f.id}"]`)).length}`);
document.body.replaceChildren(...said.map((line) => { const p = document.createElement("p"); p.textContent = line; return p; }));
</script>
END
browse played.html || true
grep -o '<p>[^<]*</p>' dom | sed 's/<[^>]*>//g; s/&[a-z]*;//g' >played
cat played
expect() {
    grep -qx -- "$1" played || fail "expected \"$1\""
}
grep -q '^8B: 6.04 s | 10,8[0-9][0-9] /s | 52.9 % | 48.4 GiB$' played || fail 'the cards of 8B'
expect 'rehearse simulate -w llama-3.1-8b -p dgx-h100 --gpus 64 --global-batch 1024 --seq 4096 -s tp2,pp1,cp1,ep1,zero1,mb2,recompute=none'
expect 'moved: true'
expect '70B: true'
expect 'best: true true'
expect 'none: true'
expect 'unnamed: 0'
[ "$failed" = 0 ] && echo 'the page of sliders agrees with the program'
exit "$failed"
