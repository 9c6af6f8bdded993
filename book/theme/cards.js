// Filters of cards, and the table of who catches what. The address says what is shown: #topic=masking.
"use strict";
{
  const form = document.querySelector(".filters"), status = form.querySelector("[role=status]");
  const reset = form.querySelector("[type=reset]");
  const selects = [...form.querySelectorAll("select")];
  const cards = [...document.querySelectorAll(".cards > article")], parts = cards.map((card) => card.closest("section"));
  const dots = document.querySelector(".dots svg"), marks = dots ? [...dots.querySelectorAll("[class*='-']")] : [];

  const chosen = () => selects.filter((select) => select.value);

  const named = (select) => `${select.name}-${select.value}`;

  // A card has a class for each value that it can be found by, such as topic-masking.
  const has = (card, wanted) => wanted.every((name) => card.classList.contains(name));

  // What would leave nothing, beside the other choices, is not offered.
  function offer(select) {
    const others = chosen().filter((one) => one !== select).map(named);
    for (const option of select.options) {
      const wanted = [...others, `${select.name}-${option.value}`];
      option.disabled = option.value && !option.selected && !cards.some((card) => has(card, wanted));
    }
  }

  function show() {
    const wanted = chosen().map(named), all = cards.length, what = form.dataset.of;
    for (const card of cards) card.hidden = !has(card, wanted);
    for (const part of parts) part.hidden = !part.querySelector("article:not([hidden])");
    for (const mark of marks) { // a mark has classes of some of the filters
      const out = wanted.some((name) => mark.classList.value.includes(name.split("-")[0] + "-") && !mark.classList.contains(name));
      mark.classList.toggle("out", out);
    }
    const shown = cards.filter((card) => !card.hidden).length;
    status.textContent = !wanted.length ? `${all} ${what}s` : shown ? `${shown} of ${all} ${what}s` : `No ${what} is all of this.`;
    reset.hidden = !wanted.length;
    selects.forEach(offer);
  }

  function read() {
    const name = location.hash.slice(1), card = cards.find((one) => one.id === name), said = new URLSearchParams(name);
    if (card && !card.hidden) return show(); // the address of a card leaves the choices as they are
    for (const select of selects) {
      select.value = said.get(select.name) || "";
      if (select.selectedIndex < 0) select.value = ""; // what nobody has
    }
    show();
    card?.scrollIntoView();
  }

  function write() {
    const says = new URLSearchParams();
    for (const select of chosen()) says.set(select.name, select.value);
    history.replaceState(null, "", String(says) ? `#${says}` : location.pathname + location.search);
    show();
  }

  form.addEventListener("change", write);
  form.addEventListener("reset", () => {
    selects[0].focus(); // the button goes
    setTimeout(write); // when the browser has emptied them
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  form.hidden = false;
  read();

  // The table: pointed at, or gone through with the arrow keys, it says what is at a place.
  if (dots) {
    const { make } = bookPage, pointed = document.querySelector(".pointed");
    const rows = dots.dataset.rows.split(" "), columns = [...dots.querySelectorAll("[data-slip]")];
    const [left, , top, high] = dots.dataset.at.split(" ").map(Number);
    const middle = (column) => column.transform.baseVal[0].matrix.e;
    const cross = make("path", { class: "cross" });
    let at = [0, 0];
    dots.prepend(cross);
    dots.setAttribute("tabindex", 0);
    dots.setAttribute("role", "application"); // the arrow keys are its own
    pointed.textContent = "Point at a dot or press it; the arrow keys go from one to the next, and Enter opens the card.";

    const go = (i, j) => {
      const row = Math.max(0, Math.min(rows.length - 1, i)), shown = [...columns.keys()].filter((k) => !columns[k].matches(".out"));
      const column = j < at[1] ? shown.findLast((k) => k <= j) ?? shown[0] : shown.find((k) => k >= j) ?? shown.at(-1);
      at = [row, column];
      const { slip } = columns[column].dataset, example = rows[row], x = middle(columns[column]), y = top + (row + 0.5) * high;
      cross.setAttribute("d", `M${left - 2} ${y}H${dots.viewBox.baseVal.width}M${x} ${top}v${rows.length * high}`);
      const box = dots.parentNode, edge = box.scrollLeft + box.clientWidth;
      if (x < box.scrollLeft + left || x > edge) box.scrollLeft = x - box.clientWidth / 2;
      const card = document.getElementById(slip), caught = card.querySelector(`details a[href*="${example}"]`);
      const does = card.querySelector("p");
      pointed.replaceChildren(make("a", { href: `../${example}/index.html` }, example), caught ? " catches " : " does not notice ",
        make("a", { href: `#${slip}` }, slip), ": ", does.firstChild.textContent.split(". ")[0].replace(/\.$/, ""), ".");
    };
    const place = (event) => {
      const box = dots.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      const near = columns.map((one, j) => [Math.abs(middle(one) - x), j]).sort((a, b) => a[0] - b[0])[0];
      go(Math.floor((y - top) / high), near[1]);
    };
    dots.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") place(event); });
    dots.addEventListener("click", place);
    dots.addEventListener("focus", () => go(...at));
    dots.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -999], End: [0, 999], PageUp: [-10, 0], PageDown: [10, 0] }[event.key];
      if (!way && event.key !== "Enter") return;
      event.preventDefault();
      if (way) go(at[0] + way[0], at[1] + way[1]);
      else {
        const { slip } = columns[at[1]].dataset;
        location.hash = slip;
        document.getElementById(slip).querySelector("a").focus();
      }
    });
  }
}
