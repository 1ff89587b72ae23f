// The plan is read while someone types, one at a time, and the last one stays until the next is there. The command
// follows at once. Start never waits for either.
const PAUSE_MS = 700;

const form = document.querySelector("#new");
const panel = document.querySelector("#plan");
const command = document.querySelector("#command");
let timer;
let busy = false;
let again = false;
let asked = "";

function body() {
  return new URLSearchParams(new FormData(form));
}

function isUrl(text) {
  const first = text.trim().split(/\s+/)[0] ?? "";
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(first) ? first : `https://${first}`;
  try {
    const url = new URL(whole);
    return /^https?:$/.test(url.protocol) && (url.hostname.includes(".") || url.hostname === "localhost" || url.hostname.startsWith("["));
  } catch {
    return false;
  }
}

async function read(force) {
  const fields = body();
  if (!isUrl(form.elements.url.value)) return;
  if (!force && fields.toString() === asked) return;
  if (busy) { again = true; return; }
  busy = true;
  asked = fields.toString();
  panel.setAttribute("aria-busy", "true");
  try {
    const response = await fetch("/new/plan?fragment=1", { method: "POST", body: fields, headers: { accept: "text/html" } });
    if (response.ok) {
      panel.innerHTML = await response.text();
      form.elements.project.placeholder = panel.querySelector("[data-project-name]")?.textContent ?? "";
    }
  } catch {
    // The server does not answer: the last plan stays.
  }
  panel.removeAttribute("aria-busy");
  busy = false;
  if (again) { again = false; read(false); }
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function lines(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

function words(control) {
  const flag = control.dataset.flag;
  const value = control.value.trim();
  if (!value || (control.type === "radio" && !control.checked)) return [];
  if ("lines" in control.dataset) return lines(value).map((line) => `${flag}=${line}`);
  if (control.tagName === "SELECT" && (value === "on" || value === "off")) return [value === "on" ? flag : flag.replace("--", "--no-")];
  return [`${flag}=${value}`];
}

function follow() {
  const urls = lines(form.elements.url.value).map((line) => (line.includes("://") ? line : `https://${line}`));
  const options = [...form.querySelectorAll("[data-flag]")].flatMap(words);
  command.textContent = ["orbweb", "crawl", ...(urls.length ? urls : ["URL"]), ...options].map(quoted).join(" ");
  const rules = ["exclude", "include"].map((name) => [name, lines(form.elements[name].value).length]).filter(([, count]) => count);
  const head = form.querySelector('[data-section="scope"]');
  if (head) head.textContent = rules.map(([name, count]) => `${count} ${name}`).join(", ") || "everything below the base URLs";
  for (const area of form.querySelectorAll("textarea")) area.rows = Math.max(1, area.value.split("\n").length);
}

form.addEventListener("input", () => {
  follow();
  clearTimeout(timer);
  timer = setTimeout(() => read(false), PAUSE_MS);
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-plan-button]")) return;
  event.preventDefault();
  read(true);
});
follow();
// A link of another site may fill in the form, but not make this server fetch something.
if (document.referrer.startsWith(`${location.origin}/`)) read(false);
