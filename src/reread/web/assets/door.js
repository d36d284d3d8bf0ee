(() => {
  "use strict";
  // Sending the form would drop the rest of the address, and the page that refuses does not repeat it: copy it here.
  const form = document.querySelector(".door");
  if (!form || form.getAttribute("action")) return;
  form.action = location.pathname + location.hash;
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (name !== "token") form.prepend(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
  }
})();
