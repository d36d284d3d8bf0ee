(() => {
  "use strict";
  const all = (what, root = document) => Array.from(root.querySelectorAll(what));
  for (const time of all("time")) {
    const date = new Date(time.dateTime);
    if (!isNaN(date)) time.textContent = date.toLocaleString([], {dateStyle: "medium", timeStyle: "short"});
  }
  const outline = document.querySelector("details.outline");
  if (outline && matchMedia("(max-width: 70rem)").matches) outline.open = false;
  const reveal = () => {
    const place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    place.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  const go = (places, step) => {
    const line = 90;
    const tops = places.map(place => place.getBoundingClientRect().top);
    const next = step > 0 ? tops.findIndex(top => top > line) : tops.findLastIndex(top => top < line - 20);
    if (next < 0) return;
    places[next].scrollIntoView();
    const focus = places[next].querySelector("a.number, summary") || places[next];
    focus.focus({preventScroll: true});
  };
  const toggle = what => {
    const found = all(what);
    const open = found.some(each => !each.open);
    for (const each of found) each.open = open;
  };
  const isShown = each => each.checkVisibility ? each.checkVisibility() : each.offsetParent;  // newer browsers keep boxes for what is folded
  const failures = () => all(".call.error, .call.rejected, .call.interrupted, .failure").filter(isShown);
  const keys = {
    j: () => go(all(".turn > .prompt"), 1),
    k: () => go(all(".turn > .prompt"), -1),
    n: () => go(failures(), 1),
    p: () => go(failures(), -1),
    t: () => toggle("details.thought"),
    o: () => toggle("details.call, details.calls"),
    "?": () => {
      const sheet = document.querySelector("dialog.keys");
      if (sheet) sheet.open ? sheet.close() : sheet.showModal();
    },
  };
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const act = keys[event.key];
    if (act) { act(); event.preventDefault(); }
  });
  let before = [];
  addEventListener("beforeprint", () => { before = all("details.calls:not([open])"); for (const each of before) each.open = true; });
  addEventListener("afterprint", () => { for (const each of before) each.open = false; });
})();
