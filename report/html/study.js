"use strict";
/* The table of a study: pivoted by any two axes, once for each value of a third; figures against each
 * other; what moves them; and behind every cell the commands that gave it. */

/* Rows as objects {line, of: {column: value}}. */
function studyRows(doc) {
  return doc.rows.map((row) => ({ line: row.line, of: Object.fromEntries(doc.columns.map((name, i) => [name, row.cells[i]])) }));
}

const unitOf = (column) => unitKey(column.split("."));
const figureText = (column, value) => shown(unitOf(column), value);
/* Is less of it better? By how its key ends, as far as that says. */
const lessIsBetter = (column) => isError(column) || !/(_frac|per_s|per_s_per_gpu|goodput.*|rate.*|overloaded|fits)$/.test(unitOf(column));
/* How far a figure may be off is nobody's goal. */
const isError = (column) => /error_frac$/.test(column);
/* What does not fit, or cannot keep up, is no candidate for the best. */
const isUsable = (row) => row.of.fits !== false && row.of.overloaded !== true;
const axisText = (value) => (value === null ? "none" : String(value));

/* In the study's order, which is somebody's choice. */
function valuesOf(rows, axis) {
  return [...new Set(rows.map((row) => row.of[axis]))];
}

function choose(id, label, options, first, onChange) {
  const select = make("select", { id }, ...options.map(([value, text]) => make("option", { value, selected: value === first }, text)));
  select.addEventListener("change", onChange);
  return [make("label", { for: id }, `${label} `), select, " "];
}

const GATHERS = {
  best: (numbers, less) => (less ? Math.min(...numbers) : Math.max(...numbers)),
  worst: (numbers, less) => (less ? Math.max(...numbers) : Math.min(...numbers)),
  mean: (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length,
  "middle one": (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)],
};

/* The questions behind a cell, the best first. */
function behind(title, rows, column) {
  const less = lessIsBetter(column);
  const sorted = [...rows].sort((a, b) => (less ? 1 : -1) * compareValues(a.of[column], b.of[column]));
  return make("div", {}, make("h3", {}, title), make("ul", { class: "behind" }, ...sorted.slice(0, 50).map((row) => make("li", {},
    make("b", {}, row.of.error ? row.of.error : figureText(column, row.of[column])), " ", make("code", { class: "flags" }, row.line)))),
    sorted.length > 50 ? make("p", {}, `and ${sorted.length - 50} more`) : null);
}

function shade(node, share) {
  node.style.background = `rgba(36, 120, 200, ${(0.08 + 0.62 * share).toFixed(3)})`;
}

/* One heat map; shades are of all maps together. */
function heatMap(rows, want, span, onCell) {
  const across = valuesOf(rows, want.across), down = valuesOf(rows, want.down);
  const line = (y) => make("tr", {}, make("th", { scope: "row" }, axisText(y)), ...across.map((x) => {
    const here = rows.filter((row) => row.of[want.across] === x && row.of[want.down] === y);
    const numbers = here.filter(isUsable).map((row) => row.of[want.figure]).filter(isNumber);
    if (here.length === 0) return make("td", { class: "number" });
    const value = numbers.length ? GATHERS[want.gather](numbers, lessIsBetter(want.figure)) : null;
    const button = make("button", { type: "button" }, value === null ? "none" : figureText(want.figure, value));
    const cellNode = make("td", { class: "number heat" }, button);
    if (value !== null && span[1] > span[0]) shade(cellNode, (lessIsBetter(want.figure) ? span[1] - value : value - span[0]) / (span[1] - span[0]));
    button.addEventListener("click", () => onCell(`${want.down} ${axisText(y)}, ${want.across} ${axisText(x)}`, here));
    return cellNode;
  }));
  return make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, `${want.down} \\ ${want.across}`), ...across.map((x) => make("th", { scope: "col" }, axisText(x))))),
    make("tbody", {}, ...down.map(line)));
}

/* All values that the maps will show, for their common shades. */
function spanOf(maps, want) {
  const shownValues = maps.flatMap((rows) => valuesOf(rows, want.across).flatMap((x) => valuesOf(rows, want.down).map((y) => {
    const numbers = rows.filter((row) => row.of[want.across] === x && row.of[want.down] === y && isUsable(row)).map((row) => row.of[want.figure]).filter(isNumber);
    return numbers.length ? GATHERS[want.gather](numbers, lessIsBetter(want.figure)) : null;
  }))).filter(isNumber);
  return [Math.min(...shownValues), Math.max(...shownValues)];
}

/* What the filter leaves. */
function filtered(rows) {
  const text = document.getElementById("pivot-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => text.every((word) => row.line.toLowerCase().includes(word)));
}

function pivotPart(doc, rows, axes, figuresOf, onFilter) {
  const maps = make("div", { class: "maps" }), cells = make("div", { id: "behind", role: "status" });
  const moving = axes.filter((axis) => valuesOf(rows, axis).length > 1);
  const names = moving.length > 1 ? moving : [...moving, ...axes.filter((axis) => !moving.includes(axis))];
  const at = (id) => document.getElementById(id).value;
  function show() {
    const want = { across: at("pivot-across"), down: at("pivot-down"), figure: at("pivot-figure"), gather: at("pivot-gather"), each: at("pivot-each") };
    const left = filtered(rows);
    const parts = want.each ? valuesOf(left, want.each).map((value) => [value, left.filter((row) => row.of[want.each] === value)]) : [[null, left]];
    const span = spanOf(parts.map(([, some]) => some), want);
    maps.replaceChildren(...parts.map(([value, some]) => make("div", { class: "scroll" }, want.each ? make("h3", {}, `${want.each} ${axisText(value)}`) : null,
      heatMap(some, want, span, (title, here) => cells.replaceChildren(behind(title, here, want.figure))))));
    const unusable = left.filter((row) => !isUsable(row)).length;
    cells.replaceChildren(make("p", {}, `${left.length} of ${rows.length} questions${unusable ? `, of which ${unusable} do not fit or keep up and are not counted` : ""}; a cell's commands are shown at a click`));
  }
  const filter = make("input", { type: "search", id: "pivot-filter", autocomplete: "off" });
  filter.addEventListener("input", () => {
    show();
    onFilter();
  });
  const one = (list) => list.map((name) => [name, name]);
  const tools = make("p", { class: "tools" }, ...choose("pivot-figure", "Figure", one(figuresOf), figuresOf[0], show),
    ...choose("pivot-gather", "of each cell the", one(Object.keys(GATHERS)), "best", show), ...choose("pivot-down", "down", one(names), names[0], show),
    ...choose("pivot-across", "across", one(names), names[1] || names[0], show), ...choose("pivot-each", "a map for each", [["", "(one)"], ...one(names)], "", show),
    make("label", { for: "pivot-filter" }, "Only with "), filter);
  return { node: section("pivot", "By two axes", tools, maps, cells), show };
}

/* Figures against each other: who is not bettered in both is drawn full. */
function paretoPart(rows, figuresOf) {
  const drawing = make("div", { class: "picture" }), told = make("div", { id: "point", role: "status" });
  const at = (id) => document.getElementById(id).value;
  function show() {
    const [x, y] = [at("pareto-x"), at("pareto-y")];
    const points = filtered(rows).filter((row) => isUsable(row) && isNumber(row.of[x]) && isNumber(row.of[y]));
    const good = (row, key) => (lessIsBetter(key) ? 1 : -1) * row.of[key];
    const order = [...points].sort((a, b) => good(a, x) - good(b, x) || good(a, y) - good(b, y));
    let best = Infinity;
    const front = new Set(order.filter((row) => good(row, y) < best && ((best = good(row, y)), true)));
    drawing.replaceChildren(points.length === 0 ? "" : scatter(points, front, x, y, (row) => told.replaceChildren(behind(`${figureText(x, row.of[x])}, ${figureText(y, row.of[y])}`, [row], y))));
    told.replaceChildren(points.length ? behind(`${front.size} of ${points.length} are bettered by none in both`, [...front], x) : make("p", {}, "no question has both figures"));
  }
  const one = figuresOf.map((name) => [name, name]);
  const tools = make("p", { class: "tools" }, ...choose("pareto-x", "Across", one, figuresOf[0], show), ...choose("pareto-y", "up", one, figuresOf[1], show));
  return { node: section("trade", "Figures against each other", tools, drawing, told), show };
}

function scatter(points, front, x, y, onPoint) {
  const svg = (tag, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const [width, height, edge] = [760, 380, 130];
  const place = (key, low, high) => {
    const values = points.map((row) => row.of[key]), least = Math.min(...values), most = Math.max(...values);
    return { least, most, of: (row) => low + ((high - low) * (row.of[key] - least)) / (most - least || 1) };
  };
  const across = place(x, edge, width - 20), up = place(y, height - 40, 20);
  const dots = points.map((row) => {
    const dot = svg("circle", { cx: across.of(row), cy: up.of(row), r: front.has(row) ? 5 : 3.5, class: front.has(row) ? "front" : "bettered", tabindex: 0 }, svg("title", {}, row.line));
    dot.addEventListener("click", () => onPoint(row));
    dot.addEventListener("focus", () => onPoint(row));
    return dot;
  });
  const label = (text, left, top, anchor) => svg("text", { x: left, y: top, "text-anchor": anchor }, text);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "scatter", role: "img", "aria-label": `${y} over ${x}` },
    label(figureText(x, across.least), edge, height - 22, "start"), label(figureText(x, across.most), width - 20, height - 22, "end"), label(x, width / 2, height - 6, "middle"),
    label(figureText(y, up.least), edge - 6, height - 40, "end"), label(figureText(y, up.most), edge - 6, 26, "end"), label(y, 4, 12, "start"), ...dots);
}

function effectsPart(doc) {
  return section("moves", "What moves the figures", sortableTable("moves", "Share of a figure's variance that the means of an axis' values explain, over all questions that have the figure, also what does not fit; what is left to all is joint; below 0.5 % not shown", [
    { title: "figure", value: (r) => r.column, text: (r) => r.column },
    { title: "axis", value: (r) => r.axis, text: (r) => r.axis },
    { title: "of variance", number: true, value: (r) => r.share_frac, text: (r) => percent(r.share_frac) },
    { title: "", value: (r) => r.share_frac, text: () => "", node: (r) => bar(r.share_frac) },
    { title: "least mean", number: true, value: (r) => r.low, text: (r) => figureText(r.column, r.low) },
    { title: "at", value: (r) => r.at_low, text: (r) => r.at_low },
    { title: "most", number: true, value: (r) => r.high, text: (r) => figureText(r.column, r.high) },
    { title: "at", value: (r) => r.at_high, text: (r) => r.at_high },
  ], doc.effects.filter((effect) => effect.share_frac >= 0.005), true));
}

function studyTable(doc, rows) {
  const numbers = new Set(doc.columns.filter((name) => rows.some((row) => isNumber(row.of[name]))));
  return section("questions", "All questions", sortableTable("questions", "In the study's order", [
    ...doc.columns.filter((name) => rows.some((row) => row.of[name] !== null)).map((name, i) => ({
      title: name, number: numbers.has(name), value: (r) => r.of[name], text: (r) => (i < doc.axes_count || name === "status" ? axisText(r.of[name]) : figureText(name, r.of[name])) })),
    { title: "command", value: (r) => r.line, text: (r) => r.line, node: (r) => make("details", {}, make("summary", {}, "show"), make("code", { class: "flags" }, r.line)) },
  ], rows, true));
}

/* Figures with more than one value; all, where none has. */
function figuresThatDiffer(doc, rows) {
  const numbers = doc.columns.slice(doc.axes_count + 2).map((name) => [name, new Set(rows.map((row) => row.of[name]).filter(isNumber)).size]);
  const differ = numbers.filter(([, values]) => values > 1);
  return (differ.length ? differ : numbers.filter(([, values]) => values > 0)).map(([name]) => name);
}

/* The best question by each of the first figures. */
function studyCards(doc) {
  const rows = studyRows(doc), axes = doc.columns.slice(0, doc.axes_count);
  const moving = axes.filter((axis) => valuesOf(rows, axis).length > 1);
  const figuresOf = doc.columns.slice(doc.axes_count + 2).filter((name) => !isError(name) && new Set(rows.filter(isUsable).map((row) => row.of[name]).filter(isNumber)).size > 1);
  return figuresOf.slice(0, 6).map((name) => {
    const [best] = rows.filter((row) => isUsable(row) && isNumber(row.of[name])).sort((a, b) => (lessIsBetter(name) ? 1 : -1) * (a.of[name] - b.of[name]));
    return { title: `${lessIsBetter(name) ? "least" : "most"} ${name}`, value: figureText(name, best.of[name]), note: moving.map((axis) => `${axis} ${axisText(best.of[axis])}`).join(", ") };
  });
}

function studyParts(doc, tables) {
  const rows = studyRows(doc), axes = doc.columns.slice(0, doc.axes_count);
  const figuresOf = figuresThatDiffer(doc, rows);
  const parts = [], showAll = () => parts.slice(1).forEach((part) => part.show());
  if (figuresOf.length && axes.length) parts.push(pivotPart(doc, rows, axes, figuresOf, showAll));
  if (figuresOf.length > 1 && axes.length) parts.push(paretoPart(rows, figuresOf));
  if (doc.about) document.getElementById("cards").before(make("p", {}, doc.about));
  tables.append(...parts.map((part) => part.node));
  parts.forEach((part) => part.show());
  if (doc.effects.length) tables.append(effectsPart(doc));
  tables.append(studyTable(doc, rows));
}
