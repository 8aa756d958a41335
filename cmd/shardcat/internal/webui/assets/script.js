// Reloads a page of live state while it is visible, and puts it in the place of the old one: without
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

// The next request follows the response to the last one, so that a slow server gets one at a time.
const again = () => setTimeout(() => refresh().catch(() => {}).finally(again), seconds * 1000);
if (seconds > 0) again();
