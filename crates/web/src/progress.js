// Replaces the parts of the page that changed, as the stream of events brings them.
const main = document.querySelector("main");
const link = document.querySelector("#link");

function show(html) {
  const next = document.createElement("main");
  next.innerHTML = html;
  const parts = [...next.children];
  const names = parts.map((part) => part.id);
  for (const old of [...main.children]) if (!names.includes(old.id)) old.remove();
  parts.forEach((part, place) => {
    const old = document.getElementById(part.id);
    if (old === null) main.insertBefore(part, main.children[place] ?? null);
    else if (old.outerHTML !== part.outerHTML) replace(old, part);
  });
}

/** Replaces a part, and keeps the keyboard's place and the scrolled position of its table. */
function replace(old, part) {
  const place = [...old.querySelectorAll("a, [tabindex]")].indexOf(document.activeElement);
  const scrolled = old.querySelector(".wide")?.scrollLeft ?? 0;
  old.replaceWith(part);
  const wide = part.querySelector(".wide");
  if (wide !== null) wide.scrollLeft = scrolled;
  if (place >= 0) part.querySelectorAll("a, [tabindex]")[place]?.focus();
}

const events = new EventSource("/api/v1/stream");
let ended = false;
events.addEventListener("snapshot", (event) => {
  show(JSON.parse(event.data));
  link.textContent = "";
  delete link.dataset.link;
});
events.addEventListener("end", () => {
  ended = true;
  events.close();
  link.textContent = "The run has ended.";
});
events.onerror = () => {
  if (ended) return;
  link.textContent = "The connection is lost.";
  link.dataset.link = "lost";
};
