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
  return `${unit ? value.toPrecision(3) : value} ${units[unit]}`;
}

function scaled(value, unit) {
  const prefixes = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const [size, letter] = prefixes.find(([least]) => Math.abs(value) >= least) || [1, ""];
  return `${digits(value / size)} ${letter}${unit}`;
}

const percent = (value) => `${(100 * value).toFixed(1)} %`;

/* Longest endings first. */
const UNITS = [
  ["_bytes_per_s", (v) => scaled(v, "B/s")],
  ["_flops_per_s_per_gpu", (v) => scaled(v, "FLOP/s")],
  ["tokens_per_s_per_gpu", digits],
  ["_usd_per_gpu_hour", (v) => `${digits(v)} USD`],
  ["_per_s", (v) => `${digits(v)} /s`],
  ["_bytes", bytes],
  ["_frac", percent],
  ["_usd", (v) => `${digits(v)} USD`],
  ["_j", (v) => scaled(v, "J")],
  ["_s", seconds],
];

function shown(key, value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!isNumber(value)) return String(value);
  const unit = UNITS.find(([ending]) => `_${key}`.endsWith(ending));
  return unit ? unit[1](value) : digits(value);
}

/* "memory_peak_bytes" -> "memory peak". */
function heading(key) {
  return key.replace(/(_per_s_per_gpu)$/, " per s and GPU").replace(/_(s|bytes|frac|count|usd|j)$/, "").replace(/_/g, " ");
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
