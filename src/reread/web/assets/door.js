(() => {
  "use strict";
  // Sending it would drop the rest of the address, and the page that refuses does not repeat it: copy it here.
  const form = document.querySelector(".door"), key = localStorage.getItem("reread-page-key");
  // Sent before the page's script could add the key: sends it again, with the key. One with a wrong key is not repeated.
  if (form && key && form.matches("[data-again]")) {
    form.append(Object.assign(document.createElement("input"), {type: "hidden", name: "page-key", value: key}));
    form.noValidate = true;
    form.querySelector("[name=token]").disabled = true;
    form.submit();
    return;
  }
  if (!form || form.getAttribute("action")) return;
  form.action = location.pathname + location.hash;
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (name !== "token") form.prepend(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
  }
})();
