// Notifies when a session waits for the person or is done, as long as any page is open.
(() => {
  "use strict";
  const {all, one} = window.reread;
  const WANTED = "reread-notify", canNotify = "Notification" in window && isSecureContext;
  const isOn = () => canNotify && Notification.permission === "granted" && localStorage.getItem(WANTED) === "1";
  // Includes `asking`: between two looks, a session may be answered, continue and be done.
  const NOT_DONE = ["thinking", "writing", "working", "asking"];

  const notify = (title, body, href) => {
    if (!isOn()) return;
    try {
      // With the tag, only one notification is shown although several tabs send it.
      const told = new Notification(title, {body, tag: href, icon: "/static/icon.svg"});
      told.onclick = () => { window.focus(); location.href = href; told.close(); };
    } catch (problem) {
      if (problem.name !== "TypeError") throw problem; // on phones only service workers may notify, and there is none here
      if (navigator.vibrate) navigator.vibrate([120, 60, 120]);
    }
  };

  // Compares two states of the list of running sessions.
  let before = null;
  const look = html => {
    const rows = all("li[data-doing]", window.reread.parsed(html)).map(row => ({
      href: one("a", row).getAttribute("href"), doing: row.dataset.doing, isGuess: row.classList.contains("guess"),
      title: one(".title", row).textContent.trim(), words: one(".doing", row).textContent.trim(),
    }));
    for (const row of before ? rows : []) {
      const last = before.get(row.href), isNew = !last || last.doing !== row.doing;
      const waits = row.doing === "asking" && isNew;
      const isDone = last && NOT_DONE.includes(last.doing) && ["waiting", "ended"].includes(row.doing);
      if (waits || isDone) notify(row.title, waits ? row.words : `done: ${row.words}`, row.href);
    }
    before = new Map(rows.map(row => [row.href, row]));
  };
  let isListening = false;
  const listen = async () => {
    if (isListening || !isOn()) return;
    isListening = true;
    if (!window.reread.hear) {
      await new Promise(done => {
        const script = Object.assign(document.createElement("script"), {src: "/static/sse.js"});
        script.addEventListener("load", done);
        document.head.append(script);
      });
    }
    window.reread.hear("/live", {list: news => look(news.html)});
  };
  addEventListener("DOMContentLoaded", listen);

  const place = one(".notifying");
  const toggle = async () => {
    if (isOn()) localStorage.removeItem(WANTED);
    else if (canNotify) {
      localStorage.setItem(WANTED, "1");
      if (Notification.permission === "default") await Notification.requestPermission();
      await listen();
    }
    show();
    window.reread.say(isOn() ? "you will be notified" : "no notifications");
  };
  const show = () => {
    if (!place) return;
    const button = one("button", place), words = one("[role=status]", place);
    place.hidden = false;
    button.disabled = !canNotify || Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(isOn()));
    words.textContent = !canNotify ? "Browsers notify only on the machine of the server, or over HTTPS."
      : Notification.permission === "denied" ? "This browser was told not to show notifications of this page; its settings can change that."
      : isOn() ? "When a session waits for you or is done, as long as a page of reread is open." : "";
  };
  if (place) one("button", place).addEventListener("click", toggle);
  show();
  window.reread.notifications = {isOn, toggle};
})();
