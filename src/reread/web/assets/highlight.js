(() => {
  "use strict";
  const {all, one, parsed} = window.reread;
  const send = (path, given) => window.reread.ask(path, {method: "POST", body: new URLSearchParams(given)});

  // What the note was when an unfinished one was begun: it may be changed in another window before this one is sent.
  let before = null;
  // Replaces the forms by new ones. Keeps unfinished input, except that of the form just sent, and the focus.
  const renew = (place, made, sent = "") => {
    const input = place.contains(document.activeElement) ? document.activeElement : null;
    const at = input && input.localName === "summary" ? all("summary", place).indexOf(input) : -1;
    const name = form => form.getAttribute("aria-label"), isSent = fold => fold.matches(".editing") && all("form", fold).some(form => name(form) === sent);
    const open = all("details", place).map(fold => fold.open && !isSent(fold));
    const begun = all("input:not([type=hidden]), textarea", place).filter(field => name(field.form) !== sent && field.value !== field.defaultValue);
    const same = field => one(`form[aria-label="${name(field.form)}"] ${field.localName}${field.name ? `[name="${field.name}"]` : ""}`, place);
    const isBegun = begun.some(field => field.name === "note");
    before = isBegun ? before ?? one("input[name=had]", place).value : null;
    place.replaceChildren(...made.childNodes);
    all("details", place).forEach((fold, number) => { fold.open = open[number]; });
    for (const field of begun) same(field).value = field.value;
    const again = at >= 0 ? all("summary", place)[at] : input && (same(input) || one("button", place));
    if (!again) return;
    again.focus({preventScroll: true});
    if (again.localName === "textarea") again.setSelectionRange(input.selectionStart, input.selectionEnd);
  };
  // The forms as the server wrote them, with everything folded.
  const written = part => {
    const copy = part.cloneNode(true);
    for (const fold of all("details", copy)) fold.open = false;
    return copy.innerHTML.trim();
  };
  // Shows marks that were changed in another window.
  window.reread.renewMarks = fresh => {
    const place = one(".marks");
    if (written(place) !== written(fresh)) renew(place, fresh);
  };

  // Sends the forms of a session without leaving the current place in it.
  addEventListener("submit", async event => {
    const place = event.target.closest(".marks");
    if (!place) return;
    event.preventDefault();
    const given = new FormData(event.target, event.submitter);
    if (before !== null && given.has("had")) given.set("had", before);
    const answer = await send(event.target.getAttribute("action"), given);
    const made = parsed(await answer.text());
    for (const problem of all(":scope > .problem", place)) problem.remove();
    if (!one(".more-marks", made)) { place.append(made); return; }
    const button = event.submitter && event.submitter.name;
    renew(place, made, answer.ok ? event.target.getAttribute("aria-label") : "");
    if (!answer.ok) { before = null; return; }  // the person has been told, and may send it again
    tellTabs();
    const title = one("[data-title]", place).dataset.title;
    for (const named of [one("h1"), one(".headline .title")]) named.textContent = title;  // a reply may have headings, too
    document.title = `${title} · reread`;
    const again = one(button ? `button[name="${button}"]` : "summary", place) || one("button", place);
    again.focus({preventScroll: true});
  });

  // Lists in other tabs show the marks of their rows as they are now; boxes that are ticked there, and the focus, stay.
  const marked = "BroadcastChannel" in window ? new BroadcastChannel("reread-marks") : null;
  const tellTabs = () => { if (marked) marked.postMessage("changed"); };
  if (marked) marked.onmessage = async () => {
    const rows = all("#rows .list a.row"), answer = rows.length && await window.reread.ask(location.href);
    if (!answer || !answer.ok) return;
    const fresh = new Map(all(".list a.row", parsed(await answer.text())).map(row => [row.getAttribute("href"), row]));
    for (const row of rows) {
      const now = fresh.get(row.getAttribute("href"));
      for (const part of now ? [".title", ".signs"] : []) one(part, row).replaceWith(one(part, now));
    }
  };

  const focused = () => {
    const row = document.activeElement && document.activeElement.closest(".list > li");
    return row && one("a.row[href^='/s/']", row) ? row : null;
  };
  const star = async row => {
    const link = one("a.row", row), title = one(".title", row), had = one(".star", title);
    const answer = await send(`${link.pathname}/mark`, {starred: had ? "0" : "1"});
    if (!answer.ok) { window.reread.say(parsed(await answer.text()).textContent.trim()); return false; }
    tellTabs();
    if (had) had.remove();
    else title.prepend(Object.assign(document.createElement("span"), {className: "star", title: "starred", textContent: "★"}), " ");
    return true;
  };
  // Stars all ticked sessions, or removes the stars if all had one.
  const starTicked = async rows => {
    const without = rows.filter(row => !one(".title .star", row)), changed = without.length ? without : rows;
    for (const row of changed) if (!await star(row)) return;
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
    // In `g s`, the `s` leads to a page; web.js has already handled that key.
    if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    keys[event.key]();
  });

  // A click with the Shift key sets all boxes from the last clicked one to this one.
  let last = null;
  addEventListener("click", event => {
    if (!event.target.matches || !event.target.matches(".tick")) return;
    const boxes = Array.from(document.querySelectorAll(".tick")), from = boxes.indexOf(last), to = boxes.indexOf(event.target);
    if (event.shiftKey && from >= 0) for (let at = Math.min(from, to); at <= Math.max(from, to); at++) boxes[at].checked = event.target.checked;
    last = event.target;
  });
})();
