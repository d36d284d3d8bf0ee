// Ctrl-K: sessions, projects, text and commands, from every page.
(() => {
  "use strict";
  const {all, ask, later, one, relative} = window.reread;
  const sheet = one("dialog.palette"), field = one("input", sheet), list = one("ul", sheet), told = one(".told", sheet);
  const press = (key, shift = false) => () => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey: shift, bubbles: true}));
  const project = () => (one("[data-project]") || {dataset: {}}).dataset.project;
  const commands = () => [
    ...all(".places a").map(link => ({title: `Go to ${link.textContent}`, about: `g ${link.dataset.key}`, href: link.getAttribute("href")})),
    ...window.rereadTheme.themes.filter(theme => theme !== window.rereadTheme.wanted()).map(theme => (
      {title: theme === "system" ? "Theme: as the system has it" : `Theme: ${theme}`, about: "", act: () => { window.rereadTheme.choose(theme); window.reread.say(`theme: ${theme}`); }})),
    {title: "Keys", about: "?", act: press("?")},
    {title: window.reread.notifications.isOn() ? "No more notifications" : "Notify me when a session waits or is done", about: "", act: () => window.reread.notifications.toggle()},
    ...(window.reread.session ? [
      {title: "Star, or take the star away", about: "s", act: press("s")},
      {title: "Next failure", about: "n", act: press("n")},
      {title: "Previous failure", about: "p", act: press("p")},
      {title: "Next correction", about: "c", act: press("c")},
      {title: "To the end", about: "G", act: press("G", true)},
      ...(one("#session-list") ? [{title: "Sessions beside this one, or fold them", about: "L", act: press("L", true)}] : []),
      ...(one("#time") ? [{title: "Go through the time of this session", about: "T", act: press("T", true)}] : []),
      ...(window.reread.session.copyTurns ? [{title: "Copy this turn as Markdown", about: "y", act: press("y")}] : []),
      {title: "Find in this session", about: "/", act: press("/")},
      {title: "Open or close all thinking", about: "t", act: press("t")},
      {title: "Open or close all tool calls", about: "o", act: press("o")},
    ] : []),
    ...(one("a.export-page") ? [{title: "Export or share this session", about: "", href: one("a.export-page").getAttribute("href")}] : []),
    ...(project() ? [{title: "Usage of this project", about: project(), href: `/usage?${new URLSearchParams({project: project(), since: "all"})}`}] : []),
  ].map(each => ({kind: "command", ...each}));

  let offers = [], at = 0, running = null, shownFor = null, hurried = null, isSearch = false;
  // A title with the typed words marked.
  const marked = text => {
    const words = field.value.replace(/^>/, "").trim().split(/\s+/).filter(Boolean).map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return words.length ? text.split(new RegExp(`(${words.join("|")})`, "i")).map((part, at) => at % 2 ? Object.assign(document.createElement("mark"), {textContent: part}) : part) : [text];
  };
  const show = () => {
    list.replaceChildren(...offers.map((offer, number) => {
      const row = document.createElement("li");
      row.id = `offer-${number}`;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(number === at));
      for (const [name, text] of [["kind", offer.kind], ["title", offer.title], ["about", offer.about], ["age", offer.time ? relative(new Date(offer.time)) : ""]]) {
        const part = Object.assign(document.createElement("span"), {className: name, dir: "auto"});
        part.append(...name === "title" ? marked(text) : [text]);
        row.append(part);
      }
      row.classList.toggle("same", number > 0 && offer.session && offer.session === offers[number - 1].session);
      return row;
    }));
    field.setAttribute("aria-activedescendant", offers.length ? `offer-${at}` : "");
    const here = list.children[at];
    if (here) here.scrollIntoView({block: "nearest"});
    told.textContent = offers.length ? "" : "Nothing has that.";
  };
  const look = async () => {
    const words = field.value.trim(), isCommand = words.startsWith(">"), parts = words.replace(/^>\s*/, "").toLowerCase().split(/\s+/);
    const own = commands().filter(each => parts.every(part => `${each.title} ${each.about}`.toLowerCase().includes(part)));
    if (running) running.abort();
    if (isCommand) { running = null; told.textContent = ""; offers = own; at = 0; shownFor = words; show(); if (hurried) choose(0, hurried.isNew); return; }
    const mine = running = new AbortController();
    const slow = setTimeout(() => { told.textContent = "Looking …"; }, 400);
    const asked = ask(`/palette?${new URLSearchParams({q: words})}`, {signal: mine.signal}).then(answer => answer.ok ? answer.json() : null);
    const got = await asked.catch(problem => { if (problem.name !== "AbortError") throw problem; }).finally(() => { clearTimeout(slow); if (mine === running) told.textContent = ""; });
    if (!got || mine !== running) return;
    const search = {kind: "search", title: `Search everything for “${words}”`, about: "", href: `/search?${new URLSearchParams({q: words})}`};
    const found = [...own.slice(0, 4), ...got];
    offers = !words ? [...got.slice(0, 5), ...own] : isSearch ? [search, ...found] : [...found, search];
    at = 0;
    shownFor = words;
    show();
    if (hurried && words === field.value.trim()) choose(0, hurried.isNew);
  };
  const soon = later(look, 60);
  const open = () => {
    if (sheet.open) { sheet.close(); return; }
    if (one("dialog[open]")) return;
    isSearch = false;
    sheet.showModal();
    field.select();
    look();
  };
  const choose = (number, isNew) => {
    const offer = offers[number];
    hurried = null;
    if (!offer) return;
    sheet.close();
    if (offer.act) offer.act(); else if (isNew) window.open(offer.href); else location.href = offer.href;
  };
  field.addEventListener("input", () => { hurried = null; soon(); });
  field.addEventListener("keydown", event => {
    // While an input method composes letters, Enter, arrows and Escape belong to it.
    if (event.isComposing) { event.stopPropagation(); return; }
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key] || (event.ctrlKey && {n: 1, p: -1}[event.key]);
    if (step && offers.length) { event.preventDefault(); at = (at + step + offers.length) % offers.length; show(); }
    if (event.key === "Enter") {
      event.preventDefault();
      // Someone who types fast means the typed words, not the older list.
      const isNew = event.ctrlKey || event.metaKey, words = field.value.trim();
      if (words === shownFor) choose(at, isNew); else { hurried = {isNew}; look(); }
    }
    event.stopPropagation();
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); sheet.close(); }
  });
  list.addEventListener("click", event => {
    const row = event.target.closest("li");
    if (row) choose([...list.children].indexOf(row), event.ctrlKey || event.metaKey);
  });
  sheet.addEventListener("click", event => { if (event.target === sheet) sheet.close(); });
  addEventListener("keydown", event => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") { event.preventDefault(); open(); }
  });
  one(".palette-open").addEventListener("click", open);
  if (/Mac|iPhone|iPad/.test(navigator.platform)) one(".palette-open kbd").textContent = "⌘K";
  // The field in the header shows the same list while one types, but Enter alone searches.
  const quick = one(".quick input");
  const offer = event => {
    if (event.isComposing || quick.value.trim().length < 2 || sheet.open) return;
    field.value = quick.value;
    quick.value = "";
    isSearch = true;
    sheet.showModal();
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    look();
  };
  quick.addEventListener("input", offer);
  quick.addEventListener("compositionend", offer);
})();
