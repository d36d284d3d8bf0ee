(() => {
  "use strict";
  // Restores the selected row when the person comes back to a list.
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
  // A new sort starts in descending order, as a click on a column heading does; other filters keep the direction.
  const sort = document.querySelector("form.filters select[name=sort]");
  if (sort) sort.addEventListener("input", () => { sort.form.elements.up.value = ""; });
})();
