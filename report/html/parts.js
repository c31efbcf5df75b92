/* The parts below the answer: where the time goes, memory, links, sources. A part shows one subject, a
 * layout's figures under the keys of `simulate --json`. */

/* --- time: a tree whose branches open and close --- */

function termLine(term, whole) {
  return [
    make("span", { class: "name" }, term.name),
    make("span", { class: "value" }, seconds(term.value_s)),
    make("span", { class: "share" }, percent(term.value_s / whole)),
    bar(term.value_s / whole),
    term.source ? make("span", { class: "source" }, term.source) : null,
  ];
}

function termNode(term, whole) {
  if (term.children.length === 0) return make("li", { class: "term" }, make("div", { class: "line" }, ...termLine(term, whole)));
  const summary = make("summary", { class: "line" }, ...termLine(term, whole));
  return make("li", { class: "term" }, make("details", { open: true }, summary, termList(term.children, whole)));
}

function termList(terms, whole) {
  return make("ul", { class: "tree" }, ...terms.map((term) => termNode(term, whole)));
}

function timePart(subject) {
  if (!subject.costs) return make("p", {}, "This layout was not rehearsed: its step is a lower bound, without a tree.");
  const step = subject.costs.value_s;
  return make("div", {}, make("p", {}, `A GPU's step of ${seconds(step)}, ${subject.costs.source}.`), termList(subject.costs.children, step));
}

/* --- memory at its peak --- */

function memoryPart(subject) {
  const capacity = subject.memory_capacity_bytes, peak = subject.memory_peak_bytes;
  const kinds = (subject.memory || []).filter((kind) => kind.value_bytes > 0);
  const rows = [...kinds, { name: "in all", value_bytes: peak }, { name: "of the GPU", value_bytes: capacity }];
  const where = subject.memory_peak_when
    ? `The fullest GPU is of stage ${subject.memory_peak_stage}, in ${subject.memory_peak_when}. ` : "";
  return make("div", {}, make("p", {}, where + (subject.odds_of || "")), sortableTable("memory", "Memory at the peak, by kind", [
    { title: "kind", value: (r) => r.name, text: (r) => r.name },
    { title: "bytes", number: true, value: (r) => r.value_bytes, text: (r) => bytes(r.value_bytes) },
    { title: "of the GPU", number: true, value: (r) => r.value_bytes, text: (r) => percent(r.value_bytes / capacity) },
    { title: "", value: (r) => r.value_bytes, text: () => "", node: (r) => (r.name === "of the GPU" ? "" : bar(r.value_bytes / capacity, r.name === "in all" ? "sum" : "")) },
  ], rows));
}

/* --- links --- */

function linksPart(subject) {
  if (!subject.links || subject.links.length === 0) return make("p", {}, "No bytes went over a link.");
  return sortableTable("links", "The busiest links, over the whole step", [
    { title: "link", value: (r) => r.name, text: (r) => r.name },
    { title: "busy", number: true, value: (r) => r.busy_frac, text: (r) => percent(r.busy_frac) },
    { title: "bytes a step", number: true, value: (r) => r.bytes, text: (r) => bytes(r.bytes) },
    { title: "", value: (r) => r.busy_frac, text: () => "", node: (r) => bar(r.busy_frac) },
  ], subject.links);
}

/* --- sources --- */

/* Every {value, tag, source} below `node`, with its path. */
function factsOf(node, path, out) {
  if (!node || typeof node !== "object") return out;
  if (isObject(node) && "tag" in node && "source" in node) {
    out.push({ path: path.join(" "), key: path[path.length - 1], ...node });
    return out;
  }
  for (const [key, value] of Object.entries(node)) factsOf(value, [...path, key], out);
  return out;
}

function sourcesPart(facts) {
  const rows = factsOf(facts, [], []);
  return sortableTable("sources", "Every constant that may have gone into these figures", [
    { title: "constant", value: (r) => r.path, text: (r) => r.path.replace(/_/g, " ") },
    { title: "value", number: true, value: (r) => r.value, text: (r) => r.text },
    { title: "kind", value: (r) => r.tag, text: (r) => r.tag, node: (r) => make("span", { class: `tag ${r.tag}` }, r.tag) },
    { title: "source", value: (r) => r.source, text: (r) => (r.date ? `${r.source}; ${r.date}` : r.source) },
  ], rows);
}
