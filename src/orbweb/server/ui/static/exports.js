// While an export is at work, its row follows it.
const EVERY_MS = 1000;

async function follow() {
  const place = document.querySelector("#exports[data-active]");
  if (!place) return;
  try {
    const answer = await fetch(location.pathname, { headers: { accept: "text/html" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.querySelector("#exports");
      if (found && !place.contains(document.activeElement)) place.replaceWith(document.adoptNode(found));
    }
  } catch { /* The server is away; the next look tells. */ }
  setTimeout(follow, EVERY_MS);
}

setTimeout(follow, EVERY_MS);
