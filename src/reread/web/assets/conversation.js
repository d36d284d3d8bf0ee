// A session, saved or running: loads more while one reads, grows while it runs, and leads to any of its messages.
(() => {
  "use strict";
  const {all, ask, askData, beforeNextFrame, calm, copy, hear, later, one, parsed, say, toClipboard} = window.reread;
  const layout = one(".layout[data-session]");
  const base = layout.dataset.session, branch = layout.dataset.branch;
  const content = one("#content"), next = one(".later a"), end = one(".end"), fresh = one(".fresh");
  let loading = null;

  // Keeps the searched words in the address when one moves within the session.
  const along = path => {
    const there = new URL(path, location.href), now = new URLSearchParams(location.search);
    for (const name of ["find", "q", "in"]) for (const value of now.getAll(name)) there.searchParams.append(name, value);
    return there.href;
  };
  const turns = async which => {
    const answer = await ask(`${base}/turns?branch=${branch}&${which}`), html = parsed(await answer.text());
    if (!answer.ok) { say(html.textContent.trim()); throw new Error(`no turns: ${answer.status}`); }
    return {html, next: +answer.headers.get("x-next"), first: +answer.headers.get("x-first")};
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
  const before = one("a[data-before]");
  const setBefore = number => {
    before.dataset.before = number;
    before.parentElement.hidden = number <= 0;
  };
  const earlier = async () => {
    if (before.dataset.busy || +before.dataset.before <= 0) return;
    before.dataset.busy = "1";
    const got = await turns(`before=${before.dataset.before}`).finally(() => { delete before.dataset.busy; });
    const tall = document.documentElement.scrollHeight, was = scrollY;
    before.parentElement.after(got.html);
    setBefore(got.first);
    scrollTo({top: was + document.documentElement.scrollHeight - tall, behavior: "instant"});
  };
  next.addEventListener("click", event => { event.preventDefault(); more(); });
  new IntersectionObserver(seen => { if (seen.some(each => each.isIntersecting)) more(); }, {rootMargin: "1500px"}).observe(next.parentElement);
  before.addEventListener("click", event => { event.preventDefault(); earlier(); });

  const reveal = (name, focus = true, opens = true) => {
    const place = document.getElementById(name);
    if (!place) return false;
    for (let at = opens ? place : place.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const loaded = opens ? load(place) : null;
    place.scrollIntoView({behavior: "instant"});
    if (focus) {
      const target = place.matches("aside, article") ? place : one("a.number, summary", place) || place;
      if (target === place && !place.matches("summary, a")) place.tabIndex = -1;
      target.focus({preventScroll: true});
    }
    Promise.resolve(loaded).then(() => layout.dispatchEvent(new CustomEvent("revealed", {detail: name})));
    return true;
  };
  // Until then, the browser itself scrolls to the place in the address, and would leave a match further down in it.
  const arrived = new Promise(done => { if (document.readyState === "complete") done(); else addEventListener("load", done, {once: true}); }).then(() => frame());
  const toHash = async () => {
    const name = decodeURIComponent(location.hash.slice(1));
    if (!name || reveal(name, false) || !name.startsWith("m-")) return;
    // A result has no anchor of its own: the target is its call.
    const known = new URLSearchParams(location.search).get("at") === name && layout.dataset.at;
    const where = known && document.getElementById(known) ? {anchor: known} : await askData(`${base}/where?at=${encodeURIComponent(name)}`);
    for (const each of (where && where.within) || []) await load(document.getElementById(each));
    if (where && where.anchor && document.getElementById(where.anchor)) {
      await arrived;
      location.replace(`#${where.anchor}`);
      await frame();
      reveal(where.anchor, false);
    } else if (where && !known) location.replace(along(`${base}?at=${name}#${where.anchor || name}`));
  };
  layout.addEventListener("click", event => {
    const other = event.target.closest("a[href^='#b-']");
    if (other) { event.preventDefault(); location.href = along(`${base}?branch=${other.getAttribute("href").slice(1)}`); return; }
    const link = event.target.closest("a[data-to], a[href^='#m-']");
    const name = link && (link.dataset.to || decodeURIComponent(link.getAttribute("href").slice(1)));
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!link || !document.getElementById(name)) {
      const away = event.target.closest("a[href^='?']");
      if (away && /[?&](q|find)=/.test(location.search)) { event.preventDefault(); location.href = along(away.getAttribute("href")); }
      return;
    }
    event.preventDefault();
    history.pushState(null, "", `#${name}`);
    reveal(name);
  });

  // The next of some places, loaded or not: counted from the last one if it is visible, else from the reading position.
  const nextOf = (places, last, step) => {
    const line = 130, reading = pieces[lastAbove(line)], here = reading ? +reading.dataset.piece : pieces.length ? pieces[0].dataset.piece - 1 : -1;
    const topOf = ({to, within = []}) => {
      let place = [to, ...within.toReversed()].map(name => document.getElementById(name)).find(Boolean);
      for (let fold = place; fold; fold = fold.parentElement.closest("details:not([open])")) place = fold;
      return place ? place.getBoundingClientRect().top : null;
    };
    const side = each => {
      if (each.piece !== here) return each.piece - here;
      const top = topOf(each);
      // A place in a part that is not loaded is ordered by its position among all places.
      return top === null ? (at < 0 ? 1 : 100 * (places.indexOf(each) - at)) : top - line;
    };
    const at = places.findIndex(each => each.to === last), top = at < 0 ? null : topOf(places[at]);
    if (top !== null && top > -innerHeight && top < innerHeight) return places[at + step];
    return step > 0 ? places.find(each => side(each) > 0) : places.findLast(each => side(each) < -70);
  };

  // Steps to the places that keys lead to; the server knows them all, loaded or not. Each press waits for the one before.
  const names = {prompt: "prompts", failure: "failures", correction: "corrections"}, visited = {};
  let stops = null, stepping = Promise.resolve();
  layout.addEventListener("grew", () => { stops = null; });
  const stepTo = async (kind, step) => {
    stops = stops || await askData(`${base}/stops?branch=${branch}`);
    const places = stops[kind], last = visited[kind];
    if (!places.length) { say(`no ${names[kind]} on this branch`); return; }
    const next = nextOf(places, last, step);
    if (!next) { say(`no more ${names[kind]} ${step > 0 ? "below" : "above"}: ${places.length} in all`); return; }
    visited[kind] = next.to;
    await lead(next.to, next.piece, next.within, false);
    reveal(next.to, true, false);
    say(`${kind} ${places.indexOf(next) + 1} of ${places.length}`);
  };
  const step = (kind, by) => {
    const next = () => stepTo(kind, by);
    stepping = stepping.then(next, next);
  };

  // Marks the current prompt in the outline. Measures only pieces: a browser lays out the inside of a distant piece only
  // when it is measured, and then all of it.
  const pieces = content.getElementsByClassName("piece"), outline = one("details.outline");
  let here = null;
  const lastAbove = line => {
    let low = 0, high = pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces[middle].getBoundingClientRect().top < line) low = middle + 1; else high = middle;
    }
    return low - 1;
  };
  const rowAt = number => {
    for (let at = number; at >= 0; at--) {
      const turn = pieces[at].firstElementChild;
      if (turn && turn.id) return one(`a[data-to="${CSS.escape(turn.id)}"]`, outline);
    }
    return null;
  };

  // Reload and Back return to the reading position, although the page is sent with its beginning only.
  const remember = () => {
    const piece = pieces[lastAbove(140)];
    const read = piece ? {piece: +piece.dataset.piece, top: piece.getBoundingClientRect().top} : {piece: -1, top: scrollY};
    history.replaceState({...history.state, read}, "");
  };
  const startAt = piece => instead(`from=${piece}`);
  const instead = which => {
    loading = turns(which).then(got => {
      for (const each of Array.from(pieces)) each.remove();
      content.append(got.html);
      pointAgain();
      setNext(got.next);
      setBefore(got.first);
    }).finally(() => { loading = null; });
    return loading;
  };
  const restore = async ({piece, top}) => {
    const find = () => one(`.piece[data-piece="${piece}"]`, content);
    if (piece >= 0 && !find()) await startAt(piece);
    const place = find();
    if (place) { place.scrollIntoView({behavior: "instant"}); await frame(); }
    scrollTo({top: place ? scrollY + place.getBoundingClientRect().top - top : top, behavior: "instant"});
  };
  const lead = async (name, piece, within = [], opens = true) => {
    await loading;
    if (!one(`.piece[data-piece="${piece}"]`, content) && !document.getElementById(name)) await startAt(piece);
    if (!document.getElementById(name)) {
      const inside = within.length ? within : ((await askData(`${base}/where?at=${encodeURIComponent(name)}`)) || {within: []}).within;
      for (const each of inside) await load(document.getElementById(each));
    }
    if (opens) await load(document.getElementById(name));
    if (!reveal(name, false, opens)) (one(`.piece[data-piece="${piece}"]`, content) || pieces[0]).scrollIntoView({behavior: "instant"});
  };
  // Loads a folded part when it is opened.
  const load = async part => {
    if (!part || !part.dataset.part || part.dataset.isLoaded) return;
    part.dataset.isLoaded = "1";
    const answer = await ask(`${part.dataset.part}?branch=${branch}`).catch(problem => { delete part.dataset.isLoaded; throw problem; });
    const html = parsed(await answer.text());
    if (!answer.ok) { delete part.dataset.isLoaded; say(html.textContent.trim()); return; }
    const got = one(".turns, .inside", html);
    one(".turns, .inside", part).replaceWith(got);
    layout.dispatchEvent(new CustomEvent("unfolded", {detail: got}));
  };
  content.addEventListener("toggle", event => { if (event.target.open) load(event.target); }, true);
  // Loads the contents of all calls at once.
  const loadCalls = async () => {
    const wanted = all(".piece", content).filter(piece => one("details.call[data-part]:not([data-is-loaded])", piece));
    for (const old of wanted) {
      const got = one(".piece", (await turns(`from=${old.dataset.piece}&parts=1`)).html);
      if (got) put(got, old);
    }
  };
  // The reading position.
  const whereIs = () => {
    const piece = pieces[Math.max(0, lastAbove(130))];
    const node = piece && all("[id^='m-']", piece).find(each => each.checkVisibility() && each.getBoundingClientRect().bottom > 60);
    return {piece: piece ? +piece.dataset.piece : 0, node: node || null};
  };
  // Replaces a piece by the same with its long texts in full.
  const whole = async number => {
    const old = one(`.piece[data-piece="${number}"]`, content);
    if (!old) return;
    const piece = one(`.piece[data-piece="${number}"]`, (await turns(`from=${number}&whole=1`)).html);
    if (piece) put(piece, old);
  };
  const toStart = async () => {
    await loading;
    if (+before.dataset.before > 0) await startAt(0);
    scrollTo({top: 0, behavior: "instant"});
    say("the beginning");
  };
  // Distant pieces have an estimated height until they are near, so the end moves while one scrolls there.
  const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const toEnd = async () => {
    await loading;
    if (+next.dataset.from >= 0) await instead("before=9999999");
    for (let calm = 0, tries = 0; calm < 2 && tries < 60; tries++) {
      const bottom = document.documentElement.scrollHeight;
      scrollTo({top: bottom, behavior: "instant"});
      await frame();
      calm = document.documentElement.scrollHeight === bottom && scrollY + innerHeight >= bottom - 2 ? calm + 1 : 0;
    }
    say("the end");
  };
  const isLeft = () => history.state && history.state.read;
  if ("run" in layout.dataset) {
    toHash();
  } else {
    history.scrollRestoration = "manual";
    if (isLeft()) restore(history.state.read); else toHash();
    addEventListener("popstate", () => { if (isLeft()) restore(history.state.read); });
    let hasMoved = false;
    const rememberSoon = later(() => { hasMoved = false; remember(); }, 150);
    addEventListener("scroll", () => { hasMoved = true; rememberSoon(); }, {passive: true});
    addEventListener("pagehide", () => { if (hasMoved) remember(); });
  }
  addEventListener("hashchange", () => { if (!isLeft()) toHash(); });

  const follow = () => {
    const now = rowAt(lastAbove(140));
    if (now === here) return;
    if (here) { here.classList.remove("here"); here.removeAttribute("aria-current"); }
    here = now;
    if (!here) return;
    here.classList.add("here");
    here.setAttribute("aria-current", "true");
    const top = here.getBoundingClientRect().top - outline.getBoundingClientRect().top + outline.scrollTop;
    if (outline.scrollHeight > outline.clientHeight && (top < outline.scrollTop || top > outline.scrollTop + outline.clientHeight - 60)) outline.scrollTop = top - 80;
  };
  if (outline) {
    addEventListener("scroll", beforeNextFrame(follow), {passive: true});
    follow();
    if (matchMedia("(max-width: 70rem)").matches) outline.open = false;
  }
  const name = async link => {
    const answer = await ask(`${base}/outline?branch=${branch}&from=${link.dataset.outline}`);
    const rows = parsed(await answer.text());
    if (!answer.ok) { say(rows.textContent.trim()); return; }
    one("ol", outline).append(rows);
    link.parentElement.remove();
    follow();
  };
  if (outline) outline.addEventListener("click", event => {
    const link = event.target.closest("a[data-outline]");
    if (link) { event.preventDefault(); name(link); }
  });
  // What is beside the first screen follows it: the map, and the prompts of a long outline.
  const surround = async () => {
    const map = one("[data-map]", layout), link = outline && one("a[data-outline]", outline);
    const answer = map && await ask(map.dataset.map);
    if (answer && answer.ok && map.isConnected) map.replaceWith(parsed(await answer.text()));
    if (link && link.isConnected) await name(link);
  };
  arrived.then(surround);

  // Additions to a session while it runs.
  const isAtEnd = () => scrollY + innerHeight > document.documentElement.scrollHeight - 160;
  const put = (piece, old) => {
    for (const each of all("details[id]", piece)) {
      const before = document.getElementById(each.id);
      if (before) each.open = before.open;
      if (before && before.dataset.isLoaded && each.dataset.part) {
        one(".turns, .inside", each).replaceWith(one(".turns, .inside", before));
        each.dataset.isLoaded = "1";
      }
    }
    const groups = old ? all("details.calls", old) : [];
    all("details.calls", piece).forEach((each, at) => { if (groups[at]) each.open = groups[at].open; });
    const focused = old && old.contains(document.activeElement) && document.activeElement.closest("[id]").id;
    if (old) old.replaceWith(piece); else content.append(piece);
    const again = focused && document.getElementById(focused);
    if (again) (one("a.number, summary", again) || again).focus({preventScroll: true});
  };
  // Figures, friction and map are sent only if they have changed.
  let seen = "";
  const growBeside = async () => {
    if (!outline) return;
    const list = one("ol", outline), count = one(".count", outline), isWhole = !one("a[data-outline]", outline);
    const last = one("li:last-child a", list), had = isWhole && last ? `from=${list.children.length}&last=${encodeURIComponent(last.dataset.to)}` : `from=${isWhole ? 0 : 1e7}`;
    const answer = await ask(`${base}/sidebar?branch=${branch}&${had}&seen=${seen}`);
    if (!answer.ok) return;
    const got = parsed(await answer.text());
    if (answer.headers.get("x-from") === "0") list.replaceChildren();
    list.append(...one("ol", got).children);
    if (isWhole) {
      outline.hidden = !list.children.length;
      const turns = all(".number", list).filter(each => each.textContent !== "⚑").length;
      count.textContent = `${turns.toLocaleString("en")} ${turns === 1 ? "turn" : "turns"}`;
    }
    if (answer.headers.get("x-seen") === seen) return;
    seen = answer.headers.get("x-seen");
    const title = one("h1", got).textContent, isUnfolded = one(".branch-list details[open]", layout);
    if (title !== heading.textContent) {
      for (const place of [heading, one(".title", headline)]) place.textContent = title;
      document.title = `${title} · reread`;
    }
    window.reread.renewMarks(one(".marks", got));
    for (const what of [".where", ".so-far", ".branches-place", ".figures", ".map"]) one(what, layout).replaceWith(one(what, got));
    for (const each of isUnfolded ? all(".branch-list details", layout) : []) each.open = true;
    const friction = one(".friction-line", got), before = one(".friction-line", layout);
    if (before) before.remove();
    if (friction) one(".figures-place", layout).after(friction);
    const changes = one("details.changes", layout);
    delete changes.dataset.loaded;
    if (changes.open) changes.dispatchEvent(new Event("toggle"));
  };
  // A late result or an agent may belong to a piece far above, so the states of all shown pieces are compared.
  const grow = async () => {
    const shown = new Map(all(".piece", content).map(piece => [+piece.dataset.piece, piece]));
    const first = shown.size ? Math.min(...shown.keys()) : 0, end = shown.size ? Math.max(...shown.keys()) + 1 : 0;
    const answer = await ask(`${base}/states?branch=${branch}&from=${first}`);
    if (!answer.ok) return;
    const states = await answer.json(), total = first + states.length;
    const wasAtEnd = isAtEnd(), isWhole = +next.dataset.from < 0 || !shown.size;
    const isStale = number => number < total && shown.get(number).dataset.state !== states[number - first];
    let isNewBelow = isWhole && total > end;
    for (const number of shown.keys()) {
      if (number >= total) shown.get(number).remove();
      if (!isStale(number)) continue;
      if (isWhole && number === end - 1) isNewBelow = true;
      for (const piece of all(".piece", (await turns(`from=${number}`)).html)) {
        const at = +piece.dataset.piece;
        if (shown.has(at) && isStale(at)) { put(piece, shown.get(at)); shown.set(at, piece); }
      }
    }
    if (isWhole && total > end) {
      const got = await turns(`from=${end}`);
      for (const empty of all(".empty", content)) empty.remove();
      for (const piece of all(".piece", got.html)) put(piece);
      setNext(got.next);
    }
    // The session was rewound to before the shown pieces: show its new end.
    if (shown.size && !pieces.length) await instead("before=9999999");
    await growBeside();
    if (!isNewBelow) return;
    if (wasAtEnd) scrollTo({top: document.documentElement.scrollHeight, behavior: calm.matches ? "instant" : "smooth"});
    else fresh.hidden = false;
  };
  fresh.addEventListener("click", () => { fresh.hidden = true; end.scrollIntoView({block: "end"}); });
  addEventListener("scroll", () => { if (!fresh.hidden && isAtEnd()) fresh.hidden = true; }, {passive: true});
  // One waiting update is enough: it loads everything that happened in between.
  let queue = Promise.resolve(), isWaiting = false;
  layout.addEventListener("grown", () => {
    if (isWaiting) return;
    isWaiting = true;
    const next = () => { isWaiting = false; return grow(); };
    queue = queue.then(next, next).finally(() => layout.dispatchEvent(new Event("grew")));
  });
  if ("live" in layout.dataset) {
    // A hidden page loads nothing.
    let stamp = layout.dataset.stamp, isDue = false;
    const look = () => {
      if (!isDue || document.hidden) return;
      isDue = false;
      layout.dispatchEvent(new Event("grown"));
    };
    hear(base, {grown: news => { isDue = isDue || news.stamp !== stamp; stamp = news.stamp; look(); }});
    document.addEventListener("visibilitychange", look);
  }

  // On scrolling, the head of a session shrinks to one fixed line with steps to prompts, failures and corrections.
  const headline = one(".headline"), heading = one("h1", layout);
  if (headline) {
    const marks = {prompt: "❯", failure: "✗⊘■", correction: "⟲"};
    const fill = async () => {
      stops = stops || await askData(`${base}/stops?branch=${branch}`);
      for (const button of all("button", headline)) {
        const number = stops[button.dataset.stop].length;
        button.textContent = `${marks[button.dataset.stop]} ${number.toLocaleString("en")}`;
        button.setAttribute("aria-label", `${number === 1 ? `1 ${button.dataset.stop}` : `${number.toLocaleString("en")} ${names[button.dataset.stop]}`}: to the next one`);
        button.hidden = !number;
      }
    };
    const fillIfSeen = () => { if (!headline.hidden) fill(); };
    new IntersectionObserver(([seen]) => {
      // It is called only once on the way up, when the heading has left by its last line.
      headline.hidden = seen.isIntersecting || seen.boundingClientRect.top > seen.rootBounds.top;
      fillIfSeen();
    }, {rootMargin: "-60px 0px 0px"}).observe(heading);
    layout.addEventListener("grew", fillIfSeen);
    headline.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (button) step(button.dataset.stop, 1);
      if (event.target.closest("a")) { event.preventDefault(); toStart(); }
    });
  }

  // Link, record and copy for the message under the pointer.
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "region");
  tools.setAttribute("aria-label", "This message");
  tools.hidden = true;
  tools.append(...["Link", "Record"].map(name => Object.assign(document.createElement("a"), {textContent: name, className: name.toLowerCase()})));
  tools.append(Object.assign(document.createElement("button"), {type: "button", className: "copy-text", textContent: "Copy"}));
  if (base.startsWith("/s/")) tools.append(Object.assign(document.createElement("button"), {type: "button", className: "copy-turn", textContent: "Markdown", title: "Copy this turn, or all that are selected, as Markdown (y)"}));
  document.body.append(tools);
  let target = null;
  const place = beforeNextFrame(() => {
    const item = target;
    tools.hidden = !item;
    if (!item) return;
    one(".link", tools).href = `${base}?at=${item.id}#${item.id}`;
    one(".record", tools).href = `${base}/record/${item.id}`;
    const box = item.getBoundingClientRect();
    tools.style.top = `${scrollY + box.top - tools.offsetHeight + 6}px`;
    tools.style.left = `${Math.max(8, box.right - tools.offsetWidth - 8)}px`;
  });
  const point = item => { if (item !== target) { target = item; place(); } };
  // If the message was replaced, moves its tools to the new element; else they would stay with nothing around them.
  const pointAgain = () => { if (target && !target.isConnected) point(document.getElementById(target.id)); };
  layout.addEventListener("grew", pointAgain);
  const itemOf = place => place.closest && place.closest("[id^='m-']");
  // Waits a little: on its way to the tools, the pointer may cross other messages.
  let soon = 0;
  content.addEventListener("pointerover", event => {
    clearTimeout(soon);
    const item = itemOf(event.target);
    if (item) soon = setTimeout(point, target ? 120 : 0, item);
  });
  tools.addEventListener("pointerover", () => clearTimeout(soon));
  content.addEventListener("focusin", event => { const item = itemOf(event.target); if (item) point(item); });
  // The turn under the pointer, or all turns that a selection touches. A long turn is several pieces, so the server is
  // asked for the whole turn.
  const turnOf = node => {
    const piece = node && (node.nodeType === 1 ? node : node.parentElement).closest(".piece");
    for (let at = piece; at; at = at.previousElementSibling) { const number = one(".turn > .prompt .number", at); if (number) return +number.textContent; }
    return null;
  };
  const copyTurns = async button => {
    const chosen = getSelection(), range = chosen.isCollapsed ? null : chosen.getRangeAt(0);
    const touched = range ? [...pieces].filter(piece => range.intersectsNode(piece)) : [];
    const known = (touched.length ? touched : [target || whereIs().node]).map(turnOf).filter(each => each !== null);
    if (!known.length) { say("point at a turn first"); return; }
    const first = Math.min(...known), last = Math.max(...known), turns = Array.from({length: last - first + 1}, (_, at) => first + at);
    const take = async more => {
      const answer = await ask(`${base}/markdown?branch=${branch}&turns=${turns.join(",")}${more}`);
      if (!answer.ok) { say("this cannot be copied"); return; }
      const text = await answer.text(), taken = more ? 0 : +answer.headers.get("x-taken-out");
      if (button) await copy(text, button); else await toClipboard(text);
      const which = turns.length === 1 ? `turn ${first}` : `turns ${first} to ${last}`;
      say(`${which} copied as Markdown${taken ? `, ${taken} thing${taken === 1 ? "" : "s"} taken out` : ""}`, taken ? {name: "Copy as it is", act: () => take("&as-it-is=1")} : null);
    };
    await take("");
  };
  const turnButton = one(".copy-turn", tools);
  if (turnButton) turnButton.addEventListener("click", event => copyTurns(event.target));
  one(".copy-text", tools).addEventListener("click", event => {
    const written = all(":scope > .prompt .asked, .thinking", target), texts = written.length ? written : [target];
    copy(texts.map(text => (text.innerText || text.textContent).trim()).join("\n"), event.target);
  });
  const record = () => { if (target) location.href = one(".record", tools).href; else say("point at a message first"); };
  window.reread.session = {along, arrived, copyTurns: turnButton ? copyTurns : null, here: whereIs, lead, loadCalls, nextOf, record, step, toStart, toEnd, whole};
})();
