#!/usr/bin/env bash
# Reports in a real browser: no error, search and sort do what they say, both looks are as they were.
#
#   tests/report/browser_test.sh REHEARSE [--update]
#
# Skipped (77) where there is no Chromium, or one that shows nothing. The look is compared as 16 x 20 cells of grey, which fonts of
# other machines hardly change (tests/report/report-look.txt).
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rehearse=$(realpath -- "$1")
browser=
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    browser=$(command -v "$name") && break
done
[ -n "$browser" ] || {
    echo 'skipped: no chromium here (Debian: apt-get install chromium-headless-shell)'
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
export REHEARSE_DATA=$tree
cd -- "$scratch"
# browse PAGE [OPTION...]: what it logs is in log.
browse() {
    local page=$1
    shift
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
        --user-data-dir="$scratch/profile" --force-device-scale-factor=1 --enable-logging=stderr \
        --virtual-time-budget=5000 "$@" "file://$scratch/$page" 2>log
}

echo '<!doctype html><title>empty</title><p id="here">here</p>' >empty.html
browse empty.html --dump-dom >dom || true
grep -q 'id="here"' dom || {
    echo "skipped: $browser shows no page here"
    tail -n 3 log
    exit 77
}
cp "$tree/tests/cli/inputs/tiny-llama.json" "$tree/tests/cli/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
"$rehearse" plan "${job[@]}" --top 8 -q -o plan.json -o plan.html -o plan-pareto.svg -o plan-gantt.svg \
    -o plan-memory.svg >plan.txt
"$rehearse" simulate "${job[@]}" -s tp2,pp2,mb2 -o run.json -o run.html -o run-gantt.svg >run.txt
"$rehearse" explain plan.json --vs 2 -o explain.html >explain.txt
"$rehearse" compare plan.json#1 run.json -o compare.html >compare.txt
"$rehearse" validate --only SimuMax -o validate.html -o validate.svg >validate.txt
"$rehearse" capacity -w tiny-llama.json -p two-nodes.json --tokens 20B --seq 1024 --gpus 4..8 --global-batch 64 \
    -q -o capacity.html >capacity.txt
"$rehearse" serve-simulate -w llama-3.2-1b -p h100-sxm:2x1 -s tp1,replicas=2,blocks=200 --lengths in=500,out=200,spread=0.8 \
    --rate 40/s --count 2000 --ttft 'p99<1s' --tpot 'p99<9ms' -o serve.html >serve.txt || true
"$rehearse" serve-plan -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --find-rate --lengths in=1000,out=100 --count 3000 \
    --ttft 'p99<9s' -q -o serve-plan.html >serve-plan.txt
cat >study.json <<'END'
{"schema": "rehearse.study/1", "command": "simulate", "about": "A small one",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": 1024, "strategy": "tp{tp},pp{pp},mb1"},
 "axes": [{"global-batch": [64, 32]}, {"tp": [1, 2]}, {"pp": [1, 2, 4]}]}
END
"$rehearse" sweep study.json -q >sweep.txt
"$rehearse" sweep merge study.json -o study.html >sweep.txt
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

# No error of a script, nothing that the policy refused, and the script came to its end.
for page in plan run explain compare validate capacity serve serve-plan study; do
    browse "$page.html" --dump-dom >dom
    grep -q 'data-ready="yes"' dom || fail "$page.html: its script did not end"
    ! grep -i 'CONSOLE' log || fail "$page.html: the console has something to say"
    grep -q '<section id="time"\|<table id="cases-table"\|<table id="figures-table"' dom || fail "$page.html: no parts were made"
done

# The answer's cards come first, what repeats it last and folded; a window of 420 pixels cuts nothing: pictures are scaled
# to it, and at full size they scroll in boxes of their own, their letters 9.5 pixels high and more.
for page in plan run capacity serve serve-plan; do
    cat >frame.html <<END
<!doctype html><iframe src="$page-open.html" style="width:420px;height:900px;border:0"></iframe>
END
    sed '/http-equiv="Content-Security-Policy"/d' "$page.html" >"$page-open.html"
    cat >>"$page-open.html" <<'END'
<script>
const order = [...document.querySelectorAll("main section:not([hidden])")].map((part) => part.id), said = [];
said.push(`first: ${order[0]} cards ${document.querySelectorAll("#answer .card").length > 2}`);
said.push(`last: ${order.slice(-2).join(" ")} folded ${[...document.querySelectorAll(".folded details")].every((part) => !part.open)}`);
said.push(`wide: ${document.documentElement.scrollWidth > window.innerWidth} ${[...document.querySelectorAll("figure")].filter((figure) => figure.getBoundingClientRect().right > window.innerWidth).length}`);
said.push(`scaled: ${[...document.querySelectorAll("figure")].every((figure) => figure.scrollWidth <= figure.clientWidth)}`);
document.querySelectorAll("figure .full").forEach((box) => box.click());
said.push(`beyond: ${[...document.querySelectorAll("figure")].filter((figure) => figure.getBoundingClientRect().right > window.innerWidth).length}`);
said.push(`small: ${[...document.querySelectorAll("figure svg")].filter((svg) => (12 * svg.getBoundingClientRect().width) / svg.viewBox.baseVal.width < 9.5).length}`);
document.title = said.join("; ");
parent.postMessage(document.title, "*");
</script>
END
    cat >>frame.html <<'END'
<script>addEventListener("message", (event) => { document.body.append(Object.assign(document.createElement("p"), { id: "said", textContent: event.data })); });</script>
END
    browse frame.html --dump-dom >dom
    grep -q 'first: answer cards true; last: text figures folded true; wide: false 0; scaled: true; beyond: 0; small: 0' dom ||
        fail "$page.html in a narrow window: $(grep -o '<p id="said">[^<]*' dom)"
done

for picture in plan-pareto plan-gantt plan-memory run-gantt validate; do
    browse "$picture.svg" --dump-dom >dom
    grep -q '<title' dom || fail "$picture.svg has no title"
    ! grep -q 'parsererror' dom || fail "$picture.svg is no picture"
done

# What a reader does, played by a script of ours, which the page's policy would not let in.
sed '/http-equiv="Content-Security-Policy"/d' plan.html >played.html
cat >>played.html <<'END'
<script>
const rows = () => [...document.querySelectorAll("#plans-table tbody tr")].map((row) => row.cells[0].textContent);
const heads = [...document.querySelectorAll("#plans-table thead th")], said = [];
const say = (what) => said.push(`${what}: ${rows().join(" ")}`);
const search = document.getElementById("plans-search");
const type = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
say("as it came");
heads[5].querySelector("button").click();
say(`memory ${heads[5].getAttribute("aria-sort")}`);
const memory = [...document.querySelectorAll("#plans-table tbody tr")].map((row) => parseFloat(row.cells[5].textContent));
said.push(`in order: ${memory.every((value, i) => i === 0 || memory[i - 1] <= value)}`);
heads[5].querySelector("button").click();
say(`memory ${heads[5].getAttribute("aria-sort")}`);
heads[0].querySelector("button").click();
type("tp2");
said.push(`tp2: ${rows().length > 0 && [...document.querySelectorAll("#plans-table tbody tr")].every((row) => row.textContent.includes("tp2"))}`);
said.push(`status: ${document.querySelector("#plans .count").textContent.trim()}`);
type("no such layout");
said.push(`none: ${rows().length}`);
type("");
said.push(`all: ${rows().length}`);
const choice = document.getElementById("subject"), before = document.getElementById("time").textContent;
choice.value = 1;
choice.dispatchEvent(new Event("change"));
said.push(`another plan: ${document.getElementById("time").textContent !== before}`);
said.push(`unnamed fields: ${[...document.querySelectorAll("input, select, button")].filter((f) => !f.textContent && !document.querySelector(`label[for="${f.id}"]`)).length}`);
const zoomed = document.querySelector("svg.gantt .zoom"), whole = zoomed.getAttribute("transform");
document.querySelector('button[aria-label="Zoom in"]').click();
const closer = zoomed.getAttribute("transform");
document.querySelector("svg.gantt").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
const later = zoomed.getAttribute("transform");
document.querySelector("svg.gantt").dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
said.push(`zoom: ${closer !== whole} ${later !== closer} ${zoomed.getAttribute("transform") === whole}`);
const box = document.querySelector("svg.gantt path[data-m]"), edge = document.querySelector("svg.gantt").getBoundingClientRect();
box.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: edge.left + edge.width * 0.3, clientY: edge.top + 70 }));
said.push(`pointed at: ${/of micro-batch [0-9]+, .* to .* \(/.test(document.querySelector(".said").textContent)}`);
const links = document.querySelector("#links-time svg");
said.push(`links: ${links.querySelectorAll("path").length > 0} ${/ in the mean, /.test(links.querySelector("desc").textContent)} ${document.querySelector('nav a[href="#links-time"]') !== null}`);
const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
said.push(`ids twice: ${ids.filter((id, i) => ids.indexOf(id) !== i).join(" ")}`);
document.body.replaceChildren(...said.map((line) => { const p = document.createElement("p"); p.textContent = line; return p; }));
</script>
END
browse played.html --dump-dom >dom
grep -o '<p>[^<]*</p>' dom | sed 's/<[^>]*>//g' >played
cat played
plans=$(sed -n '/^  "plans"/,/^  ]/p' plan.json | grep -c '"rank":')
expect() {
    grep -qx -- "$1" played || fail "expected \"$1\""
}
[ "$plans" -ge 4 ] || fail "only $plans plans to play with"
expect "as it came: $(seq -s ' ' "$plans")"
expect 'in order: true'
[ "$(grep -c '^memory ascending\|^memory descending' played)" = 2 ] || fail 'no sense of order'
expect 'tp2: true'
expect 'none: 0'
expect "all: $plans"
expect 'another plan: true'
expect 'zoom: true true true'
expect 'pointed at: true'
expect 'unnamed fields: 0'
expect 'links: true true true'
expect 'ids twice: '

# A study: pivoted, filtered, and the commands behind a cell and a point.
sed '/http-equiv="Content-Security-Policy"/d' study.html >played.html
cat >>played.html <<'END'
<script>
const said = [], at = (id) => document.getElementById(id);
const set = (id, value, event = "change") => { at(id).value = value; at(id).dispatchEvent(new Event(event)); };
const cells = () => document.querySelectorAll("#pivot .heat button");
set("pivot-down", "tp");
set("pivot-across", "pp");
said.push(`cells: ${cells().length}`);
said.push(`shades: ${new Set([...document.querySelectorAll("#pivot .heat")].map((node) => node.style.background)).size > 3}`);
cells()[0].click();
const behindOne = [...document.querySelectorAll("#behind code")].map((node) => node.textContent);
said.push(`behind: ${behindOne.length} ${behindOne.every((line) => line.startsWith("rehearse simulate ") && line.includes("tp1,pp1,"))}`);
set("pivot-each", "global-batch");
said.push(`maps: ${document.querySelectorAll("#pivot .maps table").length} of ${cells().length} cells`);
set("pivot-filter", "global-batch=64", "input");
said.push(`filtered: ${document.querySelectorAll("#pivot .maps table").length} ${at("behind").textContent.startsWith("6 of 12 questions")}`);
set("pareto-y", "memory_peak_bytes");
said.push(`filtered front: ${document.querySelectorAll("#trade circle").length}`);
set("pivot-filter", "", "input");
said.push(`maps in the study's order: ${[...document.querySelectorAll("#pivot .maps h3")].map((node) => node.textContent).join(", ")}`);
said.push(`front: ${document.querySelectorAll("#trade .front").length > 0} ${document.querySelectorAll("#trade circle").length} ${document.querySelectorAll("#trade .front").length === document.querySelectorAll("#point code").length}`);
said.push(`about: ${at("answer").textContent.includes("A small one")}; cards of errors: ${[...document.querySelectorAll("#cards .card")].filter((card) => card.textContent.includes("error_frac")).length}`);
document.querySelector("#trade .front").dispatchEvent(new Event("click"));
said.push(`point: ${at("point").textContent.includes("rehearse simulate ")}`);
said.push(`moves: ${document.querySelectorAll("#moves-table tbody tr").length > 3}`);
said.push(`questions: ${document.querySelectorAll("#questions-table tbody tr").length}`);
said.push(`study's fields without names: ${[...document.querySelectorAll("input, select, button")].filter((f) => !f.textContent && !document.querySelector(`label[for="${f.id}"]`)).length}`);
document.body.replaceChildren(...said.map((line) => { const p = document.createElement("p"); p.textContent = line; return p; }));
</script>
END
browse played.html --dump-dom >dom
grep -o '<p>[^<]*</p>' dom | sed 's/<[^>]*>//g' >played
cat played
expect 'cells: 6'
expect 'shades: true'
expect 'behind: 2 true'
expect 'maps: 2 of 12 cells'
expect 'filtered: 1 true'
expect 'filtered front: 6'
expect "maps in the study's order: global-batch 64, global-batch 32"
expect 'front: true 12 true'
expect 'about: true; cards of errors: 0'
expect 'point: true'
expect 'moves: true'
expect 'questions: 12'
expect "study's fields without names: 0"

# The look: a picture becomes cells of grey, 0 dark to 9 bright, in the browser itself.
look() {
    local name=$1 page=$2
    shift 2
    browse "$page.html" --window-size=1000,1250 --screenshot="$scratch/shot.png" "$@"
    {
        echo '<!doctype html><body><script>const image = new Image(); image.onload = () => {
const c = document.createElement("canvas"); c.width = 16; c.height = 20; const x = c.getContext("2d");
x.imageSmoothingQuality = "high"; x.drawImage(image, 0, 0, 16, 20);
const d = x.getImageData(0, 0, 16, 20).data; let out = "";
for (let i = 0; i < d.length; i += 4) out += Math.round((d[i] + d[i + 1] + d[i + 2]) / 3 / 255 * 9);
document.body.textContent = "cells " + out.match(/.{16}/g).join(" ") + " end"; };'
        echo "image.src = \"data:image/png;base64,$(base64 -w 0 shot.png)\";</script></body>"
    } >cells.html
    browse cells.html --dump-dom >dom
    sed -n "s/.*cells \([0-9 ]*\) end.*/$name \1/p" dom >>looks
}
: >looks
look plan-light plan
look plan-dark plan --blink-settings=preferredColorScheme=0
look run-light run
if [ "${2-}" = --update ]; then
    cp looks "$tree/tests/report/report-look.txt"
fi
# On average a cell may be off by half a step.
paste -d ' ' looks "$tree/tests/report/report-look.txt" | awk '{
    half = NF / 2; sum = count = 0
    if ($1 != $(half + 1)) { print "looks of other pages"; exit 1 }
    for (i = 2; i <= half; i++)
        for (k = 1; k <= 16; k++) {
            d = substr($i, k, 1) - substr($(half + i), k, 1); sum += d < 0 ? -d : d; count++
        }
    printf "%s: %d cells, off by %.2f on average\n", $1, count, sum / count
    if (count != 320 || sum / count > 0.5) bad = 1
} END { exit bad || NR != 3 }' || fail 'the report looks otherwise: view it, then --update'
[ "$failed" = 0 ] && echo 'reports work in a browser'
exit "$failed"
