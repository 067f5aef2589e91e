"use strict";
(() => {
  const { rows, positive } = JSON.parse(document.getElementById("rows").textContent); // null: no classes
  const calibrated = "discoveries" in rows[0];
  const at = (id) => document.getElementById(id);
  const onScreen = 25, onPaper = 1000;
  let perPage = onScreen;
  const view = { key: null, down: false, page: 0, text: "", filter: "all" };

  // Threshold of two classes
  function offerThresholds() {
    const scores = rows.map((row) => row.score);
    const low = Math.min(0, ...scores), high = Math.max(0, ...scores);
    const slider = at("threshold");
    const span = high - low || 1;
    const zero = Math.round((1000 * (0 - low)) / span);
    const rate = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} % (${part} of ${whole})` : "undefined (no such bag)");
    function judge() {
      const position = Number(slider.value);
      const threshold = position === zero ? 0 : low + (span * position) / 1000;
      let tp = 0, fn = 0, fp = 0, tn = 0;
      for (const row of rows) {
        if (row.positive) row.score > threshold ? tp++ : fn++;
        else row.score > threshold ? fp++ : tn++;
      }
      at("threshold-value").textContent = threshold.toPrecision(3);
      for (const [id, n] of Object.entries({ tp, fn, fp, tn })) at(id).textContent = n;
      at("sensitivity").textContent = rate(tp, tp + fn);
      at("specificity").textContent = rate(tn, tn + fp);
      at("ppv").textContent = rate(tp, tp + fp);
      at("npv").textContent = rate(tn, tn + fn);
    }
    const reset = () => { slider.value = zero; judge(); };
    slider.addEventListener("input", judge);
    at("threshold-reset").addEventListener("click", reset);
    reset();
  }
  if (at("threshold")) offerThresholds();

  // Table of bags
  const buttons = [...document.querySelectorAll("#bag-table th button")];
  const keys = buttons.map((button) => button.dataset.key);
  const kept = {
    all: () => true,
    wrong: (row) => row.wrong,
    positive: (row) => row.positive,
    negative: (row) => !row.positive,
  };
  function chosen() {
    const text = view.text.toLowerCase();
    const found = rows.filter((row) => kept[view.filter](row) && keys.some((key) => String(row[key]).toLowerCase().includes(text)));
    if (view.key === null) return found;
    const sign = view.down ? -1 : 1;
    const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    return found.sort((a, b) => sign * compare(a[view.key], b[view.key]));
  }
  function cell(row, key) {
    const td = document.createElement("td");
    if (key !== "id") td.textContent = row[key];
    else {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = row.id;
      button.addEventListener("click", () => open(row));
      td.append(button);
    }
    return td;
  }
  function show() {
    const found = chosen();
    const pages = Math.max(1, Math.ceil(found.length / perPage));
    view.page = Math.min(view.page, pages - 1);
    const lines = found.slice(view.page * perPage, (view.page + 1) * perPage).map((row) => {
      const tr = document.createElement("tr");
      if (row.wrong) { tr.className = "wrong"; tr.title = "wrong prediction"; }
      tr.append(...keys.map((key) => cell(row, key)));
      return tr;
    });
    document.querySelector("#bag-table tbody").replaceChildren(...lines);
    at("count").textContent = `${found.length} of ${rows.length} bags`;
    at("page").textContent = `page ${view.page + 1} of ${pages}`;
    at("previous").disabled = view.page === 0;
    at("next").disabled = view.page === pages - 1;
    for (const button of buttons) {
      const th = button.parentElement;
      if (button.dataset.key === view.key) th.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
  }
  const change = (what) => { Object.assign(view, { page: 0 }, what); show(); };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const key = button.dataset.key;
      change({ key, down: view.key === key ? !view.down : typeof rows[0][key] === "number" });
    });
  }
  at("search").addEventListener("input", (event) => change({ text: event.target.value }));
  at("filter")?.addEventListener("change", (event) => change({ filter: event.target.value }));
  at("previous").addEventListener("click", () => { view.page--; show(); });
  at("next").addEventListener("click", () => { view.page++; show(); });
  show();
  const printed = (count) => { perPage = count; change({}); };
  window.addEventListener("beforeprint", () => printed(onPaper));
  window.addEventListener("afterprint", () => printed(onScreen));

  // One bag
  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }
  function image(source, className, alt) {
    return element("img", { src: source, className, alt });
  }
  function top(row) {
    const items = row.top.map((instance) => {
      const text = `${instance.name}: ${instance.score}` + (calibrated ? `, p = ${instance.p}` : "");
      const pictures = instance.image ? [image(instance.image, "", `Instance ${instance.name}`)] : [];
      return element("figure", {}, ...pictures, element("figcaption", { textContent: text }));
    });
    return element("div", { className: "thumbs" }, ...items);
  }
  function open(row) {
    const verdict = row.score > 0 ? positive : `not ${positive}`;
    const said = positive === null ? `Predicted: ${row.score}.` : `Score ${row.score}: predicted ${verdict}.`;
    const parts = [element("p", { textContent: `True label: ${row.label}. ${said} ${row.size} instances.` })];
    if (row.strip) {
      parts.push(element("h4", { textContent: `All instances, the most responsible first (${calibrated ? "dark: small p-value" : positive === null ? "red: high" : "red: above 0"})` }));
      parts.push(image(row.strip, "strip", "Scores of all instances as colors"));
    }
    if (row.map) {
      const title = row.order ? `Where they are (row by row: ${row.order})` : "Where they are";
      parts.push(element("h4", { textContent: title }), image(row.map, "map", "Heat map of instance scores"));
    }
    if (row.top) parts.push(element("h4", { textContent: "Most responsible instances" }), top(row));
    if (row.why) {
      parts.push(element("h4", { textContent: "Largest contributions to the key instance's score" }), element("p", { textContent: row.why }));
    }
    at("bag-title").textContent = `Bag ${row.id}`;
    at("bag-body").replaceChildren(...parts);
    at("bag").showModal();
  }
})();
