// What every page does: keys, theme, toast, copying, menus. All of it is optional; pages work without it.
import { startKeys } from "./keys.js";
import { startTheme } from "./theme.js";
import { adopt } from "./toast.js";

document.documentElement.classList.add("js");
startTheme();
startKeys();

const shown = document.querySelector("[data-toast]");
if (shown) adopt(shown);

const summary = document.querySelector("[data-focus]");
if (summary) summary.focus({ preventScroll: false });

// Copies the text of an address, such as the Markdown of a page.
async function copyFrom(button) {
  const word = button.querySelector("[data-word]");
  const before = word.dataset.word || word.textContent;
  word.dataset.word = before;
  try {
    const response = await fetch(button.dataset.copyFrom);
    if (!response.ok) throw new Error(response.statusText);
    await navigator.clipboard.writeText(await response.text());
    word.textContent = "Copied";
  } catch {
    word.textContent = "Not copied";
  }
  setTimeout(() => { word.textContent = before; }, 1500);
}

document.addEventListener("click", async (event) => {
  const from = event.target.closest("[data-copy-from]");
  if (from) await copyFrom(from);
  const button = event.target.closest("[data-copy]");
  if (button) {
    const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : button.parentElement.querySelector("code, pre");
    const before = button.dataset.word ?? button.textContent;
    button.dataset.word = before;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// A page that waits for something looks again after some seconds, as long as somebody sees it.
const again = document.querySelector("[data-again]");
if (again) {
  setInterval(() => { if (!document.hidden) location.reload(); }, Number(again.dataset.again) * 1000);
}

// On a narrow screen the current tab may lie outside its row.
for (const tab of document.querySelectorAll(".tabs [aria-current], .page-tabs [aria-current]")) {
  const row = tab.parentElement;
  if (tab.offsetLeft + tab.offsetWidth > row.offsetLeft + row.clientWidth) {
    row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
  }
}
