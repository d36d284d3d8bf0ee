(() => {
  "use strict";
  // Where one was in a list, when one comes back to it.
  const rows = () => Array.from(document.querySelectorAll(".list a.row"));
  addEventListener("click", event => {
    const row = event.target.closest(".list a.row");
    if (row) history.replaceState({...history.state, row: row.getAttribute("href")}, "");
  });
  addEventListener("pageshow", () => {
    const wanted = history.state && history.state.row;
    const row = wanted && rows().find(each => each.getAttribute("href") === wanted);
    if (!row) return;
    const folded = row.closest("details");
    if (folded) folded.open = true;
    row.focus({preventScroll: true});
    row.scrollIntoView({block: "nearest", behavior: "instant"});
  });
  // Another order begins with the most, as a heading that is clicked does; any other filter leaves it turned as it is.
  const sort = document.querySelector("form.filters select[name=sort]");
  if (sort) sort.addEventListener("input", () => { sort.form.elements.up.value = ""; });
})();
