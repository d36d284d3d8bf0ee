// Where the money went: one key leads from a session's cost to it, and shows the cost of each turn in the outline.
// And the focused view: prompts and last answers alone.
(() => {
  "use strict";
  const {all, one, say} = window.reread;
  const layout = one(".layout"), fold = one("details.money", layout), focus = one(".focus-view", layout);
  const mark = () => {
    const rows = new Map(all(".turn-costs li", fold).map(row => [row.dataset.anchor, row.dataset]));
    for (const link of all(".outline a[data-to]", layout)) {
      const found = rows.get(link.dataset.to);
      if (!found) continue;
      link.dataset.cost = found.cost;
      link.style.setProperty("--share", `${100 * found.share}%`);
    }
  };
  new MutationObserver(mark).observe(one(".loaded", fold), {childList: true});
  const toggle = isOpen => {
    fold.open = isOpen;
    layout.classList.toggle("shows-costs", isOpen);
    if (isOpen) { fold.scrollIntoView({block: "nearest"}); one("summary", fold).focus({preventScroll: true}); }
  };
  fold.addEventListener("toggle", () => layout.classList.toggle("shows-costs", fold.open));
  layout.addEventListener("grew", () => { delete fold.dataset.loaded; if (fold.open) fold.dispatchEvent(new Event("toggle")); });
  layout.addEventListener("grew", () => { const lanes = one("#agents", layout); if (lanes) { delete lanes.dataset.loaded; if (lanes.open) lanes.dispatchEvent(new Event("toggle")); } });
  layout.addEventListener("click", event => {
    const place = event.target.closest("a[href='#branches'], a[href='#agents']");
    if (place) one(`${place.hash} details, details${place.hash}`, layout).open = true;
    if (event.ctrlKey || event.metaKey || !event.target.closest(".figures a.cost")) return;
    event.preventDefault();
    toggle(true);
  });
  if (location.hash === "#cost") toggle(true);
  const KEPT = "reread-focused";
  const narrow = isFocused => {
    layout.classList.toggle("focused", isFocused);
    focus.setAttribute("aria-pressed", isFocused);
    sessionStorage.setItem(KEPT, isFocused ? "1" : "");
  };
  narrow(!!sessionStorage.getItem(KEPT));
  focus.hidden = false;
  focus.addEventListener("click", () => narrow(!layout.classList.contains("focused")));
  addEventListener("keydown", event => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    if (event.key === "$") { event.preventDefault(); toggle(!fold.open); }
    if (event.key === "v") { narrow(!layout.classList.contains("focused")); say(layout.classList.contains("focused") ? "prompts and last answers alone" : "everything"); }
  });
})();
