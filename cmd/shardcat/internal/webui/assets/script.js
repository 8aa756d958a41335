// Fetches a page that shows how things go anew, as long as somebody looks at it, and puts it in the place of the old one: without
// losing where one has scrolled to, and not while something in it has the focus, is open or is selected.
const seconds = Number(document.body.dataset.refresh);

const busy = () => {
  const main = document.getElementById("main");
  return document.visibilityState !== "visible" || main.contains(document.activeElement) ||
    main.querySelector("details[open]") !== null || !document.getSelection().isCollapsed;
};

const refresh = async () => {
  if (busy()) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || busy()) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
  if (fresh) document.getElementById("main").replaceChildren(...fresh.childNodes);
};

// The next one is asked for after the last one came: a server that is slow is not asked twice.
const again = () => setTimeout(() => refresh().catch(() => {}).finally(again), seconds * 1000);
if (seconds > 0) again();
