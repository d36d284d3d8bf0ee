// Finds words in an open session: those of the search that led to it, and those typed into its field. Marks them in
// what is loaded, at first and later; the server knows where the others are.
(() => {
  "use strict";
  const {all, ask, matching, one, parsed, session} = window.reread;
  const layout = one(".layout[data-session]"), bar = one(".find-in-page");
  const base = layout.dataset.session, content = one("#content"), title = one("h1");
  const field = one("input", bar), count = one(".count", bar), branches = one(".elsewhere", bar), unseen = one(".unseen", bar);
  const searchButton = one(".as-search", bar), opener = one(".find-here");
  const address = () => new URLSearchParams(location.search);
  const number = many => many.toLocaleString("en");

  // Every piece that is added to the page passes here.
  const arrived = changes => { for (const {addedNodes} of changes) for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) matching.mark(node); };
  const watch = new MutationObserver(arrived);
  let marked = "";
  const remark = (terms, isSearch) => {
    const wanted = JSON.stringify([terms, isSearch]);
    if (wanted === marked) return;
    marked = wanted;
    watch.disconnect();
    for (const place of [title, content]) matching.unmark(place);
    matching.look(terms, isSearch);
    for (const place of [title, content]) matching.mark(place);
    if (terms.length) watch.observe(content, {childList: true});
  };

  let hits = [], total = 0, elsewhere = [], isSearch = false, problem = "", current = "", pointed = null, wanted = layout.dataset.at || "";
  const foldsOver = each => {
    const found = [];
    for (let at = each.closest("details"); at; at = at.parentElement.closest("details")) if (!at.firstElementChild.contains(each)) found.push(at);
    return found;
  };
  const isFolded = each => foldsOver(each).some(fold => !fold.open);
  // Both are checked: a browser may keep boxes for folded content, and an open thought hides the first words in its title.
  const isShown = each => !isFolded(each) && each.getClientRects().length > 0;
  const isSeen = each => { const box = each.getBoundingClientRect(); return box.top > Math.max(110, bar.getBoundingClientRect().bottom) && box.bottom < innerHeight - 60; };
  // The title of a fold may repeat its content: the beginning of a thought, the point of a call.
  const tight = text => text.replace(/\s/g, "");
  const isRepeated = each => {
    const line = each.closest("summary"), point = each.closest(".point");
    if (!line || line.parentElement.matches(".thought")) return Boolean(line);
    const inside = all(".part:not(.output), figcaption", line.parentElement);
    return point && inside.some(part => tight(part.textContent).includes(tight(point.textContent).slice(0, 40)));
  };
  // The marks in one message. The element of a prompt contains its whole turn, so only the prompt in it counts.
  const marksOf = name => {
    const place = document.getElementById(name);
    if (!place) return [];
    const inside = all("mark", place.matches(".turn") ? one(".prompt", place) || place : place);
    if (inside.length) return isSearch ? inside : inside.filter(each => !("goesOn" in each.dataset) && !isRepeated(each));
    // Of several blocks from one line, only the first has an id.
    const isUnnamed = each => { const named = each.closest("[id^='m-']"); return (!named || named.matches(".turn")) && !each.closest(".prompt"); };
    return all("mark", place.closest(".piece")).filter(each => isUnnamed(each) && place.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING).slice(0, 1);
  };
  const point = each => {
    if (pointed) pointed.classList.remove("current");
    pointed = each;
    if (!each) return;
    for (const fold of foldsOver(each)) fold.open = true;
    each.classList.add("current");
    if (!isSeen(each)) each.scrollIntoView({block: "center", behavior: "instant"});
  };
  let settling = 0;
  const settle = async ({to, piece, count: many}, step) => {
    const mine = ++settling;
    arrived(watch.takeRecords());
    if (piece >= 0 && (isSearch || marksOf(to).length < many)) {
      await session.lead(to, piece);
      arrived(watch.takeRecords());
    }
    if (isSearch ? !marksOf(to).length : marksOf(to).length < many) await whole(to);
    if (mine !== settling) return;
    current = to;
    const marks = marksOf(to);
    const shown = isSearch ? marks.filter(isShown) : marks;
    point((step < 0 ? shown[shown.length - 1] : shown[0]) || marks.find(isFolded) || null);
    tell();
  };
  const settleThere = () => settle({to: wanted, piece: -1, count: 0}, 1);
  // Loads a text that was cut, if there are matches in it.
  const brought = new WeakMap();
  const whole = async name => {
    const place = document.getElementById(name), cut = place && one(".left-out", place.matches(".turn") ? one(".prompt", place) || place : place);
    if (!cut) return;
    if (!brought.has(cut)) brought.set(cut, session.whole(cut.closest(".piece").dataset.piece));
    await brought.get(cut);
    arrived(watch.takeRecords());
  };
  const counted = () => {
    const at = hits.findIndex(each => each.to === current);
    if (isSearch) return `${at < 0 ? "" : `${number(at + 1)} of `}${hits.length === 1 ? "1 message" : `${number(hits.length)} messages`}`;
    const inside = at < 0 ? -1 : Math.min(Math.max(0, marksOf(current).indexOf(pointed)), hits[at].count - 1);
    return at < 0 ? `${number(total)} found` : `${number(hits[at].before + inside + 1)} of ${number(total)}`;
  };
  const tell = () => {
    count.textContent = problem || (hits.length ? counted() : one("mark", title) ? "in the title" : "not found here");
    for (const button of all("[data-step]", bar)) button.disabled = !hits.length;
    const others = elsewhere.reduce((sum, each) => sum + each.number, 0);
    branches.hidden = !others;
    if (others) {
      branches.textContent = `${number(others)} on ${elsewhere.length === 1 ? "another branch" : `${number(elsewhere.length)} other branches`}`;
      branches.href = session.along(`${base}?branch=${elsewhere[0].branch}&at=${elsewhere[0].anchor}#${elsewhere[0].anchor}`);
    }
    // A page does not show all words of a call, so a match may be visible only in the record.
    unseen.hidden = !current || !hits.length || (pointed !== null && pointed.isConnected);
    if (!unseen.hidden) unseen.href = `${base}/record/${current}`;
    searchButton.setAttribute("aria-pressed", String(isSearch));
  };
  // For a search: first the remaining marks of a message that is longer than the screen, then the next message.
  let isBusy = false;
  const inMessage = step => {
    const isHere = pointed && pointed.isConnected && (isSeen(pointed) || !isSearch);
    const marks = isHere ? marksOf(current).filter(each => !isSearch || isShown(each)) : [];
    const at = marks.indexOf(pointed), rest = at < 0 ? [] : step > 0 ? marks.slice(at + 1) : marks.slice(0, at).reverse();
    return isSearch ? rest.find(each => !isSeen(each)) : pointed && isNear(pointed) ? rest[0] : null;
  };
  const isNear = each => { const box = each.getBoundingClientRect(); return box.bottom > -innerHeight && box.top < 2 * innerHeight; };
  const go = async step => {
    if (isBusy || !hits.length) return;
    const inside = inMessage(step);
    if (inside) { point(inside); tell(); return; }
    // After the last match comes the first.
    const next = session.nextOf(hits, current, step) || hits[step > 0 ? 0 : hits.length - 1];
    isBusy = true;
    wanted = "";
    try {
      await settle(next, step);
    } finally {
      isBusy = false;
    }
  };

  const asked = () => {
    const given = address(), found = new URLSearchParams({branch: layout.dataset.branch});
    for (const name of ["find", "q", "in"]) for (const value of given.getAll(name)) found.append(name, value);
    return found;
  };
  const keep = changes => {
    const there = new URL(location.href);
    for (const name of ["find", "q", "in"]) there.searchParams.delete(name);
    for (const [name, value] of Object.entries(changes)) there.searchParams.set(name, value);
    history.replaceState(history.state, "", there);
  };
  let running = null;
  const look = async () => {
    if (running) running.abort();
    const mine = running = new AbortController();
    const answered = ask(`${base}/hits?${asked()}`, {signal: mine.signal}).then(async answer => answer.ok ? answer.json() : {terms: [], hits: [], elsewhere: [], problem: parsed(await answer.text()).textContent.trim()});
    // Reading a long session for the first time takes a while.
    const patience = setTimeout(() => { if (mine === running) count.textContent = "looking …"; }, 300);
    const got = await answered.catch(failure => { if (failure.name !== "AbortError") throw failure; }).finally(() => clearTimeout(patience));
    if (mine !== running || bar.hidden) return false;
    ({search: isSearch = false, problem = ""} = got || {});
    hits = [];
    total = 0;
    for (const [to, piece, many] of (got ? got.hits : [])) { hits.push({to, piece, count: many, before: total}); total += many; }
    elsewhere = got ? got.elsewhere : [];
    remark(got ? got.terms : [], isSearch);
    // The typed words were answered as a search: keep that in the address.
    if (isSearch && address().has("find")) keep({q: address().get("find"), in: "all"});
    tell();
    return true;
  };
  // While typing: the first match after the place where the person opened the field.
  let origin = null;
  const nearest = () => {
    const follows = ({to}) => {
      const place = document.getElementById(to);
      return !place || !origin.node || !origin.node.isConnected || origin.node === place || place.compareDocumentPosition(origin.node) & (Node.DOCUMENT_POSITION_PRECEDING | Node.DOCUMENT_POSITION_CONTAINED_BY);
    };
    return hits.find(each => each.piece > origin.piece || (each.piece === origin.piece && follows(each))) || hits[0];
  };
  const typed = async asSearch => {
    const words = field.value.trim();
    settling++;
    current = "";
    point(null);
    if (!words) { nothing(); return; }
    keep(asSearch ? {q: words, in: "all"} : {find: words});
    if (!await look() || !hits.length) return;
    await settle(nearest(), 1);
  };
  let soon = 0;
  const typedNow = () => { clearTimeout(soon); soon = 0; typed(searchButton.dataset.wanted === "1"); };
  const nothing = () => {
    if (running) running.abort();
    running = null;
    keep({});
    remark([], false);
    [hits, total, elsewhere, problem, isSearch] = [[], 0, [], "", false];
    tell();
    count.textContent = "";
  };

  let before = null;
  const open = () => {
    if (bar.hidden || document.activeElement !== field) before = document.activeElement;
    if (bar.hidden) origin = session.here();
    bar.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    field.focus();
    field.select();
    // Lets the server prepare, so that the first letter is answered at once.
    if (!field.value) ask(`${base}/hits?branch=${layout.dataset.branch}`);
  };
  const close = () => {
    clearTimeout(soon);
    soon = 0;
    const back = before && before.isConnected && before !== document.body ? before : document.getElementById(current);
    const hadFocus = bar.contains(document.activeElement);
    settling++;
    current = "";
    point(null);
    nothing();
    field.value = "";
    delete searchButton.dataset.wanted;
    bar.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    before = null;
    if (hadFocus) (back && back.id.startsWith("m-") ? one("a.number, summary", back) || content : back || content).focus({preventScroll: true});
  };

  opener.hidden = false;
  opener.addEventListener("click", open);
  if (layout.dataset.sought) {
    bar.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    origin = session.here();
    isSearch = "search" in layout.dataset;
    remark(JSON.parse(layout.dataset.sought), isSearch);
    layout.addEventListener("revealed", event => { if (event.detail === wanted) settleThere(); });
    if (wanted && !(history.state && history.state.read)) {
      settleThere();
      session.arrived.then(() => { if (wanted) settleThere(); });
    }
    look();
  }
  layout.addEventListener("unfolded", event => { if (!bar.hidden) matching.mark(event.detail); });
  layout.addEventListener("grew", () => { if (!bar.hidden && field.value.trim()) look(); });
  field.addEventListener("input", () => { origin = origin || session.here(); clearTimeout(soon); soon = setTimeout(typedNow, 80); });
  bar.addEventListener("submit", event => { event.preventDefault(); });
  bar.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.step) go(+button.dataset.step);
    else if (button === searchButton) { searchButton.dataset.wanted = isSearch ? "" : "1"; typed(!isSearch); }
    else close();
  });
  bar.addEventListener("keydown", event => {
    if (event.isComposing) return;
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
    if (event.key === "Enter" && event.target === field) { event.preventDefault(); if (soon) typedNow(); else go(event.shiftKey ? -1 : 1); }
  });
  window.reread.find = {open, everywhere: () => {
    const quick = one(".quick input");
    if (field.value.trim()) quick.value = field.value.trim();
    quick.focus();
    quick.select();
  }};
  addEventListener("keydown", event => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (bar.hidden && !isTyping && /^[mM]$/.test(event.key)) window.reread.say("nothing is sought here: / finds");
    if (bar.hidden || isTyping || event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    const act = {m: () => go(1), M: () => go(-1), Escape: close}[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
