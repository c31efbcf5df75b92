/* What an answer holds decides which parts there are; a document of another command shows its figures and
 * every list of it as a table. */

const answer = data("data"), facts = data("facts");

/* "tp1 pp1 dp64 ..." */
function layoutText(layout) {
  const degrees = new Set(["cp", "ep", "vpp"]); /* said where there is more than one */
  return Object.entries(layout || {}).map(([key, value]) =>
    degrees.has(key) && value === 1 ? "" : key === "microbatch" ? `mb${value}` : typeof value === "boolean" ? (value ? key : "") : isNumber(value) ? `${key}${value}` : Array.isArray(value) ? `${key} ${value.join("-")}` : `${key} ${value}`,
  ).filter(Boolean).join(" ");
}

/* What has figures of its own: [name, fields of `simulate`]. */
function subjectsOf(doc) {
  const schema = doc.schema || "";
  if (Array.isArray(doc.plans) && schema.startsWith("rehearse.plan"))
    return [...doc.plans.map((plan) => [`#${plan.rank} ${layoutText(plan.layout)}`, plan]), ...(doc.fuller ? [[`quicker, but fuller: ${layoutText(doc.fuller.layout)}`, doc.fuller]] : [])];
  if (doc.cells) return doc.cells.filter((cell) => cell.costs).map((cell) => [`${cell.platform}, ${cell.gpus_count} GPUs: ${layoutText(cell.layout)}`, cell]);
  if (doc.costs !== undefined) return [[layoutText(doc.layout), doc], ...(doc.versus && doc.versus.layout ? [[`the other: ${layoutText(doc.versus.layout)}`, doc.versus]] : [])];
  if (doc.a && doc.b) return [[`A: ${layoutText(doc.a.layout)}`, doc.a], [`B: ${layoutText(doc.b.layout)}`, doc.b]];
  return [];
}

/* --- tables --- */

function largestWait(plan) {
  const waits = plan.costs ? plan.costs.children.filter((term) => term.name !== "compute") : [];
  return waits.reduce((most, term) => (!most || term.value_s > most.value_s ? term : most), null);
}

function launchOf(plan) {
  const scripts = Object.entries(plan.launch_script || {}).filter(([, text]) => text);
  if (scripts.length === 0) return "";
  return make("details", {}, make("summary", {}, scripts.map(([name]) => name).join(", ")),
    ...scripts.map(([name, text]) => make("div", {}, make("b", {}, name), make("code", { class: "flags" }, text))));
}

function plansTable(doc) {
  const wait = (r) => largestWait(r), rows = [...doc.plans, ...(doc.fuller ? [{ rank: null, fuller: true, ...doc.fuller }] : [])];
  const field = (title, key, about) => ({ title, about, number: true, value: (r) => r[key], text: (r) => shown(key, r[key]) });
  return section("plans", "Plans", sortableTable("plans", "Layouts, best first; one that is quicker but fuller has no number", [
    { title: "#", number: true, value: (r) => r.rank, text: (r) => (r.rank ? String(r.rank) : "") },
    { title: "layout", value: (r) => layoutText(r.layout), text: (r) => layoutText(r.layout) },
    field("step", "step_time_s"),
    field("MFU", "mfu_frac", `model FLOPs utilisation${rows[0] && rows[0].mfu_peak ? `, of ${rows[0].mfu_peak}'s peak` : ""}`),
    { title: "tokens/s/GPU", number: true, value: (r) => r.tokens_per_s_per_gpu, text: (r) => (isNumber(r.tokens_per_s_per_gpu) ? digits(r.tokens_per_s_per_gpu) : "") },
    field("memory", "memory_peak_bytes"),
    field("odds", "odds_frac", "that the memory suffices"),
    { title: "largest wait", value: (r) => (wait(r) ? wait(r).value_s : null), text: (r) => (wait(r) ? `${wait(r).name} ${percent(wait(r).value_s / r.step_time_s)}` : "") },
    { title: "launch", value: () => "", text: () => "", node: launchOf },
  ], rows, true), doc.near_misses.length ? sortableTable("misses", "Near misses: quicker by their lower bound, but they do not fit", [
    { title: "layout", value: (r) => layoutText(r.layout), text: (r) => layoutText(r.layout) },
    { title: "at least", number: true, value: (r) => r.bound_s, text: (r) => shown("bound_s", r.bound_s) },
    { title: "memory", number: true, value: (r) => r.memory_peak_bytes, text: (r) => bytes(r.memory_peak_bytes) },
    { title: "why not", value: (r) => r.reason, text: (r) => r.reason },
  ], doc.near_misses) : null);
}

/* Clusters and sizes of `capacity`. */
function cellsTable(doc) {
  const per = (title, key, times, unit) => ({ title, number: true, value: (r) => r[key], text: (r) => (isNumber(r[key]) ? `${digits(r[key] * times)}${unit}` : "") });
  return section("sizes", "Clusters and sizes", sortableTable("sizes", "Each with its best batch and layout", [
    { title: "platform", value: (r) => r.platform, text: (r) => r.platform },
    per("GPUs", "gpus_count", 1, ""), per("batch", "global_batch", 1, ""),
    { title: "layout", value: (r) => layoutText(r.layout), text: (r) => layoutText(r.layout) || r.reason || "" },
    per("days", "seconds", 1 / 86400, ""), per("USD", "usd", 1, ""), per("GPU hours", "gpu_hours", 1, ""), per("MWh", "run_energy_j", 1 / 3.6e9, ""),
    per("efficiency", "efficiency_frac", 100, " %"),
    { title: "binds", value: (r) => r.binds, text: (r) => (r.binds ? `${r.binds} ${percent(r.binds_frac)}` : "") },
    { title: "meets the goal", value: (r) => shown("", r.meets), text: (r) => shown("", r.meets) },
    { title: "nothing betters it", value: (r) => shown("", r.pareto), text: (r) => shown("", r.pareto) },
  ], doc.cells, true));
}

/* Clusters and sizes that serve at a rate. */
function serviceTable(doc) {
  const of = (r, key) => (r.plan ? r.plan[key] : null);
  const time = (title, value) => ({ title, number: true, value, text: (r) => (isNumber(value(r)) ? seconds(value(r)) : "") });
  const per = (title, key) => ({ title, number: true, value: (r) => r[key], text: (r) => (isNumber(r[key]) ? digits(r[key]) : "") });
  return section("sizes", "Clusters and sizes", sortableTable("sizes", "Each with the quickest deployment that keeps the levels on so many GPUs", [
    { title: "platform", value: (r) => r.platform, text: (r) => r.platform },
    per("GPUs", "gpus_count"),
    { title: "deployment", value: (r) => r.deployment, text: (r) => r.deployment || r.reason || "" },
    per("USD an hour", "usd_per_hour"), per("USD a million", "usd_per_million"),
    time("TTFT p99", (r) => (of(r, "ttft_s") ? r.plan.ttft_s.p99 : null)), time("TPOT p99", (r) => (of(r, "tpot_s") ? r.plan.tpot_s.p99 : null)), time("answer", (r) => r.answer_s),
    { title: "binds", value: (r) => r.binds, text: (r) => r.binds || "" },
    { title: "meets the goal", value: (r) => shown("", r.meets), text: (r) => shown("", r.meets) },
    { title: "nothing betters it", value: (r) => shown("", r.pareto), text: (r) => shown("", r.pareto) },
  ], doc.cells, true));
}

/* Terms of two results, largest difference first. */
function versusTable(terms, a, b) {
  const span = Math.max(...terms.map((t) => Math.abs(t[a] - t[b])), 1e-30);
  return section("versus", "Side by side", sortableTable("versus", "Seconds of a GPU's step", [
    { title: "term", value: (r) => r.name, text: (r) => r.name },
    { title: a === "a_s" ? "A" : "this", number: true, value: (r) => r[a], text: (r) => seconds(r[a]) },
    { title: a === "a_s" ? "B" : "the other", number: true, value: (r) => r[b], text: (r) => seconds(r[b]) },
    { title: "difference", number: true, value: (r) => r[a] - r[b], text: (r) => seconds(r[a] - r[b]) },
    { title: "", value: (r) => Math.abs(r[a] - r[b]), text: () => "", node: (r) => bar(Math.abs(r[a] - r[b]) / span, r[a] > r[b] ? "more" : "less") },
  ], terms));
}

/* Lists of an answer that no other part shows. */
const SHOWN_ELSEWHERE = new Set(["plans", "near_misses", "terms", "memory", "links", "changes", "cells", "rows", "effects"]);

function lists(doc, schema) {
  const known = ["rehearse.plan", "rehearse.simulate", "rehearse.study-table"].some((one) => schema.startsWith(one));
  return Object.entries(doc).filter(([key, value]) => Array.isArray(value) && value.length && isObject(value[0]) && !(known ? SHOWN_ELSEWHERE.has(key) : ["terms", "memory", "links", "cells"].includes(key)))
    .map(([key, value]) => section(key, key[0].toUpperCase() + heading(key).slice(1), sortableTable(key, "A row each", columnsOf(value), value)));
}

/* Scalars, and those of objects below: "ttft s p99". */
function figures(doc, id = "figures", caption = "Everything that is one value") {
  const rows = [];
  const walk = (node, path) => {
    for (const [key, value] of Object.entries(node)) {
      if (["argv", "costs", "layout", "versus", "a", "b", "fuller", "launch", "term", "memory_term"].includes(key)) continue;
      if (isObject(value)) walk(value, [...path, key]);
      else if (!Array.isArray(value) && value !== null) rows.push({ path: [...path, key], value });
    }
  };
  walk(doc, []);
  return folded(id, "All figures", sortableTable(id, caption, [
    { title: "figure", value: (r) => r.path.join(" "), text: (r) => r.path.map(heading).join(", ") },
    { title: "value", value: (r) => r.value, text: (r) => shown(unitKey(r.path), r.value) },
  ], rows));
}

/* Of `explain --term memory`: the kinds of each stage as columns; and what would lower it. */
function memoryTerm(term) {
  const stages = term.stages.map(({ memory, ...rest }) => ({ ...rest, ...Object.fromEntries(memory.map((kind) => [`${kind.name}_bytes`, kind.value_bytes])) }));
  const changes = term.changes.map(({ layout, ...rest }) => ({ ...rest, layout: layoutText(layout) }));
  return lists({ stages, changes }, "");
}

/* --- the page --- */

/* Parts of the subject chosen, one below the other. */
function subjectParts(subjects) {
  const places = [["time", "Where the time goes", timePart], ["memory-peak", "Memory", memoryPart], ["links-part", "Links", linksPart]];
  const nodes = places.map(([id, title]) => section(id, title, make("div", { class: "part" })));
  const fill = (subject) => places.forEach(([, , part], i) => {
    const has = part !== linksPart || subject.links;
    nodes[i].hidden = !has || (part === memoryPart && !subject.memory);
    if (!nodes[i].hidden) nodes[i].querySelector(".part").replaceChildren(part(subject));
  });
  const first = Math.min(rankShown() - 1, subjects.length - 1);
  fill(subjects[first][1]);
  if (subjects.length === 1) return nodes;
  const choice = make("select", { id: "subject" }, ...subjects.map(([name], i) => make("option", { value: i, selected: i === first }, name)));
  choice.addEventListener("change", () => fill(subjects[Number(choice.value)][1]));
  return [make("p", { class: "tools choose" }, make("label", { for: "subject" }, "Shown below: "), choice), ...nodes];
}

function asked(doc) {
  const inputs = doc.inputs || {};
  const words = [inputs.workload && inputs.workload.name, inputs.platform && inputs.platform.name, inputs.gpus_count && `${inputs.gpus_count} GPUs`,
    inputs.global_batch && `batch ${digits(inputs.global_batch)}`, inputs.sequence_tokens && `sequences of ${digits(inputs.sequence_tokens)}`, inputs.dtype];
  document.getElementById("asked").textContent = words.filter(Boolean).join(" · ");
  const line = doc.argv ? make("code", { class: "flags" }, `rehearse ${doc.argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`)).join(" ")}`) : null;
  return section("question", "What was asked", line, figures({ version: doc.version, ...inputs }, "inputs", "Inputs").querySelector(".block"));
}

function navigation() {
  const nav = document.querySelector("nav");
  for (const part of document.querySelectorAll("main section:not([hidden])")) {
    const title = part.querySelector("h2");
    if (title) nav.append(make("a", { href: `#${part.id}` }, title.textContent), " ");
  }
}

/* The answer's cards, tables and parts; last what repeats them key by key, folded. */
function build() {
  const tables = document.getElementById("tables"), parts = document.getElementById("parts");
  const schema = answer.schema || "", subjects = subjectsOf(answer);
  document.getElementById("cards").append(...cardsOf(answer).map(card));
  if (schema.startsWith("rehearse.plan") && answer.plans.length) tables.append(plansTable(answer));
  if (answer.cells) tables.append(schema.startsWith("rehearse.capacity-service") ? serviceTable(answer) : cellsTable(answer));
  if (schema.startsWith("rehearse.study-table/")) studyParts(answer, tables);
  if (answer.terms) tables.append(versusTable(answer.terms, "a_s", "b_s"));
  if (answer.versus && answer.versus.terms) tables.append(versusTable(answer.versus.terms, "value_s", "versus_s"));
  if (subjects.length) parts.append(...subjectParts(subjects));
  if (answer.memory_term) parts.append(...memoryTerm(answer.memory_term));
  parts.append(...lists(answer, schema));
  liveGantt(data("course"));
  if (facts) parts.append(section("sources", "Sources", sourcesPart(facts)));
  if (answer.argv) parts.append(asked(answer));
  document.querySelector("main").append(figures(Object.fromEntries(Object.entries(answer).filter(([key]) => key !== "inputs"))));
  navigation();
  document.documentElement.dataset.ready = "yes";
}

build();
