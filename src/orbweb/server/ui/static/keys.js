// Keys. A link or a button names its key with `data-key`; tabs are reached with `g` and a letter; `j` and `k` move a
// cursor over the rows of a table with `data-rows`. Off in fields, and where the user switched them off.
const STORE = "orbweb_keys";
const TABS = { o: "overview", l: "live", p: "pages", f: "failed", q: "queue", s: "skipped", c: "changes", m: "map", t: "settings" };
const GO_MS = 1500;

const extra = new Map();
let wentAt = -Infinity;

// A screen adds its own keys: `onKey("J", next)`. A handler that returns false leaves the key alone.
export function onKey(key, act) {
  extra.set(key, act);
}

export function startKeys() {
  const dialog = document.querySelector("#keys");
  const box = document.querySelector("[data-keys-switch]");
  if (box) {
    box.checked = isOn();
    box.addEventListener("change", () => remember(box.checked));
  }
  document.querySelector("[data-keys]")?.addEventListener("click", (event) => {
    if (dialog) { event.preventDefault(); dialog.showModal(); }
  });
  // The cursor follows the focus, so that Tab and j agree.
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-rows] tbody tr");
    if (row) mark(rows(), row);
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { submitMain(event); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isField(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (dialog?.open || !isOn()) return;
    if (act(event, dialog)) event.preventDefault();
  });
}

function act(event, dialog) {
  const key = event.key;
  const going = event.timeStamp - wentAt < GO_MS;
  wentAt = -Infinity;
  if (going && TABS[key]) return follow(document.querySelector(`[data-tab="${TABS[key]}"]`));
  const own = extra.get(key);
  if (own) return own(event) !== false;
  if (key === "g") { wentAt = event.timeStamp; return true; }
  if (key === "?") { dialog?.showModal(); return Boolean(dialog); }
  if (key === "/") return focus(document.querySelector("#find:not([hidden])"));
  if (key === "f") return focus(document.querySelector("[data-filter]"));
  if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
  if (key === "Enter") return event.target === document.body && open();
  if (key === "Escape") return closeMenus();
  if (key.startsWith("Arrow") && event.target.closest("pre, [tabindex]")) return false;
  return follow(document.querySelector(`[data-key="${CSS.escape(key)}"]`));
}

function follow(element) {
  if (!element || element.disabled) return false;
  element.click();
  return true;
}

function focus(element) {
  if (!element || element.offsetParent === null) return false;
  element.focus();
  element.select?.();
  return true;
}

function rows() {
  return [...document.querySelectorAll("[data-rows] tbody tr")].filter((row) => row.querySelector("a[href]"));
}

function move(step) {
  const all = rows();
  if (!all.length) return false;
  const at = all.findIndex((row) => row.classList.contains("cursor"));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  const link = next.querySelector("a[href]");
  link.classList.add("at-cursor");
  link.focus({ preventScroll: true });
  mark(all, next);
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function mark(all, chosen) {
  for (const row of all) row.classList.toggle("cursor", row === chosen);
}

function open() {
  return follow(document.querySelector("[data-rows] tr.cursor a[href]"));
}

function closeMenus() {
  const menus = document.querySelectorAll("details.menu[open]");
  for (const menu of menus) menu.open = false;
  return menus.length > 0;
}

function submitMain(event) {
  const form = document.querySelector("form[data-main]");
  if (!form) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("button.primary"));
}

function isField(element) {
  if (!(element instanceof HTMLElement)) return false;
  if (element.isContentEditable || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement) return true;
  return element instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit"].includes(element.type);
}

function isOn() {
  try { return localStorage.getItem(STORE) !== "off"; } catch { return true; }
}

function remember(on) {
  try { localStorage.setItem(STORE, on ? "on" : "off"); } catch { /* Private mode: they stay as they are. */ }
}
