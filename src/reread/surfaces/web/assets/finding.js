// The words that led to a session are marked in it, in what is loaded at first and in what comes later.
(() => {
  "use strict";
  const {all, ask, one, session} = window.reread;
  const layout = one(".layout[data-sought]"), bar = one(".finding");
  if (!layout) return;
  const base = layout.dataset.session, content = one("#content"), title = one("h1"), count = one(".count", bar);
  const MOST = 500;  // of one paragraph or output: more say nothing new

  // As the search reads a text (store/tokens.py): letters without case and accents, any signs between the words of a
  // phrase, none needed where a script has no spaces, and a part of a camelCase name is a word.
  const UNSPACED = "\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Mymr}\\p{sc=Hang}\\p{sc=Khmr}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Bopo}\\p{sc=Han}\\u30fc\\uff70";
  const isUnspaced = letter => unspaced.test(letter), unspaced = new RegExp(`^[${UNSPACED}]`, "u");
  const isLetter = letter => /^[\p{L}\p{N}]/u.test(letter), isUpper = letter => letter !== undefined && /^\p{Lu}/u.test(letter);
  const folded = new Map();
  const foldOne = letter => {
    if (!folded.has(letter)) {
      const apart = letter.normalize(letter >= "\uff66" && letter <= "\uff9d" ? "NFKC" : "NFD");
      const plain = (/^.[\u0300-\u036f]+$/u.test(apart) ? apart[0] : apart.length === 1 ? apart : letter).toLowerCase();
      folded.set(letter, plain.length === letter.length ? plain : letter);
    }
    return folded.get(letter);
  };
  const fold = text => /[^\x00-\x7f]/.test(text) ? Array.from(text, foldOne).join("") : text.toLowerCase();
  const GAP = "(?:\\n *[0-9]+→|[^\\p{L}\\p{N}])";
  const terms = JSON.parse(layout.dataset.sought).map(([pieces, isPrefix]) => {
    let pattern = "";
    pieces.forEach((piece, at) => {
      const isLoose = at && (isUnspaced(pieces[at - 1].slice(-1)) || isUnspaced(piece));
      pattern += (at ? GAP + (isLoose ? "*" : "+") : "") + Array.from(piece, letter => `${letter}[\\u0300-\\u036f]*(?![\\u0300-\\u036f])`).join("");
    });
    return {pattern: new RegExp(pattern, "gu"), isPrefix};
  });
  const restOfWord = new RegExp(`(?:(?![${UNSPACED}])[\\p{L}\\p{N}])*`, "uy");
  const isBorder = (text, at) => {
    if (at <= 0 || at >= text.length || !isLetter(text[at - 1]) || !isLetter(text[at])) return true;
    if (isUnspaced(text[at - 1]) || isUnspaced(text[at])) return true;
    const after = text[at + 1];
    return isUpper(text[at]) && (!isUpper(text[at - 1]) || (after !== undefined && /^\p{Ll}/u.test(after)));
  };
  const found = text => {
    const plain = fold(text), places = [];
    for (const {pattern, isPrefix} of terms) {
      for (const match of plain.matchAll(pattern)) {
        let end = match.index + match[0].length;
        if (isPrefix && !isUnspaced(plain[end - 1])) {
          restOfWord.lastIndex = end;
          end += restOfWord.exec(plain)[0].length;
        }
        if (isBorder(text, match.index) && isBorder(text, end)) places.push([match.index, end]);
        if (places.length >= MOST) break;
      }
    }
    places.sort((one, other) => one[0] - other[0]);
    let end = 0;
    return places.filter(place => { const isFirst = place[0] >= end; if (isFirst) end = place[1]; return isFirst; });
  };

  // Words of ours between those of the session; and what holds one run of text, whatever is coloured inside.
  const OURS = ".earlier, .empty, .piece > h2, .label, .who, .facts, .fate, .mark, .tally, .sizes, .seconds, .ending, .left-out, .rest > summary, .detail > summary, .raw";
  const BLOCKS = "p, li, td, th, pre, div, summary, header, figcaption, aside, article, section, h1, h2, h3, h4, h5, h6, .lead, .point, .tool, .failure";
  const runs = root => {
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, node =>
      node.nodeType === Node.TEXT_NODE ? NodeFilter.FILTER_ACCEPT : node.matches(OURS) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP);
    const made = [];
    let block = null, parent = null, last = null;
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      if (node.parentNode !== parent) { parent = node.parentNode; block = parent.closest(BLOCKS); }
      if (!last || last.block !== block) made.push(last = {block, nodes: []});
      last.nodes.push(node);
    }
    return made;
  };
  const wrap = (nodes, places) => {
    let end = nodes.reduce((sum, node) => sum + node.data.length, 0);
    let at = places.length - 1;
    for (const node of nodes.reverse()) {
      const start = end - node.data.length;
      for (let next = at; next >= 0 && places[next][1] > start; next--) {
        const from = Math.max(places[next][0], start) - start, to = Math.min(places[next][1], end) - start;
        if (from < to) {
          const part = node.splitText(from), mark = document.createElement("mark");
          part.splitText(to - from);
          part.replaceWith(mark);
          mark.append(part);
        }
        if (places[next][0] >= start) at = next - 1;
      }
      end = start;
    }
  };
  const mark = root => {
    for (const {nodes} of runs(root)) {
      const places = found(nodes.map(node => node.data).join(""));
      if (places.length) wrap(nodes, places);
    }
    for (const each of all("mark", root)) {
      for (let at = each.parentElement; at && at !== root; at = at.parentElement) if (at.tagName === "DETAILS") at.classList.add("has-found");
    }
  };
  const unmark = root => {
    for (const each of all("mark", root)) { const parent = each.parentNode; each.replaceWith(...each.childNodes); parent.normalize(); }
    for (const each of all(".has-found", root)) each.classList.remove("has-found");
  };
  // Every way in which pieces come into the page ends here.
  const arrived = changes => { for (const {addedNodes} of changes) for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) mark(node); };
  const watch = new MutationObserver(arrived);

  let hits = [], current = "", pointed = null, wanted = layout.dataset.at || "";
  const foldsOver = each => {
    const found = [];
    for (let at = each.closest("details"); at; at = at.parentElement.closest("details")) if (!at.firstElementChild.contains(each)) found.push(at);
    return found;
  };
  const isFolded = each => foldsOver(each).some(fold => !fold.open);
  // A browser may keep boxes for what is folded; and the first words of an open thought are in the page, but not shown.
  const isShown = each => !isFolded(each) && each.getClientRects().length > 0;
  const isSeen = each => { const box = each.getBoundingClientRect(); return box.top > 60 && box.bottom < innerHeight - 60; };
  // The marks of one message; that of a prompt holds the whole turn.
  const marksOf = name => {
    const place = document.getElementById(name);
    if (!place) return [];
    const inside = all("mark", place.matches(".turn") ? one(".prompt", place) || place : place);
    if (inside.length) return inside;
    // Of several blocks in one line only the first has its name.
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
  const settle = (name, step) => {
    arrived(watch.takeRecords());
    const marks = marksOf(name), shown = marks.filter(isShown);
    current = name;
    point((step < 0 ? shown[shown.length - 1] : shown[0]) || marks.find(isFolded) || null);
    tell();
  };
  const tell = () => {
    const at = hits.findIndex(each => each.to === current), total = hits.length.toLocaleString("en");
    const words = hits.length === 1 ? "1 message" : `${total} messages`;
    count.textContent = !hits.length ? (one("mark", title) ? "in the title" : "not found here") : at < 0 ? words : `${(at + 1).toLocaleString("en")} of ${words}`;
    for (const button of all("[data-step]", bar)) button.disabled = !hits.length;
  };
  // First what is left of a message that is longer than the screen, then the next message.
  let isBusy = false;
  const go = async step => {
    const marks = pointed && pointed.isConnected && isSeen(pointed) ? marksOf(current).filter(isShown) : [];
    const at = marks.indexOf(pointed), rest = at < 0 ? [] : step > 0 ? marks.slice(at + 1) : marks.slice(0, at).reverse();
    const hidden = rest.find(each => !isSeen(each));
    if (hidden) { point(hidden); return; }
    const next = session.nextOf(hits, current, step);
    if (!next || isBusy) return;
    isBusy = true;
    wanted = "";
    await session.lead(next.to, next.piece).finally(() => { isBusy = false; });
    settle(next.to, step);
  };
  const look = async () => {
    const given = new URLSearchParams(location.search);
    const asked = new URLSearchParams({branch: layout.dataset.branch, q: given.get("q")});
    for (const each of given.getAll("in")) asked.append("in", each);
    const answer = await ask(`${base}/hits?${asked}`);
    if (!answer.ok || bar.hidden) return;
    hits = (await answer.json()).map(([to, piece]) => ({to, piece}));
    tell();
  };
  const clear = () => {
    watch.disconnect();
    unmark(content);
    unmark(title);
    bar.hidden = true;
    const address = new URL(location.href);
    address.searchParams.delete("q");
    address.searchParams.delete("in");
    history.replaceState(history.state, "", address);
  };

  mark(title);
  mark(content);
  watch.observe(content, {childList: true});
  bar.hidden = false;
  layout.addEventListener("revealed", event => { if (event.detail === wanted) settle(wanted, 1); });
  layout.addEventListener("grew", () => { if (!bar.hidden) look(); });
  if (wanted && !(history.state && history.state.read)) settle(wanted, 1);
  look();
  bar.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button) { if (button.dataset.step) go(+button.dataset.step); else clear(); }
  });
  addEventListener("keydown", event => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (bar.hidden || isTyping || event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    const act = {m: () => go(1), M: () => go(-1), Escape: clear}[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
