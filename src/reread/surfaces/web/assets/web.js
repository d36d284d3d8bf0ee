(() => {
  "use strict";
  const all = (what, root = document) => Array.from(root.querySelectorAll(what));
  const one = (what, root = document) => root.querySelector(what);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // The token came with the address; the cookie has it now, and it should not stay in the bar or the history.
  const address = new URL(location.href);
  if (address.searchParams.has("token")) {
    address.searchParams.delete("token");
    history.replaceState(history.state, "", address);
  }

  const ask = async (path, more = {}) => {
    const answer = await fetch(path, {headers: {"x-part": "1"}, cache: "no-store", ...more});
    if (answer.status === 403) { location.reload(); }
    return answer;
  };

  const localTimes = root => {
    for (const time of all("time", root)) {
      const date = new Date(time.dateTime);
      if (!isNaN(date)) time.textContent = date.toLocaleString([], {dateStyle: "medium", timeStyle: "short"});
    }
  };

  // Our own markup, made by the server, which escapes all that is not.
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

  const copy = async (text, button) => {
    await navigator.clipboard.writeText(text);
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

  // A form that answers as one types.
  for (const form of all("form[data-live]")) {
    const place = one(form.dataset.live);
    let running = null;
    const go = async () => {
      const given = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (value) given.append(name, value);
      const path = `${form.getAttribute("action")}?${given}`;
      if (running) running.abort();
      running = new AbortController();
      try {
        const answer = await ask(path, {signal: running.signal});
        place.replaceChildren(parsed(await answer.text()));
        history.replaceState(history.state, "", path);
      } catch (problem) {
        if (problem.name !== "AbortError") throw problem;
      }
    };
    const soon = later(go, 140);
    form.addEventListener("input", soon);
    form.addEventListener("submit", event => { event.preventDefault(); go(); });
  }

  // A part of a page that is looked at again.
  for (const part of all("[data-again]")) {
    const look = async () => {
      if (part.dataset.until && one(part.dataset.until, part)) return;
      if (!document.hidden) {
        const answer = await ask(part.dataset.again);
        if (answer.ok) part.replaceChildren(parsed(await answer.text()));
      }
      setTimeout(look, part.dataset.seconds * 1000);
    };
    setTimeout(look, part.dataset.seconds * 1000);
  }

  for (const part of all("details[data-load]")) {
    part.addEventListener("toggle", async () => {
      if (!part.open || part.dataset.loaded) return;
      part.dataset.loaded = "1";
      one(".loaded", part).replaceChildren(parsed(await (await ask(part.dataset.load)).text()));
    });
  }

  // A session.
  const layout = one(".layout[data-session]");
  const session = layout && (() => {
    const base = layout.dataset.session, branch = layout.dataset.branch;
    const content = one("#content"), next = one(".later a"), end = one(".end"), fresh = one(".fresh");
    let loading = null;

    const turns = async which => {
      const answer = await ask(`${base}/turns?branch=${branch}&${which}`);
      return {html: parsed(await answer.text()), next: +answer.headers.get("x-next"), first: +answer.headers.get("x-first")};
    };
    const setNext = number => {
      next.dataset.from = number;
      next.href = `?branch=${branch}&from=${number}`;
      next.parentElement.hidden = number < 0;
      end.hidden = number >= 0;
    };
    const more = () => {
      if (loading || +next.dataset.from < 0) return loading;
      loading = turns(`from=${next.dataset.from}`).then(got => {
        content.append(got.html);
        setNext(got.next);
      }).finally(() => { loading = null; });
      return loading;
    };
    const earlier = async () => {
      const link = one("a[data-before]");
      if (!link || link.dataset.busy) return;
      link.dataset.busy = "1";
      const got = await turns(`before=${link.dataset.before}`);
      const place = link.parentElement, tall = document.documentElement.scrollHeight, was = scrollY;
      place.after(got.html);
      if (got.first > 0) { link.dataset.before = got.first; delete link.dataset.busy; } else place.remove();
      scrollTo({top: was + document.documentElement.scrollHeight - tall, behavior: "instant"});
    };
    next.addEventListener("click", event => { event.preventDefault(); more(); });
    new IntersectionObserver(seen => { if (seen.some(each => each.isIntersecting)) more(); }, {rootMargin: "1500px"}).observe(next.parentElement);
    const before = one("a[data-before]");
    if (before) before.addEventListener("click", event => { event.preventDefault(); earlier(); });

    const reveal = (name, focus = true) => {
      const place = document.getElementById(name);
      if (!place) return false;
      for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS" && at !== place) at.open = true;
      place.scrollIntoView({behavior: "instant"});
      if (focus) (one("a.number, summary", place) || place).focus({preventScroll: true});
      return true;
    };
    const toHash = async () => {
      const name = decodeURIComponent(location.hash.slice(1));
      if (!name || reveal(name, false) || !name.startsWith("m-")) return;
      const where = await (await ask(`${base}/where?at=${encodeURIComponent(name)}`)).json();
      if (where && !new URLSearchParams(location.search).has("at")) location.replace(`${base}?at=${name}#${where.anchor || name}`);
    };
    addEventListener("hashchange", toHash);
    toHash();
    layout.addEventListener("click", event => {
      const other = event.target.closest("a[href^='#b-']");
      if (other) { event.preventDefault(); location.href = `${base}?branch=${other.getAttribute("href").slice(1)}`; return; }
      const link = event.target.closest("a[data-to], a[href^='#m-']");
      const name = link && (link.dataset.to || decodeURIComponent(link.getAttribute("href").slice(1)));
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !document.getElementById(name)) return;
      event.preventDefault();
      history.pushState(null, "", `#${name}`);
      reveal(name);
    });

    // The prompt one reads is marked in the outline.
    const rows = new Map(all(".outline a[data-to]").map(link => [link.dataset.to, link]));
    let here = null;
    const follow = () => {
      const past = all(".piece > .turn[id]").filter(turn => turn.getBoundingClientRect().top < 140);
      const now = past.length ? rows.get(past[past.length - 1].id) : null;
      if (now === here) return;
      if (here) here.classList.remove("here");
      here = now;
      if (!here) return;
      here.classList.add("here");
      const box = one(".outline"), top = here.offsetTop - box.offsetTop;
      if (box.scrollHeight > box.clientHeight && (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 60)) box.scrollTop = top - 80;
    };
    addEventListener("scroll", later(follow, 60), {passive: true});
    follow();

    // What a session gains while it runs.
    const isAtEnd = () => scrollY + innerHeight > document.documentElement.scrollHeight - 160;
    const grow = async () => {
      const shown = all(".piece", content);
      if (+next.dataset.from >= 0 && shown.length) { setNext(+next.dataset.from); return; }
      const wasAtEnd = isAtEnd();
      const last = shown.length ? +shown[shown.length - 1].dataset.piece : 0;
      const got = await turns(`from=${last}`);
      const open = new Set(all("details[open][id]", content).map(each => each.id));
      for (const each of all("details[id]", got.html)) each.open = open.has(each.id) || each.open;
      if (shown.length) shown[shown.length - 1].remove(); else content.replaceChildren();
      content.append(got.html);
      setNext(got.next);
      if (wasAtEnd) scrollTo({top: document.documentElement.scrollHeight, behavior: calm.matches ? "instant" : "smooth"});
      else fresh.hidden = false;
    };
    fresh.addEventListener("click", () => { fresh.hidden = true; end.scrollIntoView({block: "end"}); });
    addEventListener("scroll", () => { if (isAtEnd()) fresh.hidden = true; }, {passive: true});
    let queue = Promise.resolve();
    layout.addEventListener("grown", () => {
      queue = queue.then(grow, grow).finally(() => layout.dispatchEvent(new Event("grew")));
    });
    if ("live" in layout.dataset) {
      const source = new EventSource(`${base}/events?stamp=${layout.dataset.stamp}`);
      source.addEventListener("grown", () => layout.dispatchEvent(new Event("grown")));
      addEventListener("pagehide", () => source.close());
    }

    // Link, record and copy for the message under the pointer.
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.hidden = true;
    tools.append(...["Link", "Record"].map(name => Object.assign(document.createElement("a"), {textContent: name, className: name.toLowerCase()})));
    tools.append(Object.assign(document.createElement("button"), {type: "button", textContent: "Copy"}));
    document.body.append(tools);
    let target = null;
    const point = item => {
      target = item;
      tools.hidden = !item;
      if (!item) return;
      one(".link", tools).href = `${base}?at=${item.id}#${item.id}`;
      one(".record", tools).href = `${base}/record/${item.id}`;
      const box = item.getBoundingClientRect();
      tools.style.top = `${scrollY + box.top - 10}px`;
      tools.style.left = `${Math.max(8, box.right - tools.offsetWidth - 8)}px`;
    };
    const itemOf = place => place.closest && place.closest("[id^='m-']");
    content.addEventListener("pointerover", event => { const item = itemOf(event.target); if (item) point(item); });
    content.addEventListener("focusin", event => { const item = itemOf(event.target); if (item) point(item); });
    one("button", tools).addEventListener("click", event => {
      const text = one(".asked, .thinking", target) || target;
      copy(text.innerText.trim(), event.target);
    });
    const outline = one("details.outline");
    if (outline && matchMedia("(max-width: 70rem)").matches) outline.open = false;
    return {more, record: () => { if (target) location.href = one(".record", tools).href; }};
  })();

  // Keys.
  const go = async (places, step) => {
    const line = 130;
    const pick = () => {
      const tops = places().map(place => place.getBoundingClientRect().top);
      return step > 0 ? tops.findIndex(top => top > line) : tops.findLastIndex(top => top < line - 70);
    };
    let next = pick();
    if (next < 0 && step > 0 && session) { await session.more(); next = pick(); }
    if (next < 0) return;
    const place = places()[next];
    place.scrollIntoView({behavior: "instant"});
    (one("a.number, summary", place) || place).focus({preventScroll: true});
  };
  const inList = step => {
    const rows = all(".list a.row");
    const at = rows.indexOf(document.activeElement);
    const row = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step))];
    if (row) { row.focus(); row.scrollIntoView({block: "nearest"}); }
  };
  const toggle = what => {
    const found = all(what);
    const open = !found.some(each => each.open);
    for (const each of found) each.open = open;
  };
  const prompts = () => all(".piece > .turn > .prompt");
  const failures = () => all(".call.error, .call.rejected, .call.interrupted, .failure").filter(each => each.offsetParent);
  const sheet = one("dialog.keys");
  const help = () => { if (sheet.open) sheet.close(); else sheet.showModal(); };
  one(".help").addEventListener("click", help);
  const move = step => session ? go(prompts, step) : inList(step);
  const keys = {
    j: () => move(1), k: () => move(-1), ArrowDown: () => !session && inList(1), ArrowUp: () => !session && inList(-1),
    n: () => go(failures, 1), p: () => go(failures, -1),
    t: () => toggle("details.thought"), o: () => toggle("details.call, details.calls"),
    r: () => session && session.record(),
    "/": () => (one(".words-wanted") || one(".quick input")).focus(), "?": help,
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
      if (event.key === "Escape") event.target.blur();
      if (event.key === "ArrowDown" && one(".list a.row") && event.target.matches(".words-wanted")) { inList(1); event.preventDefault(); }
      return;
    }
    if (isGoing) {
      isGoing = false;
      const place = all(".places a").find(link => link.dataset.key === event.key);
      if (place) { event.preventDefault(); location.href = place.href; }
      return;
    }
    if (event.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); return; }
    const act = keys[event.key];
    if (act && (act() !== false)) event.preventDefault();
  });
  localTimes(document);
  // For the script of one page.
  window.reread = {all, ask, one, parsed};
})();
