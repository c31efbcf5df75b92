"use strict";
/* Elements, and numbers as people read them. Keys of an answer end in their SI unit; from that follows
 * how a value is shown. */

/* make("p", {id: "x"}, "text", child): attributes as they are written, children as text or nodes. */
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function data(id) {
  const node = document.getElementById(id);
  return node ? JSON.parse(node.textContent) : null;
}

const isNumber = (value) => typeof value === "number";
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/* Three digits, thousands apart. */
function digits(value) {
  if (Number.isInteger(value) || Math.abs(value) >= 999.5) return Math.round(value).toLocaleString("en-US");
  return value.toPrecision(3);
}

function seconds(value) {
  const size = Math.abs(value);
  if (value === 0) return "0 s";
  if (size >= 1) return `${value.toFixed(size >= 10 ? 1 : 2)} s`;
  return size >= 1e-3 ? `${digits(value * 1e3)} ms` : `${digits(value * 1e6)} µs`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit++;
  }
  return `${unit ? digits(value) : value} ${units[unit]}`;
}

function scaled(value, unit) {
  const prefixes = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const [size, letter] = prefixes.find(([least]) => Math.abs(value) >= least) || [1, ""];
  return `${digits(value / size)} ${letter}${unit}`;
}

const percent = (value) => `${(100 * value).toFixed(1)} %`;

/* How values are shown by how their keys end; the first that fits. */
const UNITS = [
  [/(^|_)count$/, digits],
  [/_bytes_per_s$/, (v) => scaled(v, "B/s")],
  [/_flops_per_s_per_gpu$/, (v) => scaled(v, "FLOP/s")],
  [/_per_s_per_gpu$/, (v) => `${digits(v)} /s per GPU`],
  [/(^|_)usd_per_[a-z_]+$/, (v, key) => `${digits(v)} USD per ${words(key.replace(/^.*usd_per_/, ""))}`],
  [/(^|_)j_per_[a-z_]+$/, (v, key) => `${scaled(v, "J")} per ${words(key.replace(/^.*j_per_/, ""))}`],
  [/_per_s$/, (v) => `${digits(v)} /s`],
  [/_bytes$/, bytes],
  [/_frac$/, percent],
  [/(^|_)usd$/, (v) => `${digits(v)} USD`],
  [/^gpu_s$/, (v) => `${digits(v / 3600)} GPU hours`],
  [/(^|_)j$/, (v) => scaled(v, "J")],
  [/_s$/, seconds],
];

const words = (key) => key.replace(/_/g, " ");
const unitFor = (key) => UNITS.find(([ending]) => ending.test(key));

/* Of keys from the outermost to the value's own, the one that says its unit: its own, or the nearest that has one. */
function unitKey(path) {
  return [...path].reverse().find(unitFor) || path[path.length - 1];
}

function shown(key, value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!isNumber(value)) return String(value);
  const unit = unitFor(key);
  return unit ? unit[1](value, key) : digits(value);
}

/* "memory_peak_bytes" -> "memory peak": without the unit that the value shows. */
function heading(key) {
  if (key === "gpu_s") return "GPU time";
  return words(key.replace(/_?(usd|(^|_)j)_per_[a-z_]+$/, "").replace(/_per_s(_per_gpu)?$/, "").replace(/_(s|bytes|frac|count|usd|j)$/, "")) || words(key);
}

/* A bar of a share of 0..1. Its length is said beside it in numbers. */
function bar(share, kind) {
  const fill = make("span", { class: `fill ${kind || ""}` });
  fill.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, fill);
}

function section(id, title, ...children) {
  return make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), ...children);
}

/* One that opens at its title. */
function folded(id, title, ...children) {
  return make("section", { id, class: "folded", "aria-labelledby": `${id}-title` }, make("details", {}, make("summary", {}, make("h2", { id: `${id}-title` }, title)), ...children));
}
