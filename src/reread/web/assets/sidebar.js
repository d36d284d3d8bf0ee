// The list of sessions next to the open one. It can be folded, and its state is remembered.
(() => {
  "use strict";
  const {all, ask, one, parsed, session} = window.reread;
  const list = one("#session-list"), opener = one(".list-open"), base = one(".layout[data-session]").dataset.session;
  const OPEN = "reread-list";
  let isLoaded = false;
  const here = () => one("[aria-current=page]", list);
  const load = async () => {
    if (isLoaded) return;
    const answer = await ask(`${base}/around`);
    if (!answer.ok || isLoaded) return;
    isLoaded = true;
    one(".loaded", list).replaceChildren(parsed(await answer.text()));
    const row = here();
    // Scrolls only the list, not the page.
    if (row) list.scrollTop = row.offsetTop - list.clientHeight / 2;
  };
  const show = async (isOpen, isFocused) => {
    list.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    localStorage.setItem(OPEN, isOpen ? "1" : "0");
    if (!isOpen) { if (isFocused) opener.focus({preventScroll: true}); return; }
    await load();
    if (isFocused && here()) here().focus({preventScroll: true});
  };
  const toggle = () => { show(list.hidden, true); };
  opener.addEventListener("click", toggle);
  one(".fold", list).addEventListener("click", toggle);
  opener.hidden = false;
  // On a narrow screen it would cover the session.
  if (localStorage.getItem(OPEN) === "1" && matchMedia("(min-width: 70.01rem)").matches) show(true, false);
  session.list = {toggle, has: place => list.contains(place), rows: () => all("a.row", list)};
})();
