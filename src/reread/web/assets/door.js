(() => {
  "use strict";
  // A form that is sent leaves behind what else the address said; a page that refuses repeats none of it.
  const form = document.querySelector(".door");
  if (!form || form.getAttribute("action")) return;
  form.action = location.pathname + location.hash;
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (name !== "token") form.prepend(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
  }
})();
