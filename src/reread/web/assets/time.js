// A slider over the points in time of a session, each with the context, the cost so far, and the files.
(() => {
  "use strict";
  const {all, ask, askData, beforeNextFrame, later, one, parsed, say, session} = window.reread;
  const layout = one(".layout[data-session]"), bar = one("#time"), opener = one(".time-open");
  const base = layout.dataset.session, branch = layout.dataset.branch;
  const range = one("input[type=range]", bar), files = one(".then-files", bar);
  const clock = new Intl.DateTimeFormat([], {dateStyle: "medium", timeStyle: "medium"});
  let points = null, shownFor = null;

  const here = () => points[+range.value];
  const tell = (point = here()) => {
    const when = one(".when", bar), what = point.what === "prompt" ? `prompt ${point.turn}` : `${point.what}, in turn ${point.turn}`;
    when.dateTime = point.time;
    when.textContent = clock.format(new Date(point.time));
    for (const [name, text] of [["what", what], ["context", point.context], ["cost", point.cost || "$0"]]) one(`.${name}`, bar).textContent = text;
    if (point === here()) range.setAttribute("aria-valuetext", `${when.textContent}, ${what}, context ${point.context}, ${point.cost || "$0"} so far`);
  };
  const loadFiles = async () => {
    const point = here();
    if (!files.open || shownFor === point.time) return;
    const answer = await ask(`${base}/then?${new URLSearchParams({time: point.time})}`);
    const text = answer.ok ? await answer.text() : "";
    // Slider and fold may both have requested this: the second answer would close what was opened after the first.
    if (!answer.ok || point !== here() || shownFor === point.time) return;
    shownFor = point.time;
    const opened = all("details[open]", one(".loaded", files)).map(part => one(".path", part).textContent);
    one(".loaded", files).replaceChildren(parsed(text));
    // An open file stays open when the slider moves.
    for (const part of all("details", one(".loaded", files))) part.open = opened.includes(one(".path", part).textContent);
  };
  const loadSoon = later(loadFiles, 150);
  const lead = later(() => { const point = here(); session.lead(point.to, point.piece, [], false); }, 60);
  const show = beforeNextFrame(() => tell());
  const changed = () => { show(); lead(); loadSoon(); };
  range.addEventListener("input", changed);
  files.addEventListener("toggle", loadFiles);

  // The track: context as an area, cost as a line, and ticks; hovering reads a moment, dragging moves to it.
  const track = one(".track", bar), chart = one("svg", track);
  const draw = () => {
    const last = Math.max(1, points.length - 1), most = what => Math.max(1, ...points.map(point => point[what]));
    const [context, cost] = [["size", most("size")], ["spent", most("spent")]].map(([what, top]) => points.map((point, at) => `${(1000 * at / last).toFixed(1)},${(60 - 56 * point[what] / top).toFixed(1)}`));
    const drawn = (name, given) => { const made = document.createElementNS(chart.namespaceURI, name); for (const [key, value] of Object.entries(given)) made.setAttribute(key, value); return made; };
    const ticks = points.flatMap((point, at) => point.tick || point.what === "prompt" ? [drawn("line", {class: point.tick || "prompt", x1: 1000 * at / last, x2: 1000 * at / last, y1: point.tick ? 0 : 48, y2: 60, "vector-effect": "non-scaling-stroke"})] : []);
    chart.replaceChildren(drawn("polygon", {points: `0,60 ${context.join(" ")} 1000,60`}), drawn("polyline", {points: cost.join(" "), "vector-effect": "non-scaling-stroke"}), ...ticks);
  };
  const pointed = event => { const box = chart.getBoundingClientRect(); return Math.round((points.length - 1) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width))); };
  const drag = event => { range.value = pointed(event); changed(); };
  track.addEventListener("pointermove", event => { if (event.buttons) drag(event); else tell(points[pointed(event)]); });
  track.addEventListener("pointerdown", event => { track.setPointerCapture(event.pointerId); drag(event); });
  track.addEventListener("pointerleave", () => tell());
  const player = one(".play", bar);
  let playing = 0;
  const stop = () => { clearInterval(playing); playing = 0; player.setAttribute("aria-pressed", "false"); player.textContent = "▶"; };
  const play = () => {
    const next = points.findIndex((point, at) => at > +range.value && point.what === "prompt");
    if (next < 0) { stop(); say("this is the last turn"); return; }
    range.value = next;
    changed();
  };
  player.addEventListener("click", () => {
    if (playing) { stop(); return; }
    player.setAttribute("aria-pressed", "true");
    player.textContent = "❚❚";
    playing = setInterval(play, 1000);
    play();
  });

  const pointsNow = () => askData(`${base}/timeline?branch=${branch}`);
  const load = async () => {
    if (points) return;
    points = await pointsNow();
    range.max = Math.max(0, points.length - 1);
    const piece = session.here().piece, at = points.findIndex(point => point.piece >= piece);
    range.value = at < 0 ? range.max : at;
    draw();
  };
  const close = () => { stop(); bar.hidden = true; opener.setAttribute("aria-expanded", "false"); opener.focus({preventScroll: true}); };
  const open = async () => {
    if (!bar.hidden) { close(); return; }
    await load();
    if (!points.length) { say("nothing here has a time"); return; }
    bar.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    tell();
    range.focus({preventScroll: true});
  };
  const move = async by => {
    if (bar.hidden) await open();
    if (bar.hidden) return;
    const to = +range.value + by;
    if (!points[to]) { say(by > 0 ? "this is the last moment" : "this is the first moment"); return; }
    range.value = to;
    changed();
  };
  // Until the new points are loaded, the slider uses the old ones.
  layout.addEventListener("grew", async () => {
    if (bar.hidden) { points = null; return; }
    points = await pointsNow();
    range.max = points.length - 1;
    draw();
    tell();
  });
  bar.addEventListener("click", event => {
    const button = event.target.closest("button[data-by]");
    if (button) move(+button.dataset.by);
    if (event.target.closest(".close")) close();
  });
  bar.addEventListener("keydown", event => {
    if (event.key === "Escape") { event.stopPropagation(); close(); }
    // Also in the slider: it is an input field, where the page's keys are otherwise ignored.
    else if (event.target === range && ["[", "]"].includes(event.key)) { event.preventDefault(); move(event.key === "]" ? 1 : -1); }
    else if (event.target === range && event.key === "T") { event.preventDefault(); close(); }
  });
  opener.addEventListener("click", open);
  opener.hidden = false;
  session.time = {open, move};
})();
