// The theme: system, light or dark. The cookie is the one that the form would set, so that pages come in the right theme.
const COOKIE = "orbweb_theme";
const YEAR_S = 31536000;

export function startTheme() {
  const form = document.querySelector("[data-theme-form]");
  if (!form) return;
  form.addEventListener("submit", (event) => {
    if (!event.submitter) return;
    event.preventDefault();
    choose(event.submitter.value);
    for (const button of form.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button === event.submitter));
    }
  });
}

function choose(theme) {
  const root = document.documentElement;
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.cookie = `${COOKIE}=${theme}; path=/; samesite=strict; max-age=${theme ? YEAR_S : 0}`;
  document.dispatchEvent(new CustomEvent("themechange"));
}

// Whatever is drawn with computed colours is drawn again: `themechange` also follows the system.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.dispatchEvent(new CustomEvent("themechange"));
});
