// Keys of the changes: j and k step over pages, J and K over hunks, x marks the page at the cursor as seen.
import { onKey } from "./keys.js";

const rows = [...document.querySelectorAll("tr[data-change]")];
const hunks = [...document.querySelectorAll(".hunk")];
let at = -1;

function select(next) {
  at = Math.min(rows.length - 1, Math.max(0, next));
  const url = rows[at].dataset.change;
  for (const row of rows) row.classList.toggle("cursor", row === rows[at]);
  for (const each of document.querySelectorAll("article[data-article]")) each.classList.toggle("cursor", each.dataset.article === url);
  rows[at].querySelector("a").focus({ preventScroll: true });
  rows[at].scrollIntoView({ block: "nearest" });
  article(url)?.scrollIntoView({ block: "start" });
}

function article(url) {
  return [...document.querySelectorAll("article[data-article]")].find((each) => each.dataset.article === url);
}

function step(by) {
  if (!rows.length) return false;
  select(at < 0 ? 0 : at + by);
  return true;
}

function stepHunk(by) {
  if (!hunks.length) return false;
  const now = hunks.indexOf(document.activeElement);
  const next = hunks[Math.min(hunks.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  const own = rows.findIndex((row) => row.dataset.change === next.closest("[data-article]").dataset.article);
  if (own >= 0) {
    at = own;
    for (const row of rows) row.classList.toggle("cursor", row === rows[at]);
  }
  return true;
}

onKey("j", () => step(1));
onKey("k", () => step(-1));
onKey("J", () => stepHunk(1));
onKey("K", () => stepHunk(-1));
onKey("x", () => {
  if (at < 0) return false;
  const form = [...document.querySelectorAll("form[data-seen]")].find((each) => each.dataset.seen === rows[at].dataset.change);
  if (!form) return false;
  form.requestSubmit(form.querySelector("button"));
  return true;
});

// A mark is stored without leaving the page; without this, the form does the same.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-seen]");
  if (!form) return;
  event.preventDefault();
  const button = form.querySelector("button");
  const body = new URLSearchParams(new FormData(form));
  body.set("seen", button.value);
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  if (answer.type !== "opaqueredirect" && !answer.ok) return;
  const seen = button.value === "1";
  button.value = seen ? "0" : "1";
  button.textContent = seen ? "Seen" : "Mark seen";
  button.setAttribute("aria-label", `${button.textContent}: ${form.dataset.seen}`);
  button.setAttribute("aria-pressed", String(seen));
  for (const row of rows) if (row.dataset.change === form.dataset.seen) row.classList.toggle("seen", seen);
  const left = document.querySelector("[data-unseen]");
  left.textContent = (Number(left.textContent.replaceAll(",", "")) + (seen ? -1 : 1)).toLocaleString("en");
});
