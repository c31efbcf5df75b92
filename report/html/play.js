"use strict";
/* A page of sliders: model, cluster, GPUs and layout. Every figure was computed by the program before; this script
 * looks it up. */

const doc = data("data"), cellSize = 7;
const KINDS = [
  { key: "model", label: "model", values: doc.models },
  { key: "cluster", label: "cluster", values: doc.clusters },
  { key: "gpus", label: "GPUs", values: doc.gpus },
];
const all = [...KINDS, ...doc.sliders], chosen = Object.fromEntries(all.map((slider) => [slider.key, 0]));

/* Cells of a job by their place. */
const jobs = new Map(doc.grids.map((grid) => [`${grid.model} ${grid.cluster} ${grid.gpus}`, grid]));
function cellsOf(grid) {
  if (!grid.byPlace) {
    grid.byPlace = new Map();
    for (let i = 0; i < grid.cells.length; i += cellSize) {
      const [at, step, compute, slow, mfu, peak, fits] = grid.cells.slice(i, i + cellSize);
      grid.byPlace.set(at, { at, step_s: step / 1e3, compute_s: compute / 1e3, slow_s: slow / 1e3, mfu_frac: mfu / 1e3, peak_bytes: peak * 1048576, fits: fits === 1 });
    }
  }
  return grid.byPlace;
}

const gridHere = () => jobs.get(`${chosen.model} ${chosen.cluster} ${chosen.gpus}`);
const placeHere = () => doc.sliders.reduce((at, slider) => at * slider.values.length + chosen[slider.key], 0);
const layoutHere = () => doc.sliders.map((slider) => slider.key + slider.values[chosen[slider.key]]).join(",");

function bestOf(grid) {
  return [...cellsOf(grid).values()].filter((cell) => cell.fits).sort((a, b) => a.step_s - b.step_s)[0];
}

function choosePlace(at) {
  for (const slider of [...doc.sliders].reverse()) {
    chosen[slider.key] = at % slider.values.length;
    at = Math.floor(at / slider.values.length);
  }
}

/* --- the answer --- */

function stripe(id, parts, whole) {
  const node = make("div", { id, role: "img", "aria-label": parts.map(([name, value, text]) => `${name} ${text}`).join(", ") });
  node.style.cssText = "display:flex;height:2.2em;border:1px solid currentColor;border-radius:4px;overflow:hidden;margin:.4em 0";
  for (const [name, value, text, color] of parts) {
    const part = make("span", { title: `${name}: ${text}` });
    part.style.cssText = `width:${Math.min(100, (100 * value) / whole)}%;background:${color}`;
    node.append(part);
  }
  return make("div", {}, node, make("p", {}, parts.map(([name, value, text]) => `${name} ${text}`).join("; ")));
}

function verdict(cell, grid) {
  const full = cell.peak_bytes / grid.capacity_bytes;
  return cell.fits ? `fits: ${percent(full)} of ${bytes(grid.capacity_bytes)}` : `does not fit: ${percent(full)} of ${bytes(grid.capacity_bytes)}`;
}

function command() {
  const per = doc.gpus[chosen.gpus];
  return `rehearse simulate -w ${doc.models[chosen.model]} -p ${doc.clusters[chosen.cluster]} --gpus ${per} --global-batch ${doc.global_batch} --seq ${doc.sequence} -s ${layoutHere()}`;
}

function show() {
  const grid = gridHere(), cell = grid && cellsOf(grid).get(placeHere()), cards = document.getElementById("cards"), parts = document.getElementById("parts");
  for (const slider of all) document.getElementById(`${slider.key}-value`).textContent = slider.values[chosen[slider.key]];
  document.getElementById("command").textContent = command();
  document.getElementById("best").disabled = !grid || !bestOf(grid);
  if (!cell) {
    cards.replaceChildren(card({ title: "no such layout", value: "none", note: "GPUs, heads, layers or the batch do not divide so, or the framework does not run it; the command below says why" }));
    parts.replaceChildren();
    return;
  }
  const tokens = (doc.global_batch * doc.sequence) / cell.step_s, waiting = cell.step_s - cell.compute_s - cell.slow_s;
  cards.replaceChildren(
    card({ title: "step", value: seconds(cell.step_s), note: "at least: no contention on links" }),
    card({ title: "tokens", value: `${digits(tokens / doc.gpus[chosen.gpus])} /s`, note: "a GPU" }),
    card({ title: "MFU", value: percent(cell.mfu_frac), note: "at most" }),
    card({ title: "memory", value: bytes(cell.peak_bytes), note: verdict(cell, grid), share: Math.min(1, cell.peak_bytes / grid.capacity_bytes) }));
  const share = (value) => `${seconds(value)} (${percent(value / cell.step_s)})`;
  parts.replaceChildren(
    make("section", { id: "time" }, make("h2", {}, "Where the time goes"),
      stripe("time-bar", [["kernels", cell.compute_s, share(cell.compute_s), "#2478c8"],
        ["waiting for messages, other stages and slots", waiting, share(waiting), "#e0a030"],
        ["slow nodes", cell.slow_s, share(cell.slow_s), "#999"]], cell.step_s)),
    make("section", { id: "room" }, make("h2", {}, "Memory of the fullest GPU"),
      stripe("memory-bar", [["used", cell.peak_bytes, bytes(cell.peak_bytes), cell.fits ? "#2a8a4a" : "#c0392b"]], grid.capacity_bytes)));
}

/* --- the sliders --- */

function slide(slider) {
  const input = make("input", { type: "range", id: slider.key, min: 0, max: slider.values.length - 1, step: 1, value: 0 });
  input.addEventListener("input", () => {
    chosen[slider.key] = Number(input.value);
    show();
  });
  const row = make("p", {}, make("label", { for: slider.key }, `${slider.label} `), input, " ", make("b", { id: `${slider.key}-value` }));
  row.style.cssText = "display:grid;grid-template-columns:minmax(8em,16em) minmax(6em,1fr) 9em;gap:.6em;align-items:center;margin:.2em 0";
  return row;
}

function moveInputs() {
  for (const slider of all) document.getElementById(slider.key).value = chosen[slider.key];
}

const best = make("button", { type: "button", id: "best" }, "the quickest of these layouts that fits");
best.addEventListener("click", () => {
  choosePlace(bestOf(gridHere()).at);
  moveInputs();
  show();
});
document.getElementById("tables").append(make("section", { id: "knobs" }, make("h2", {}, "Sliders"), ...all.map(slide), make("p", {}, best),
  make("p", {}, "have it rehearsed: ", make("code", { id: "command" }))));
show();
document.documentElement.dataset.ready = "yes";
