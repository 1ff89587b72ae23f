// One toast: what happened. It stays 6 s, and as long as the pointer or the focus is on it.
const SECONDS = 6;

let timer;

export function adopt(element) {
  const leave = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (element.matches(":hover, :focus-within")) leave();
      else element.remove();
    }, SECONDS * 1000);
  };
  leave();
}

// Shows a text; `rule` is set in mono. Texts are never read as HTML.
export function toast(text, rule = "") {
  const place = document.querySelector("[data-toasts]");
  const element = document.createElement("div");
  element.className = "toast";
  const line = document.createElement("p");
  line.textContent = text;
  if (rule) {
    const code = document.createElement("code");
    code.textContent = rule;
    line.append(code);
  }
  element.append(line);
  place.replaceChildren(element);
  adopt(element);
}
