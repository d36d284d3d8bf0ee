// News from the server. A browser opens only six connections to a server for all of its tabs, so the tabs share one for
// news (updates.js).
(() => {
  "use strict";
  // The server sends something every ten seconds. If nothing comes, the worker ended with the tab whose process it shared.
  const DEAF = 25000;
  const source = "/static/updates.js";

  const shared = () => new SharedWorker(source, "reread").port;
  // Older browsers on phones have no shared workers; there, the page runs the same script itself.
  const own = () => {
    const {port1, port2} = new MessageChannel();
    const script = Object.assign(document.createElement("script"), {src: source});
    script.addEventListener("load", () => self.onconnect({ports: [port2]}));
    document.head.append(script);
    return port1;
  };

  // Listens to the news of a topic, which is the address of a page; `on` has a function for each kind of news.
  window.reread.hear = (topic, on) => {
    let port = null, deaf = 0;
    const stop = () => { clearTimeout(deaf); if (port) port.postMessage(""); };
    const wait = () => { clearTimeout(deaf); deaf = setTimeout(listen, DEAF); };
    const listen = () => {
      stop();
      port = window.SharedWorker ? shared() : port || own();
      port.onmessage = ({data: news}) => {
        wait();
        if (news.what !== "lost") window.reread.isAnswered();
        else if (!on.lost && !news.isRefused) window.reread.isUnanswered();
        if (on[news.what]) on[news.what](news);
      };
      port.postMessage(topic);
      wait();
    };
    listen();
    if (!window.SharedWorker) document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else listen(); });
    addEventListener("pagehide", stop);
    addEventListener("pageshow", event => { if (event.persisted) listen(); });
  };
})();
