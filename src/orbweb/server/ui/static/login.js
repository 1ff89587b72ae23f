// A link that `orbweb serve` prints has the token behind its #, which no browser sends: log in with it, and forget it.
const name = "#token=";

if (location.hash.startsWith(name)) {
  const field = document.querySelector("#token");
  field.value = decodeURIComponent(location.hash.slice(name.length));
  history.replaceState(null, "", location.pathname + location.search);
  field.form.requestSubmit();
}
