/* The gantt as it was drawn, with zoom: only the transform of its group and the ticks of its axis change. */

function ganttAxis(svg, from, shown) {
  const left = Number(svg.dataset.left), width = Number(svg.dataset.width), span = Number(svg.dataset.span), foot = Number(svg.dataset.foot);
  const least = (span * shown) / 10, power = 10 ** Math.floor(Math.log10(least)), times = least / power;
  const tick = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
  const decimals = Math.max(0, Math.ceil(-Math.log10(tick) - 1e-9)), nodes = [];
  const add = (name, attributes, text) => {
    const node = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    nodes.push(node);
  };
  for (let i = Math.ceil((from * span) / tick - 1e-9); i * tick <= (from + shown) * span * (1 + 1e-9); i++) {
    const x = left + (width * (i * tick - from * span)) / (span * shown);
    add("line", { class: "grid", x1: x, x2: x, y1: foot, y2: foot + 5 }, "");
    add("text", { class: "soft", "text-anchor": "middle", x, y: foot + 18 }, `${(i * tick).toFixed(decimals)} s`);
  }
  return nodes;
}

/* Boxes of a path, [from, to, label] in units: it runs along its foot (1) and stands at its head (0) where a box is. */
function boxesOf(path) {
  if (path.boxes) return path.boxes;
  const labels = (path.dataset.m || "").split(" ").flatMap((word) => {
    const [, first, last] = word.match(/^(\d+)-(\d+)$/) || [];
    return first === undefined ? [word] : Array.from({ length: last - first + 1 }, (_, i) => String(Number(first) + i));
  });
  let x = 0, head = false;
  path.boxes = [];
  for (const [, what, number] of path.getAttribute("d").matchAll(/([MVh])(\d+)/g)) {
    if (what === "V") head = number === "0";
    else if (what === "M") x = Number(number);
    else {
      if (head) path.boxes.push([x, x + Number(number), labels[path.boxes.length]]);
      x += Number(number);
    }
  }
  return path.boxes;
}

function ganttTools(svg) {
  const { left, width, units, span } = Object.fromEntries(Object.entries(svg.dataset).map(([key, value]) => [key, Number(value)]));
  const group = svg.querySelector(".zoom"), axis = svg.querySelector(".axis");
  const names = [...svg.querySelectorAll("text.ink[text-anchor=end]")].map((text) => text.textContent);
  const said = make("output", { class: "said" }, "Point at a box; with the picture chosen, arrows move and + \u2212 zoom.");
  let from = 0, shown = 1; /* of the step */

  function view(newFrom, newShown) {
    shown = Math.max(1e-4, Math.min(1, newShown));
    from = Math.max(0, Math.min(1 - shown, newFrom));
    const scale = width / units / shown;
    group.setAttribute("transform", `translate(${left - from * units * scale} 0) scale(${scale} 1)`);
    axis.replaceChildren(...ganttAxis(svg, from, shown));
  }
  const zoom = (times, at = 0.5) => view(from + at * (shown - shown / times), shown / times);
  const move = (part) => view(from + part * shown, shown);
  /* Where in the plot an event is, 0..1. */
  function place(event) {
    const box = svg.getBoundingClientRect();
    return (((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width - left) / width;
  }
  function tell(event) {
    const path = event.target.closest("path[data-name]");
    if (!path) return;
    const unit = (from + place(event) * shown) * units, slack = (units * shown) / width;
    const box = boxesOf(path).find(([a, b]) => unit >= a && unit <= b) || boxesOf(path).find(([a, b]) => unit >= a - slack && unit <= b + slack);
    if (!box) return;
    const [a, b] = box.slice(0, 2).map((u) => (u / units) * span), batch = path.dataset.m ? box[2] : "-1";
    const row = [...group.children].indexOf(path.parentNode);
    said.textContent = `${names[row]}: ${path.dataset.name}${batch === "-1" ? "" : ` of micro-batch ${batch}`}, ${seconds(a)} to ${seconds(b)} (${seconds(b - a)})`;
  }
  const button = (label, text, act) => {
    const node = make("button", { type: "button", "aria-label": label }, text);
    node.addEventListener("click", act);
    return node;
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("mousemove", tell);
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.3 : 1 / 1.3, Math.max(0, Math.min(1, place(event))));
  }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    const act = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(2), "=": () => zoom(2), "-": () => zoom(0.5), Home: () => view(0, 1) }[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    said.textContent = `${seconds(from * span)} to ${seconds((from + shown) * span)} of ${seconds(span)}`;
  });
  return make("p", { class: "tools" },
    button("Zoom in", "+", () => zoom(2)), button("Zoom out", "\u2212", () => zoom(0.5)), button("Earlier", "\u2190", () => move(-0.5)),
    button("Later", "\u2192", () => move(0.5)), button("The whole step", "all", () => view(0, 1)),
    make("label", { for: "show-chain", class: "together" }, make("input", { type: "checkbox", id: "show-chain", checked: true }), " critical path"), said);
}

/* Figures of the critical path, and of the rows. */
function coursePart(course) {
  const keys = Object.keys(course.gpus[0] || {}).filter((key) => key !== "gpu" && course.gpus.some((row) => row[key] > 0));
  const whole = course.chain.reduce((sum, term) => sum + term.value_s, 0);
  return [sortableTable("chain", "What the end of the step hung on", [
    { title: "critical path", value: (r) => r.name, text: (r) => r.name },
    { title: "time", number: true, value: (r) => r.value_s, text: (r) => seconds(r.value_s) },
    { title: "share", number: true, value: (r) => r.value_s, text: (r) => percent(r.value_s / whole) },
    { title: "", value: () => 0, text: () => "", node: (r) => bar(r.value_s / whole) },
  ], course.chain), sortableTable("course", "What the step of each kind of GPU went on", [
    { title: "GPU", value: (r) => r.gpu, text: (r) => r.gpu },
    ...keys.map((key) => ({ title: key, number: true, value: (r) => r[key], text: (r) => seconds(r[key]) })),
  ], course.gpus)];
}

function liveGantt(course) {
  const svg = document.querySelector("svg.gantt");
  if (!svg) return;
  const figure = svg.closest("figure"), tools = ganttTools(svg);
  figure.before(tools);
  tools.querySelector("input").addEventListener("change", (event) => { svg.querySelector(".zoom > .chain").style.display = event.target.checked ? "" : "none"; });
  if (course && course.chain.length) figure.after(...coursePart(course));
}
