// Light, dark, or the system's theme. Runs before the page is drawn, so that nothing flashes.
(() => {
  "use strict";
  const CHOSEN = "reread-theme", THEMES = ["system", "light", "dark"];
  const wanted = () => { const found = localStorage.getItem(CHOSEN); return THEMES.includes(found) ? found : "system"; };
  // All dark rules, also those in charts, are media queries for the system's theme; this overrides their result.
  const asked = new Map();
  const settle = () => {
    const theme = wanted();
    for (const sheet of document.styleSheets) {
      for (const rule of sheet.cssRules) {
        if (!(rule instanceof CSSMediaRule)) continue;
        if (!asked.has(rule) && !rule.media.mediaText.includes("prefers-color-scheme")) continue;
        if (!asked.has(rule)) asked.set(rule, rule.media.mediaText);
        const isDark = /:\s*dark/.test(asked.get(rule));
        rule.media.mediaText = theme === "system" ? asked.get(rule) : (theme === "dark") !== isDark ? "not all" : isDark ? "screen" : "all"; // paper is always light
      }
    }
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
    document.documentElement.dataset.theme = theme;
  };
  const choose = theme => { localStorage.setItem(CHOSEN, theme); settle(); };
  settle();
  addEventListener("DOMContentLoaded", () => {
    settle();
    new MutationObserver(changes => {
      const isNew = node => node.nodeType === 1 && (node.tagName === "style" || node.querySelector("style"));
      if (changes.some(change => [...change.addedNodes].some(isNew))) settle();
    }).observe(document.body, {childList: true, subtree: true});
  });
  addEventListener("storage", event => { if (event.key === CHOSEN) settle(); });
  window.rereadTheme = {choose, themes: THEMES, wanted};
})();
