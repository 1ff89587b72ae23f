// j and k step over the hits; Enter opens the one at the cursor, because its link has the focus.
import { onKey } from "./keys.js";

const hits = [...document.querySelectorAll(".hit")];

function step(by) {
  if (!hits.length) return false;
  const now = hits.findIndex((each) => each.classList.contains("cursor"));
  const next = hits[Math.min(hits.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  for (const each of hits) each.classList.toggle("cursor", each === next);
  next.querySelector("a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}

onKey("j", () => step(1));
onKey("k", () => step(-1));
