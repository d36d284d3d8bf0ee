(() => {
  "use strict";
  const all = (what, root = document) => Array.from(root.querySelectorAll(what));
  const one = (what, root = document) => root.querySelector(what);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // Requests that change something need a key as well as the cookie, which every server on this machine receives. The
  // key came in the answer to the token, and a browser keeps it for this port alone.
  const KEY = "reread-page-key";
  const keep = page => {
    const given = one("meta[name=page-key]", page);
    if (given) localStorage.setItem(KEY, given.content);
    return Boolean(given);
  };
  keep(document);
  const key = () => localStorage.getItem(KEY) || "";
  addEventListener("formdata", event => { if (event.target.method === "post") event.formData.set("page-key", key()); });
  const lock = one("form.locked");
  const needKey = isFocused => { lock.hidden = false; if (isFocused) one("input", lock).focus(); };
  lock.addEventListener("submit", async event => {
    event.preventDefault();
    const answer = await fetch(`/?${new URLSearchParams({token: one("input", lock).value.trim()})}`, {cache: "no-store"});
    const isOurs = answer.ok && keep(new DOMParser().parseFromString(await answer.text(), "text/html"));
    one(".told", lock).textContent = isOurs ? "" : "That is not the token.";
    lock.hidden = isOurs;
  });
  if (!key()) needKey(false);

  // Removes the token from the address, so that it does not stay in the address bar or the history.
  const address = new URL(location.href);
  if (address.searchParams.has("token")) {
    address.searchParams.delete("token");
    history.replaceState(history.state, "", address);
  }

  let silence = 0;
  const tellSilence = () => {
    const words = Object.assign(document.createElement("p"), {className: "banner bad", textContent: "The server does not answer. Is reread still running?"});
    words.setAttribute("role", "alert");
    words.dataset.silent = "";
    if (!one("[data-silent]")) one("header.bar").after(words);
  };
  // Not at once: requests also fail when the person leaves the page.
  const isUnanswered = () => { silence = silence || setTimeout(tellSilence, 500); };
  const isAnswered = () => {
    clearTimeout(silence);
    silence = 0;
    for (const words of all("[data-silent]")) words.remove();
  };
  const ask = async (path, more = {}) => {
    const asked = fetch(path, {headers: {"x-part": "1", ...(more.method ? {"x-page-key": key()} : {})}, cache: "no-store", ...more});
    const answer = await asked.catch(problem => {
      if (problem.name !== "AbortError") isUnanswered();
      throw problem;
    });
    isAnswered();
    if (answer.status === 403) { if (more.method) needKey(true); else location.reload(); }
    return answer;
  };

  // Made once: making a formatter takes longer than formatting a hundred times.
  const clock = new Intl.DateTimeFormat([], {dateStyle: "medium", timeStyle: "short"});
  const exactly = new Intl.DateTimeFormat([], {dateStyle: "full", timeStyle: "long"});
  const distance = new Intl.RelativeTimeFormat([], {numeric: "auto", style: "short"});
  const weekday = new Intl.DateTimeFormat([], {weekday: "short"});
  const hour = new Intl.DateTimeFormat([], {timeStyle: "short"});
  const UNITS = [["minute", 60, 60], ["hour", 3600, 24]];
  const midnight = date => new Date(date.getFullYear(), date.getMonth(), date.getDate());
  // Recent times are relative, older ones are dates; hovering shows the exact time. Days are those of the calendar: what
  // was thirty hours ago may have been the day before yesterday.
  const relative = date => {
    const seconds = (date - Date.now()) / 1000, ago = Math.abs(seconds);
    const found = UNITS.find(([, size, most]) => Math.round(ago / size) < most);
    if (found) return distance.format(Math.round(seconds / found[1]), found[0]);
    const days = Math.round((midnight(date) - midnight(new Date())) / 86400000);
    if (Math.abs(days) > 6) return clock.format(date);
    return `${Math.abs(days) < 2 ? distance.format(days, "day") : weekday.format(date)} ${hour.format(date)}`;
  };
  const localTimes = root => {
    for (const time of all("time", root)) {
      const date = new Date(time.dateTime);
      if (isNaN(date) || time.matches("[data-exact]")) continue;
      time.textContent = relative(date);
      time.title = exactly.format(date);
    }
  };
  setInterval(() => { if (!document.hidden) localTimes(document); }, 60000);

  // Runs `act` at most once per frame, however often it is requested.
  const beforeNextFrame = act => {
    let isWaiting = false;
    return () => {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(() => { isWaiting = false; act(); });
    };
  };

  // Only for markup of our own server, which escapes everything else.
  const parsed = text => {
    const made = document.createElement("template");
    made.innerHTML = text;
    localTimes(made.content);
    return made.content;
  };

  const later = (act, wait) => {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => act(...given), wait); };
  };

  // On pages over plain HTTP, as on a phone, browsers have no clipboard API; there, a selection is copied instead.
  const toClipboard = text => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const place = Object.assign(document.createElement("textarea"), {value: text, className: "copied-from", readOnly: true}), focused = document.activeElement;
    document.body.append(place);
    place.select();
    const isCopied = document.execCommand("copy");
    place.remove();
    if (focused) focused.focus({preventScroll: true});
    return isCopied ? Promise.resolve() : Promise.reject(new Error("This browser does not let the page copy."));
  };
  const copy = async (text, button) => {
    await toClipboard(text);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1200);
  };

  addEventListener("click", event => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const from = button.dataset.copies && one(button.dataset.copies, button.closest("section"));
    copy(from ? from.textContent : button.dataset.copy, button);
  });

  // Marks the fields that a problem names as wrong.
  const blame = (form, problem) => {
    const blamed = problem ? problem.dataset.fields.split(" ") : [];
    for (const field of all("input[name]", form)) {
      const isWrong = blamed.includes(field.name);
      if (isWrong) { field.setAttribute("aria-invalid", "true"); field.setAttribute("aria-describedby", problem.id); }
      else if (field.hasAttribute("aria-invalid")) { field.removeAttribute("aria-invalid"); field.removeAttribute("aria-describedby"); }
    }
  };

  // Forms that are answered while one types.
  for (const form of all("form[data-live]")) {
    const place = one(form.dataset.live);
    let running = null;
    const go = async () => {
      const given = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (value) given.append(name, value);
      const path = `${form.getAttribute("action")}?${given}`;
      if (running) running.abort();
      const mine = running = new AbortController(), slow = setTimeout(() => place.setAttribute("aria-busy", "true"), 400);
      try {
        const answer = await ask(path, {signal: mine.signal});
        const fresh = parsed(await answer.text());
        for (const {id} of all("details[open][id]", place)) { const fold = fresh.getElementById(id); if (fold) fold.open = true; }
        place.replaceChildren(fresh);
        blame(form, one(".problem[data-fields]", place));
        history.replaceState(history.state, "", path);
        noteFolds();
      } catch (problem) {
        if (problem.name !== "AbortError") throw problem;
      } finally {
        clearTimeout(slow);
        if (mine === running) place.removeAttribute("aria-busy");
      }
    };
    const soon = later(go, 140);
    form.addEventListener("input", soon);
    form.addEventListener("submit", event => { event.preventDefault(); go(); });
  }

  // Parts of a page that are reloaded regularly.
  for (const part of all("[data-again]")) {
    const look = async () => {
      if (part.dataset.until && one(part.dataset.until, part)) return;
      try {
        const answer = document.hidden ? null : await ask(part.dataset.again);
        if (answer && answer.ok && !part.contains(document.activeElement)) part.replaceChildren(parsed(await answer.text()));
      } finally {
        setTimeout(look, part.dataset.seconds * 1000);
      }
    };
    setTimeout(look, part.dataset.seconds * 1000);
  }

  // How many questions wait, in the header of every page.
  const badge = one(".waiting-count");
  const count = async () => {
    const answer = document.hidden ? null : await ask("/live/waiting", {headers: {}}).catch(() => null);
    if (answer && answer.ok) { badge.textContent = await answer.text(); badge.hidden = badge.textContent === "0"; }
    setTimeout(count, 5000);
  };
  if (badge) setTimeout(count, 5000);

  // During the first sync, a page without content reloads as soon as there is some; others are told when the sync ends.
  const busy = one("[data-busy]"), isBare = Boolean(one("[data-coming]"));
  const look = async () => {
    const answer = document.hidden ? null : await ask(isBare ? location.href : "/search", {headers: {}}).catch(() => null);
    const text = answer && answer.ok ? await answer.text() : " data-busy data-coming";
    if (isBare && !text.includes(" data-coming")) location.reload();
    else if (text.includes(" data-busy")) setTimeout(look, 1500);
    else busy.replaceChildren("All is imported. ", Object.assign(document.createElement("a"), {href: location.href, textContent: "Show it"}));
  };
  if (busy) setTimeout(look, 1500);

  // Parts that are loaded when they are opened, also in parts that are added later.
  addEventListener("toggle", async event => {
    const part = event.target;
    if (!part.matches("details[data-load]") || !part.open || part.dataset.loaded) return;
    part.dataset.loaded = "1";
    let isThere = false;
    try {
      const answer = await ask(part.dataset.load);
      one(".loaded", part).replaceChildren(parsed(await answer.text()));
      isThere = answer.ok;
    } finally {
      if (!isThere) delete part.dataset.loaded; // opening it again tries again
    }
  }, true);

  for (const part of all("details[data-load][open]")) part.dispatchEvent(new Event("toggle"));

  // A session that the pointer rests on is read before it is opened; not from a team's store, which notes who reads.
  const readAhead = later(row => { if (row.matches(":hover, :focus")) ask(`${new URL(row.href).pathname}/states?from=99999999`).catch(() => {}); }, 120);
  const isOwn = Boolean(one(".places a[href='/live']"));
  for (const kind of ["pointerover", "focusin"]) addEventListener(kind, event => {
    const row = isOwn && event.target.closest(".list a.row[href^='/s/']");
    if (row) readAhead(row);
  });

  // Going back restores what was unfolded; otherwise the link that was followed could be hidden.
  const folding = "main.retro details, #hits .others";
  const unfolded = history.state && history.state.unfolded;
  if (unfolded) all(folding).forEach((part, at) => { part.open = unfolded.includes(at); });
  const noteFolds = () => {
    const open = all(folding).flatMap((part, at) => part.open ? [at] : []);
    history.replaceState({...history.state, unfolded: open}, "");
  };
  addEventListener("toggle", event => { if (event.target.matches(folding)) noteFolds(); }, true);

  // Shared with the scripts of single pages; a session adds here what keys can do.
  const reread = window.reread = {all, ask, beforeNextFrame, calm, copy, isAnswered, isUnanswered, later, one, parsed, relative, session: null, toClipboard};

  // Says what a key did, or why it did nothing.
  const words = Object.assign(document.createElement("p"), {className: "key-told"});
  words.setAttribute("role", "status");
  document.body.append(words);
  let hush = 0;
  const say = reread.say = (text, more = null) => {
    words.textContent = text;
    if (more) {
      const button = Object.assign(document.createElement("button"), {type: "button", textContent: more.name});
      button.addEventListener("click", more.act);
      words.append(" · ", button);
    }
    clearTimeout(hush);
    hush = setTimeout(() => { words.textContent = ""; }, more ? 9000 : 2500);
  };
  // Loads JSON; if that fails, the page says why.
  reread.askData = async path => {
    const answer = await ask(path);
    if (answer.ok) return answer.json();
    const why = parsed(await answer.text()).textContent.trim();
    say(why);
    throw new Error(why);
  };

  // Keys.
  const inList = step => {
    const rows = all(".list a.row").filter(row => row.checkVisibility());
    const at = rows.indexOf(document.activeElement), to = at < 0 ? 0 : at + step;
    if (!rows[to]) { say(rows.length ? `no more here: ${to < 0 ? 1 : rows.length} of ${rows.length}` : "nothing is listed here"); return; }
    rows[to].focus();
    rows[to].scrollIntoView({block: "nearest"});
  };
  const toggle = (what, name) => {
    const found = all(what);
    const open = found.some(each => !each.open);
    for (const each of found) each.open = open;
    say(found.length ? `${found.length.toLocaleString("en")} ${name}${found.length === 1 ? "" : "s"} ${open ? "opened" : "closed"}` : `no ${name}s here`);
  };
  const inSession = act => reread.session ? act(reread.session) : false;
  const sheet = one("dialog.keys");
  const help = () => { if (sheet.open) sheet.close(); else { sheet.showModal(); sheet.scrollTop = 0; } };  // opening focuses the button at its end
  one(".help").addEventListener("click", help);
  const inBeside = () => reread.session && reread.session.list && reread.session.list.has(document.activeElement);
  const move = step => reread.session && !inBeside() ? reread.session.step("prompt", step) : inList(step);
  const keys = {
    j: () => move(1), k: () => move(-1), ArrowDown: () => (!reread.session || inBeside()) && inList(1), ArrowUp: () => (!reread.session || inBeside()) && inList(-1),
    n: () => inSession(session => session.step("failure", 1)), p: () => inSession(session => session.step("failure", -1)),
    c: () => inSession(session => session.step("correction", 1)), C: () => inSession(session => session.step("correction", -1)),
    t: () => inSession(() => toggle("details.thought", "thought")), o: () => inSession(async session => { await session.loadCalls(); toggle("details.call, details.calls", "tool call"); }),
    r: () => inSession(session => session.record()),
    L: () => inSession(session => session.list ? session.list.toggle() : false),
    T: () => inSession(session => session.time ? session.time.open() : false),
    "[": () => inSession(session => session.time ? session.time.move(-1) : false), "]": () => inSession(session => session.time ? session.time.move(1) : false),
    y: () => inSession(session => session.copyTurns ? session.copyTurns() : false),
    G: () => inSession(session => session.toEnd()),
    "/": () => reread.find ? reread.find.open() : (one(".words-wanted") || one(".quick input")).focus(), "?": help,
    f: () => reread.find ? reread.find.everywhere() : false,
  };
  let isGoing = false;
  addEventListener("keydown", event => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.tagName === "TEXTAREA" && event.target.form) {
      event.preventDefault();
      event.target.form.requestSubmit(one("button", event.target.closest("details") || event.target.form));
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping) {
      if (event.key === "Escape" && !event.isComposing) event.target.blur();
      if (event.key === "ArrowDown" && one(".list a.row") && event.target.matches(".words-wanted")) { inList(1); event.preventDefault(); }
      return;
    }
    if (isGoing) {
      isGoing = false;
      if (event.key === "g" && reread.session) { event.preventDefault(); reread.session.toStart(); return; }
      const place = all(".places a").find(link => link.dataset.key === event.key);
      if (place) { event.preventDefault(); location.href = place.href; }
      return;
    }
    if (event.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); return; }
    const act = keys[event.key];
    if (act && (act() !== false)) event.preventDefault();
  });
  localTimes(document);
  // On a narrow screen the menu is wider than the screen: scrolls it to the current entry.
  const current = one(".places [aria-current]");
  if (current) {
    const menu = current.parentElement, fading = parseFloat(getComputedStyle(menu).paddingRight);
    menu.scrollLeft = current.offsetLeft + current.offsetWidth + fading - menu.clientWidth;
  }
})();
