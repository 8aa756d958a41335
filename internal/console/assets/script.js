// Reloads a page that shows how things go, as long as somebody looks at it and types nothing.
const seconds = Number(document.body.dataset.refresh);
if (seconds > 0) {
  setInterval(() => {
    const busy = document.activeElement && document.activeElement.tagName === "INPUT";
    if (document.visibilityState === "visible" && !busy) location.reload();
  }, seconds * 1000);
}
