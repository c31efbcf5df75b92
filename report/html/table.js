/* A table that is sorted by its headings and searched by a field above it. A column: {title, value(row):
 * what it is sorted by, text(row), node(row): what is shown, number: right-aligned}. */

function compareValues(a, b) {
  const emptyA = a === null || a === undefined || a === "", emptyB = b === null || b === undefined || b === "";
  if (emptyA || emptyB) return emptyA - emptyB; /* empty cells last, whichever way */
  return isNumber(a) && isNumber(b) ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function cell(column, row) {
  const content = column.node ? column.node(row) : column.text(row);
  const length = typeof content === "string" ? content.length : 0;
  return make("td", { class: column.number ? "number" : length > 40 ? "long" : length > 0 && length <= 20 ? "short" : null }, content);
}

function searchField(id, count, onInput) {
  const field = make("input", { type: "search", id: `${id}-search`, autocomplete: "off" });
  field.addEventListener("input", () => onInput(field.value));
  return make("p", { class: "tools" }, make("label", { for: `${id}-search` }, "Search "), field, count);
}

function sortableTable(id, caption, columns, rows, searched) {
  const body = make("tbody");
  const count = make("span", { role: "status", class: "count" });
  let order = { column: null, down: false }, words = [];

  const lines = rows.map((row) => {
    const line = make("tr", {}, ...columns.map((column) => cell(column, row)));
    return { row, line, text: line.textContent.toLowerCase() + " " + columns.map((c) => c.text(row)).join(" ").toLowerCase() };
  });
  function show() {
    const left = lines.filter(({ text }) => words.every((word) => text.includes(word)));
    if (order.column) {
      const value = (line) => order.column.value(line.row);
      const empty = (x) => x === null || x === undefined || x === "";
      left.sort((a, b) => {
        const way = order.down && !empty(value(a)) && !empty(value(b)) ? -1 : 1;
        return way * compareValues(value(a), value(b));
      });
    }
    body.replaceChildren(...left.map(({ line }) => line));
    count.textContent = left.length === rows.length ? ` ${rows.length} rows` : ` ${left.length} of ${rows.length} rows`;
  }
  const heads = columns.map((column) => {
    if (!column.title) return make("td"); /* of bars: beside the column that they show */
    const button = make("button", { type: "button" }, column.title);
    const head = make("th", { scope: "col", class: column.number ? "number" : null, title: column.about }, button);
    button.addEventListener("click", () => {
      order = { column, down: order.column === column && !order.down };
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      show();
    });
    return head;
  });
  show();
  const table = make("table", { id: `${id}-table` }, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), body);
  const search = rows.length > 12 || searched ? searchField(id, count, (text) => {
    words = text.toLowerCase().split(/\s+/).filter(Boolean);
    show();
  }) : null;
  return make("div", { class: "block" }, search, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table));
}

/* Columns of what the rows hold: scalars, and those of objects one level below. */
function columnsOf(rows) {
  const found = new Map();
  const add = (keys, get) => {
    const path = keys.join(".");
    if (found.has(path)) return;
    const some = rows.map(get).filter((value) => value !== null && value !== undefined);
    const numbers = some.length > 0 && some.every(isNumber);
    found.set(path, { title: keys.map(heading).join(" "), number: numbers, value: get, text: (row) => shown(unitKey(keys), get(row)) });
  };
  for (const row of rows)
    for (const [key, value] of Object.entries(row)) {
      if (isObject(value))
        for (const [inner, leaf] of Object.entries(value)) {
          if (typeof leaf !== "object") add([key, inner], (r) => (isObject(r[key]) ? r[key][inner] : null));
        }
      else if (!Array.isArray(value)) add([key], (r) => (typeof r[key] === "object" ? null : r[key]));
    }
  return [...found.values()].filter((column) => rows.some((row) => column.text(row) !== ""));
}
