(() => {
  "use strict";
  const form = document.querySelector("form.search"), words = form.querySelector(".words-wanted");
  const number = form.querySelector("[name=n]"), hits = document.querySelector("#hits");
  const rows = () => Array.from(hits.querySelectorAll("a.row"));

  // Typing starts at the top of the hits again, and sets the title of the page.
  form.addEventListener("input", () => { number.value = ""; }, true);
  words.addEventListener("input", () => {
    const wanted = words.value.trim();
    document.title = `${wanted ? `${wanted} – search` : "Search"} · reread`;
  });

  hits.addEventListener("click", event => {
    const more = event.target.closest("a[data-more]");
    if (!more || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const known = new Set(rows().map(row => row.href));
    number.value = more.dataset.more;
    more.textContent = "Looking …";
    const seen = new MutationObserver(() => {
      seen.disconnect();
      // If all new hits are folded, focuses the fold of the first.
      const fresh = rows().filter(row => !known.has(row.href)), next = fresh.find(row => row.checkVisibility()) || fresh[0];
      if (next) (next.checkVisibility() ? next : next.closest("details").firstElementChild).focus({preventScroll: true});
    });
    seen.observe(hits, {childList: true});
    form.requestSubmit();
  });

  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = document.activeElement, boxes = Array.from(form.querySelectorAll("[name=in]"));
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) && at.type !== "checkbox";
    if (event.key === "Escape" && at !== words && !document.querySelector("dialog[open]")) { words.focus(); words.select(); event.preventDefault(); }
    if (event.key === "f" && !isTyping) { boxes[0].focus(); event.preventDefault(); }
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step && boxes.includes(at)) {
      boxes[(boxes.indexOf(at) + step + boxes.length) % boxes.length].focus();
      event.preventDefault();
    }
  });
})();
