// The one connection that brings news to all tabs; it runs as a shared worker, which outlives any of them.
(() => {
  "use strict";
  const MOST = 60, GATHERING = 30, AGAIN = 5000;
  const tabs = new Map();
  let source = null, soon = 0;
  const tell = news => { for (const [port, topic] of tabs) if (!news.to || news.to === topic) port.postMessage(news); };

  // Every page that comes is told where things stand: so the page connects again, and all are told again.
  const connect = () => {
    if (source) source.close();
    source = null;
    if (!tabs.size) return;
    const topics = [...new Set(tabs.values())].slice(-MOST);
    source = new EventSource(`/events?${new URLSearchParams(topics.map(topic => ["to", topic]))}`);
    source.onopen = () => tell({what: "open"});
    source.onmessage = event => tell(JSON.parse(event.data));
    source.onerror = () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      tell({what: "lost", isRefused});
      if (isRefused) connectIn(AGAIN); // a browser leaves it at that
    };
  };
  const connectIn = wait => { clearTimeout(soon); soon = setTimeout(connect, wait); };

  self.onconnect = ({ports: [port]}) => {
    port.onmessage = ({data: topic}) => {
      const wanted = new Set(tabs.values()).size;
      tabs.delete(port);
      if (topic) tabs.set(port, topic);
      // A page that leaves takes nothing from the others; what only it wanted is not asked for any longer.
      if (topic || new Set(tabs.values()).size < wanted) connectIn(GATHERING);
    };
  };
})();
