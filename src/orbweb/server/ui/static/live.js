// The live page follows one stream of events, each of them the whole small state. Only texts and attributes change;
// rows are added at the end, never moved. Whatever is under the pointer, focused or selected stays as it is.
import { onKey } from "./keys.js";
import { LiveChart } from "./live_chart.js";

const root = document.querySelector("[data-live]");
const base = root.dataset.live;
const chart = new LiveChart(root.querySelector("[data-chart]"), `${base}/rate.json`);
const retries = [1, 2, 4, 8, 16, 30];
let stream;
let failures = 0;
let timer;
let seen;

function text(node, value) {
  if (node && node.textContent !== value && !isHeld(node)) node.textContent = value;
}

function attribute(node, name, value) {
  if (node && node.getAttribute(name) !== value) node.setAttribute(name, value);
}

function isHeld(node) {
  const selection = getSelection();
  return Boolean(selection && !selection.isCollapsed && selection.containsNode(node, true));
}

function number(value) {
  return value.toLocaleString("en-US");
}

function cell(row, name) {
  return row.querySelector(`[data-cell="${name}"]`);
}

function cells(row, values) {
  for (const [name, value] of Object.entries(values)) text(cell(row, name), value);
}

// Rows by name: known ones are filled, new ones copied from the first and appended.
function keyed(body, rows, name, fill, make) {
  const known = new Map([...body.rows].map((row) => [row.dataset.row, row]));
  for (const each of rows) {
    let row = known.get(each[name]);
    if (!row) {
      row = make();
      row.dataset.row = each[name];
      body.append(row);
    }
    fill(row, each);
  }
}

function element(tag, className, data = {}, children = []) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  Object.assign(made.dataset, data);
  made.append(...children);
  return made;
}

function slotRow() {
  return element("tr", "", {}, [
    element("td", "number faint", { cell: "name" }),
    element("td", "mono url", { cell: "url" }, [element("span", "host", { cell: "host" }), element("span", "", { cell: "rest" })]),
    element("td", "ink2 wide", { cell: "source" }),
    element("td", "number ink2 wide", { cell: "place" }),
    element("td", "number", { cell: "age" }),
  ]);
}

function failureRow() {
  return element("tr", "", {}, [
    element("td", "", {}, [element("a", "red", { cell: "kind" })]),
    element("td", "number strong", { cell: "count" }),
    element("td", "mono url", {}, [element("span", "host", { cell: "host" }), element("span", "", { cell: "rest" })]),
    element("td", "ink2 wide", { cell: "cause" }),
    element("td", "number ink2", { cell: "ago" }),
  ]);
}

function hostRow() {
  return element("tr", "", {}, [
    element("td", "mono", {}, [element("span", "", { cell: "short" }), element("span", "wide", { cell: "suffix" })]),
    element("td", "number strong", { cell: "rate" }),
    element("td", "number wide", { cell: "queued" }),
    element("td", "ink2", { cell: "pace" }),
  ]);
}

function barRow(tone, name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  svg.setAttribute("class", `bar-track ${tone}`);
  svg.setAttribute("aria-hidden", "true");
  rect.setAttribute("height", "100%");
  rect.dataset.share = "";
  svg.append(rect);
  const head = element("th", "");
  head.scope = "row";
  head.textContent = name;
  return element("tr", "", {}, [head, element("td", "", {}, [svg]), element("td", "number", {}, [element("a", "", { cell: "count" })])]);
}

function slots(body, rows, className) {
  while (body.rows.length < rows.length) body.append(slotRow());
  [...body.rows].forEach((row, at) => {
    const each = rows[at] ?? { name: className ? "" : String(at + 1), host: "", rest: "", source: "", place: "", age: "", slow: false };
    const isFree = !each.rest;
    row.className = `${className}${isFree ? " free" : ""}`;
    cells(row, { ...each, rest: isFree ? (className ? "" : "free") : each.rest });
    cell(row, "url").title = each.host + each.rest;
    cell(row, "age").classList.toggle("amber", each.slow);
  });
}

function bars(name, rows) {
  const body = root.querySelector(`[data-bars="${name}"]`);
  for (const each of rows) {
    keyed(body, [each], "name", (row) => {
      attribute(row.querySelector("[data-share]"), "width", `${each.share}%`);
      text(cell(row, "count"), each.count);
      if (each.href) attribute(row.querySelector("a[data-cell]"), "href", each.href);
    }, () => barRow(body.dataset.tone || each.tone, each.name));
  }
}

function thread(parts, label) {
  const svg = document.querySelector(".bar + .thread");
  if (!svg) return;
  attribute(svg, "aria-label", label);
  for (const part of parts) {
    const rect = svg.querySelector(`[data-part="${part.name}"]`);
    attribute(rect, "x", `${part.start}%`);
    attribute(rect, "width", `${part.share}%`);
    if (part.name === "failed") {
      const least = svg.querySelector('[data-part="failed-least"]');
      attribute(least, "x", `${part.start}%`);
      attribute(least, "width", part.count ? "4" : "0");
    }
  }
}

function show(state) {
  root.dataset.state = state;
  for (const each of root.querySelectorAll("[data-when]")) {
    const hide = !each.dataset.when.split(" ").includes(state);
    if (each.hidden !== hide) each.hidden = hide;
  }
}

// Another run begins with empty lists; its figures are not those of the one before.
function forget() {
  for (const name of ["failures", "hosts"]) root.querySelector(`[data-${name}]`).replaceChildren();
  chart.load();
}

function fill(now) {
  if (String(now.run ?? "") !== root.dataset.run) {
    root.dataset.run = now.run ?? "";
    forget();
  }
  for (const name of ["title", "took", "since", "updated", "settled"]) text(root.querySelector(`[data-text="${name}"]`), now[name]);
  text(root.querySelector('[data-text="traps"]'), number(now.traps));
  text(root.querySelector('[data-text="may_pass"]'), number(now.may_pass));
  root.querySelector("[data-may-pass]").hidden = !now.may_pass;
  for (const [name, each] of Object.entries(now.figures)) {
    text(root.querySelector(`[data-figure="${name}"]`), each.figure);
    text(root.querySelector(`[data-context="${name}"]`), each.context);
    text(root.querySelector(`[data-unit="${name}"]`), each.unit);
  }
  for (const [name, each] of Object.entries(now.latency)) text(root.querySelector(`[data-latency="${name}"]`), each);
  for (const [name, count] of Object.entries(now.counts)) {
    for (const node of document.querySelectorAll(`[data-count="${name}"]`)) text(node, number(count));
  }
  const failed = now.counts.failed > 0;
  document.querySelector('[data-count="failed"]')?.classList.toggle("red", failed);
  root.querySelector('[data-figure="failed"]').closest(".stat").classList.toggle("red", failed);
  const pill = document.querySelector("[data-pill]");
  if (pill && now.at_work) text(pill.querySelector("[data-pill-rate]"), now.rate);
  thread(now.thread.parts, now.thread_label);
  slots(root.querySelector("[data-slots]"), now.slots, "");
  slots(root.querySelector("[data-next]"), now.next, "next");
  keyed(root.querySelector("[data-failures]"), now.failures, "kind", (row, each) => {
    cells(row, each);
    attribute(row.querySelector("a"), "href", each.href);
  }, failureRow);
  const none = root.querySelector("[data-none]");
  none.hidden = now.failures.length > 0;
  text(none, now.so_far ? "Counting what was visited so far." : "Nothing failed.");
  keyed(root.querySelector("[data-hosts]"), now.hosts, "host", (row, each) => {
    cells(row, each);
    const pace = cell(row, "pace");
    attribute(pace, "title", each.pace);
    pace.classList.toggle("amber", each.waits);
    pace.classList.toggle("ink2", !each.waits);
  }, hostRow);
  bars("sources", now.sources);
  bars("classes", now.classes);
  show(now.state);
  chart.add(now.points, now.notes);
  seen = now;
}

function lost(isLost) {
  const line = root.querySelector("[data-lost]");
  const waits = seen?.state === "waiting" || (!seen && root.dataset.state === "waiting");
  const at = root.querySelector('[data-text="updated"]').textContent;
  text(line, isLost ? `The stream is lost; figures are those of ${at}. Trying again.` : waits ? "Waits for its turn: other crawls are at work." : "");
}

function open() {
  close();
  stream = new EventSource(`${base}/events`);
  stream.addEventListener("live", (event) => {
    if (failures) chart.load();
    failures = 0;
    fill(JSON.parse(event.data));
    lost(false);
  });
  stream.addEventListener("error", () => {
    close();
    lost(true);
    timer = setTimeout(open, retries[Math.min(failures, retries.length - 1)] * 1000);
    failures += 1;
  });
}

function close() {
  clearTimeout(timer);
  stream?.close();
  stream = undefined;
}

// A tab that nobody sees costs nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else { chart.load(); open(); }
});

function press(key) {
  onKey(key, () => {
    const button = [...root.querySelectorAll(`[data-key-live="${key}"]`)].find((each) => !each.closest("[hidden]"));
    button?.click();
    return Boolean(button);
  });
}
press("p");
press("s");

for (const link of root.querySelectorAll("[data-span]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    for (const each of root.querySelectorAll("[data-span]")) each.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    chart.span = link.dataset.span;
    chart.load();
  });
}

// The rule box: judged 200 ms after typing; the last answer stays until the next is there.
const rule = root.querySelector("[data-rule]");
const preview = root.querySelector("[data-preview]");
let typed;
let asked = 0;

async function judge() {
  const mine = ++asked;
  const response = await fetch(`${base}/rule?${new URLSearchParams(new FormData(rule))}`, { headers: { accept: "text/html" } }).catch(() => null);
  if (response?.ok && mine === asked) {
    preview.innerHTML = await response.text();
    rule.elements.pattern.toggleAttribute("aria-invalid", Boolean(preview.querySelector(".error")));
  }
}

rule.addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(judge, 200);
});
rule.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typed);
  judge();
});
preview.addEventListener("click", (event) => {
  if (!event.target.closest("[data-clear]")) return;
  event.preventDefault();
  rule.elements.pattern.value = "";
  judge();
  rule.elements.pattern.focus();
});

chart.span = root.querySelector("[data-span][aria-current]")?.dataset.span ?? "5 min";
chart.load();
if (!document.hidden) open();
