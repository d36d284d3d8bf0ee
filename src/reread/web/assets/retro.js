(() => {
  "use strict";
  // "Wrong" and "Undo" without leaving the page; without this script, the form is sent and the page reloads.
  addEventListener("submit", async event => {
    const form = event.target.closest("form.verdict");
    const moment = form && form.closest(".moment");
    if (!moment) return;
    event.preventDefault();
    const button = form.querySelector("button"), said = form.querySelector(".said-so"), to = form.elements.to;
    button.disabled = true;
    try {
      const answer = await window.reread.ask(form.action, {method: "POST", body: new URLSearchParams(new FormData(form))});
      if (!answer.ok) throw new Error(answer.status);
      const isWrong = to.value === "wrong";
      moment.classList.toggle("is-wrong", isWrong);
      to.value = isWrong ? "right" : "wrong";
      button.textContent = isWrong ? "Undo" : "Wrong";
      said.textContent = isWrong ? "marked as wrong, left out from now on" : "counts again";
    } catch {
      said.textContent = "this could not be kept; try again";
    } finally {
      button.disabled = false;
      button.focus();
    }
  });
})();
