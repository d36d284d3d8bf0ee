(() => {
  "use strict";
  const one = (what, root = document) => root.querySelector(what);
  const send = (path, given) => window.reread.ask(path, {method: "POST", body: new URLSearchParams(given)});

  // The forms of a session note without leaving the place one reads at. The answer is our own markup.
  addEventListener("submit", async event => {
    const place = event.target.closest(".marks");
    if (!place) return;
    event.preventDefault();
    const answer = await send(event.target.getAttribute("action"), new FormData(event.target, event.submitter));
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    for (const problem of place.querySelectorAll(":scope > .problem")) problem.remove();
    if (!answer.ok) { place.append(made.content); return; }
    const button = event.submitter && event.submitter.name;
    const wasOpen = one(".more-marks", place).open;
    // What one began to write in another of the forms stays.
    const begun = Array.from(place.querySelectorAll("input, textarea")).filter(field => field.form !== event.target && field.value !== field.defaultValue);
    place.replaceChildren(made.content);
    one(".more-marks", place).open = wasOpen;
    for (const {localName, name, value} of begun) {
      const field = one(`${localName}[name="${name}"]`, place), fold = field.closest(".editing");
      field.value = value;
      if (fold) fold.open = true;
    }
    const title = one("[data-title]", place).dataset.title;
    for (const named of [one("h1"), one(".headline .title")]) named.textContent = title;  // a reply may have headings, too
    document.title = `${title} · reread`;
    const again = one(button ? `button[name="${button}"]` : "summary", place) || one("button", place);
    again.focus({preventScroll: true});
  });

  const focused = () => {
    const row = document.activeElement && document.activeElement.closest(".list > li");
    return row && one("a.row[href^='/s/']", row) ? row : null;
  };
  const star = async row => {
    const link = one("a.row", row), title = one(".title", row), had = one(".star", title);
    const answer = await send(`${link.pathname}/mark`, {starred: had ? "0" : "1"});
    if (!answer.ok) return;
    if (had) { had.remove(); return; }
    title.prepend(Object.assign(document.createElement("span"), {className: "star", title: "starred", textContent: "★"}), " ");
  };
  // Those that are ticked, together: all starred, or all without where all had one.
  const starTicked = async rows => {
    const without = rows.filter(row => !one(".title .star", row)), changed = without.length ? without : rows;
    for (const row of changed) await star(row);
    window.reread.say(`${changed.length} ${without.length ? "starred" : "without a star"}`);
  };
  const keys = {
    s: () => {
      const button = one(".marks button[name='starred']"), row = focused();
      const ticked = Array.from(document.querySelectorAll(".list > li:has(.tick:checked)"));
      if (button) button.click(); else if (ticked.length) starTicked(ticked); else if (row) star(row); else window.reread.say("choose a session first: j, k");
    },
    x: () => {
      const box = focused() && one(".tick", focused());
      if (box) { box.checked = !box.checked; box.dispatchEvent(new Event("change", {bubbles: true})); }
    },
  };
  addEventListener("keydown", event => {
    const isTyping = event.target.matches && event.target.matches("input:not([type='checkbox']), textarea, select");
    // `g s` is a place; the script of all pages has taken that key already.
    if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    keys[event.key]();
  });

  // From the first ticked box to the last clicked one with the Shift key, as everywhere.
  let last = null;
  addEventListener("click", event => {
    if (!event.target.matches || !event.target.matches(".tick")) return;
    const boxes = Array.from(document.querySelectorAll(".tick")), from = boxes.indexOf(last), to = boxes.indexOf(event.target);
    if (event.shiftKey && from >= 0) for (let at = Math.min(from, to); at <= Math.max(from, to); at++) boxes[at].checked = event.target.checked;
    last = event.target;
  });
})();
