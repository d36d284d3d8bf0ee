// Finds, marks and unmarks words in what is loaded, by the rules of the search or letter by letter.
(() => {
  "use strict";
  const {all} = window.reread;
  const MOST = 500, MOST_LONG = 2000;  // marks in one paragraph or output, for words of one or two letters and for longer ones

  // The rules of the search (index/text_index.py): letters without case and accents; any characters between the words of
  // a phrase, none in scripts without spaces; a part of a camelCase name is a word.
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
  const GLYPHS = /[\\^$.*+?()[\]{}|/]/;
  const lettersOf = piece => Array.from(piece, letter => `${GLYPHS.test(letter) ? "\\" : ""}${letter}[\\u0300-\\u036f]*(?![\\u0300-\\u036f])`).join("");
  const asWords = pieces => pieces.reduce((pattern, piece, at) => {
    const isLoose = at && (isUnspaced(pieces[at - 1].slice(-1)) || isUnspaced(piece));
    return pattern + (at ? GAP + (isLoose ? "*" : "+") : "") + lettersOf(piece);
  }, "");
  let terms = [], isSearch = true, most = MOST;
  const look = (wanted, isForWords) => {
    isSearch = isForWords;
    most = wanted.some(([pieces]) => pieces.join("").length < 3) ? MOST : MOST_LONG;
    terms = wanted.map(([pieces, isPrefix]) => ({pattern: new RegExp(isSearch ? asWords(pieces) : pieces.map(lettersOf).join("\\s+"), "gu"), isPrefix}));
  };
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
        if (!isSearch || (isBorder(text, match.index) && isBorder(text, end))) places.push([match.index, end]);
        if (places.length >= most) break;
      }
    }
    places.sort((one, other) => one[0] - other[0]);
    let end = 0;
    return places.filter(place => { const isFirst = place[0] >= end; if (isFirst) end = place[1]; return isFirst; });
  };

  // OURS: the page's own words among those of the session. BLOCKS: elements that contain one run of text, colours aside.
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
          if (places[next][0] < start) mark.dataset.goesOn = "";
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
    if (!terms.length) return;
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
  window.reread.matching = {look, mark, unmark};
})();
