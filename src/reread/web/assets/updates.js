// The one connection that brings news to all tabs. Runs as a shared worker, which outlives single tabs.
(() => {
  "use strict";
  const MOST = 60, GATHERING = 30, AGAIN = 5000;
  const tabs = new Map();
  let source = null, soon = 0;
  const tell = news => { for (const [port, topic] of tabs) if (!news.to || news.to === topic) port.postMessage(news); };

  // A new page needs the current state, which the server sends on connecting: so connect again, for all tabs.
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
      if (isRefused) connectIn(AGAIN); // after a refusal, a browser does not try again by itself
    };
  };
  const connectIn = wait => { clearTimeout(soon); soon = setTimeout(connect, wait); };

  self.onconnect = ({ports: [port]}) => {
    port.onmessage = ({data: topic}) => {
      const wanted = new Set(tabs.values()).size;
      tabs.delete(port);
      if (topic) tabs.set(port, topic);
      // When a page leaves, connect again only if no other page has its topic, so that it is no longer requested.
      if (topic || new Set(tabs.values()).size < wanted) connectIn(GATHERING);
    };
  };
})();
