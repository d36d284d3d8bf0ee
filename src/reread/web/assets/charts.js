(() => {
  "use strict";
  // On a phone, the letters of a chart for a desktop are too small: a cookie makes the server draw it for a narrow screen.
  const isNarrow = matchMedia("(max-width: 46rem)").matches, told = () => /(?:^|; )reread-screen=narrow(?:;|$)/.test(document.cookie);
  if (told() !== isNarrow) {
    document.cookie = `reread-screen=${isNarrow ? "narrow" : "wide"}; path=/; samesite=strict; max-age=31536000`;
    if (told() === isNarrow) location.reload();
  }

  // Draws the SVG as a PNG in the browser, at twice the resolution.
  addEventListener("click", async event => {
    const button = event.target.closest && event.target.closest("button.png");
    if (!button) return;
    const text = await (await window.reread.ask(button.dataset.svg)).text();
    const [width, height] = /viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"/.exec(text).slice(1).map(Number);
    const picture = new Image();
    // Some browsers draw nothing without an explicit size.
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text.replace("<svg ", `<svg width="${2 * width}" height="${2 * height}" `))}`;
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), {width: Math.round(2 * width), height: Math.round(2 * height)});
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise(done => canvas.toBlob(done, "image/png"));
    const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(blob), download: button.dataset.name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  const tip = Object.assign(document.createElement("div"), {className: "tip", hidden: true});
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let shown = null;

  const said = part => {
    const title = part.querySelector(":scope > title");
    if (title) { part.dataset.tip = title.textContent; title.remove(); }
    return part.dataset.tip;
  };
  const hide = () => { tip.hidden = true; shown = null; };
  const show = part => {
    if (part === shown) return;
    shown = part;
    tip.textContent = said(part);
    tip.hidden = false;
    const box = part.getBoundingClientRect(), room = document.documentElement.clientWidth;
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = `${scrollX + Math.max(6, Math.min(left, room - tip.offsetWidth - 6))}px`;
    tip.style.top = `${scrollY + (above > 4 ? above : Math.min(box.top + 24, innerHeight - tip.offsetHeight - 6))}px`;
  };
  const partOf = place => {
    const part = place.closest && place.closest(".reread-chart rect, .reread-chart text");
    return part && (part.dataset.tip || part.querySelector(":scope > title")) ? part : null;
  };

  addEventListener("pointerover", event => { const part = partOf(event.target); if (part) show(part); else hide(); });
  addEventListener("focusin", event => {
    const link = event.target.closest && event.target.closest(".reread-chart a");
    const part = link && link.querySelector("rect");
    if (part) show(part); else hide();
  });
  addEventListener("scroll", hide, {passive: true});

  // The Tab key reaches one bar of a chart; the arrow keys move from there.
  const steps = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity};
  addEventListener("keydown", event => {
    const link = event.target.closest && event.target.closest(".reread-chart a");
    if (event.key === "Escape") hide();
    if (!link || !(event.key in steps)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const links = Array.from(link.closest("svg").querySelectorAll("a"));
    const next = links[Math.max(0, Math.min(links.length - 1, links.indexOf(link) + steps[event.key]))];
    link.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }, true);

  for (const place of document.querySelectorAll("[data-fill]")) {
    window.reread.ask(place.dataset.fill).then(async answer => {
      const made = document.createElement("template");
      made.innerHTML = await answer.text();
      place.replaceChildren(made.content);
    });
  }
})();
