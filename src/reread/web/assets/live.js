(() => {
  "use strict";
  const {all, ask, hear, one, parsed, say} = window.reread;
  // A page restored from the browser's cache has missed what happened.
  addEventListener("pageshow", event => { if (event.persisted) location.reload(); });

  const told = one(".composer .told");
  // A choice that allows more than usual must be confirmed by typing it.
  const confirming = one(".confirming");
  if (confirming) {
    const choice = one("select[name=permission]"), field = one("input", confirming);
    const settleChoice = () => {
      const isWider = confirming.dataset.wider.split(" ").includes(choice.value), word = choice.value.replace("mode:", "");
      confirming.hidden = !isWider;
      field.required = isWider;
      field.pattern = word;
      one(".word", confirming).textContent = word;
    };
    choice.addEventListener("change", () => { field.value = ""; settleChoice(); });
    settleChoice();
  }

  // Keeps the keyboard focus when an answered form disappears: it moves to the next question, or to what replaces it.
  const focus = place => { place.tabIndex = -1; place.focus({preventScroll: true}); };
  const takeAway = (parts, next) => {
    const isHeld = parts.some(each => each.contains(document.activeElement));
    for (const each of parts) each.remove();
    if (isHeld) focus(next());
  };

  // Questions that wait for an answer. A form that is still needed stays as it is: the person may be writing in it.
  const queue = fresh => {
    const place = one("#queue");
    const wanted = new Map(all(".queued", fresh).map(each => [each.dataset.key, each]));
    const over = all(".queued", place).filter(each => !wanted.delete(each.dataset.key));
    place.append(...wanted.values());
    takeAway(over, () => one(".ask", place) || one("h1"));
    place.parentElement.hidden = !place.children.length;
    if (wanted.size) say(`waiting for you: ${[...wanted.values()].map(each => one("h3 a", each).textContent).join(", ")}`);
  };

  // The list of running sessions.
  const list = one("#running");
  if (list) {
    hear("/live", {list: news => {
      const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
      list.replaceChildren(parsed(news.html));
      document.title = news.title;
      queue(parsed(news.queue));
      const log = one("details.answered");
      log.replaceChildren(parsed(news.answered));
      log.hidden = !one("li", log);
      const again = focused && all("a", list).find(link => link.getAttribute("href") === focused);
      if (again) again.focus({preventScroll: true});
    }});
  }

  let after = () => {};
  // What a person says and decides.
  addEventListener("submit", async event => {
    const form = event.target;
    if (!form.matches(".ask, .say")) return;
    event.preventDefault();
    const button = event.submitter, place = one(".told", form) || told;
    const path = (button && button.getAttribute("formaction")) || form.getAttribute("action");
    const buttons = all("button", form).filter(each => !each.disabled);
    const given = new URLSearchParams(new FormData(form, button));
    const isHeld = button && button === document.activeElement;
    if (isHeld) focus(form); // a disabled button would lose the focus
    for (const each of buttons) each.disabled = true;
    try {
      const answer = await ask(path, {method: "POST", body: given});
      if (answer.ok) {
        place.textContent = "";
        if (path.endsWith("/say")) { one("textarea", form).value = ""; scrollTo({top: document.documentElement.scrollHeight}); }
      } else {
        const words = parsed(await answer.text()), isOver = answer.status === 409 && form.matches(".ask");
        // Answered elsewhere: the form, and any message in it, is about to disappear.
        if (!isOver) place.replaceChildren(words);
        else if (told) told.replaceChildren(words);
        else say(words.textContent.trim());
      }
    } catch (problem) {
      place.textContent = `The server does not answer: ${problem.message}`;
    }
    for (const each of buttons) each.disabled = false;
    if (isHeld && document.activeElement === form) button.focus({preventScroll: true});
    await after();
  });

  let before = "";
  addEventListener("keydown", event => {
    const last = before;
    before = event.key;
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    // A key that is held down would also answer the next question, which the person has not seen.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping || last === "g" || one("dialog[open]")) return;
    const open = all(".ask:not(.question)");
    const button = event.key === "Escape" ? one(".say .stop:not(:disabled)")
      : open.length === 1 && all(".ask").length === 1 && {a: one("button[value=allow]", open[0]), d: one("button[value=deny]", open[0])}[event.key];
    // A digit takes the answer at that place; a question's answer is sent by its button.
    const asked = all(".ask"), digit = asked.length === 1 && /^[1-9]$/.test(event.key) && +event.key;
    const chosen = digit && all(asked[0].matches(".question") ? ".choice:not(.own) input" : ".actions > button[name=decision], .deny > button", asked[0]).filter(each => each.checkVisibility())[digit - 1];
    if (button || chosen) { event.preventDefault(); (button || chosen).click(); }
  });

  // One run.
  const layout = one(".layout[data-run]");
  if (!layout) return;
  const base = layout.dataset.session;
  const formings = one(".formings");
  const isAtEnd = () => scrollY + innerHeight > document.documentElement.scrollHeight - 160;
  const staying = act => {
    const wasAtEnd = isAtEnd();
    act();
    if (wasAtEnd) scrollTo({top: document.documentElement.scrollHeight, behavior: "instant"});
  };

  // Blocks that form: plain text until they are complete, then the server's own markup.
  const blocks = new Map();
  let alive = new Set();
  const labels = {thinking: () => "thinking", text: () => "", tool: name => name};
  const begun = news => {
    const block = document.createElement("div");
    block.className = `forming forming-${news.kind}`;
    const label = document.createElement("span");
    label.className = "label";
    label.textContent = [news.agent ? "agent" : "", labels[news.kind](news.name)].filter(Boolean).join(" · ");
    const text = document.createElement("div");
    text.className = "text";
    text.dir = "auto";
    block.append(label, text);
    formings.append(block);
    blocks.set(news.key, block);
    return block;
  };
  const forming = news => staying(() => {
    alive.add(news.key);
    const text = one(".text", blocks.get(news.key) || begun(news));
    if (news.at === 0) text.textContent = news.text; else text.append(news.text);
  });
  const drop = () => {
    for (const [key, block] of blocks) if (!alive.has(key)) { block.remove(); blocks.delete(key); }
  };

  // A thought that was shown while it formed stays open.
  const known = new Set(all("details.thought[id]").map(each => each.id));
  const keepOpen = () => {
    for (const each of all("details.thought[id]")) {
      if (!known.has(each.id)) { known.add(each.id); each.open = true; }
    }
  };

  const asks = one(".asks");
  const now = async () => {
    const answer = await ask(`${base}/now`);
    if (!answer.ok) return;
    const fresh = parsed(await answer.text());
    staying(() => {
      for (const what of [".kept", ".outcome"]) one(what).replaceWith(one(what, fresh));
      // A live region is only read out if its element stays the same.
      const state = one(".state"), next = one(".state", fresh);
      for (const {name, value} of next.attributes) state.setAttribute(name, value);
      if (state.textContent !== next.textContent) state.replaceChildren(...next.childNodes);
      const wanted = new Map(all(".ask", fresh).map(form => [form.dataset.request, form]));
      const over = all(".ask", asks).filter(form => !wanted.delete(form.dataset.request));
      asks.append(...wanted.values());
      takeAway(over, () => one(".ask", asks) || state);
      settle();
    });
  };
  const settle = () => {
    const state = one(".state");
    document.title = state.dataset.title;
    const doing = state.dataset.doing, form = one(".say:has(.actions)");
    if (form) {
      const stop = one(".stop", form), isOver = doing === "waiting";
      if (isOver && stop === document.activeElement) one("textarea", form).focus({preventScroll: true});
      stop.disabled = isOver;
      if (doing === "ended") {
        const words = one("textarea", form), isBegun = Boolean(words.value.trim());
        one(".over-note").hidden = false;
        words.readOnly = isBegun; // kept so that the person can copy it: it is stored nowhere else
        takeAway([isBegun ? one(".actions", form) : form], () => isBegun ? words : one(".over-note"));
      }
    }
    const link = one(".over-note a"), kept = one(".kept a");
    if (kept) { link.href = `${kept.getAttribute("href")}#go-on`; link.textContent = "Go on with it"; }
  };

  const grown = () => new Promise(done => {
    layout.addEventListener("grew", done, {once: true});
    layout.dispatchEvent(new Event("grown"));
  });
  let isBusy = false, isWanted = false;
  const refresh = after = async () => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    try {
      while (isWanted) {
        isWanted = false;
        const seen = now();
        await grown();
        staying(() => { drop(); keepOpen(); });
        await seen;
      }
    } finally { isBusy = false; }
  };

  let version = +layout.dataset.version;
  const lose = words => { told.dataset.lost = "1"; told.textContent = words; };
  hear(base, {
    forming,
    changed: news => {
      if (news.version === version) return;
      version = news.version;
      alive = new Set(news.forming);
      refresh();
    },
    open: () => { if (told.dataset.lost) { told.textContent = ""; delete told.dataset.lost; } },
    lost: () => lose("The server does not answer; trying again."),
    gone: () => lose("This server does not know the run any more."),
  });
  settle();

  scrollTo({top: document.documentElement.scrollHeight, behavior: "instant"});
})();
