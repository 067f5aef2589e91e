"use strict";
// Tables of class "sortable": a click on a heading sorts the rows by its column.
(() => {
  const value = (row, i) => row.cells[i].textContent.trim();
  const compare = (a, b) => a.localeCompare(b, "en", { numeric: true });
  const numbers = (a, b) => Number(a) - Number(b);
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    headings.forEach((heading, i) => {
      heading.firstElementChild.addEventListener("click", () => {
        const rows = [...body.rows];
        const numeric = rows.every((row) => value(row, i) !== "" && !Number.isNaN(Number(value(row, i))));
        const before = heading.getAttribute("aria-sort");
        const down = before === null ? numeric : before === "ascending";
        const order = numeric ? numbers : compare;
        rows.sort((a, b) => (down ? -1 : 1) * order(value(a, i), value(b, i)));
        body.replaceChildren(...rows);
        for (const each of headings) each.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      });
    });
  }
})();
