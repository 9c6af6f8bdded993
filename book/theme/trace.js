// Trace a number: point at an entry of a worked example's matrix, tap it, or go to it with the arrow keys.
// What made it stands beside it; its row and column light up, and so does where it is used next. All of
// that has been computed by the build and comes in a script, one for each example, when it is first asked for.
const bookTrace = (() => {
  "use strict";
  const root = document.currentScript.src.replace(/_static\/trace\.js.*/, ""), base = `${root}_static/traces/`;
  const { make } = bookPage;
  const known = {}, waiting = {}, boxes = [];
  const panel = make("div", { class: "trace", hidden: "" }), spoken = make("p", { class: "unseen", role: "status" });
  let now = null, pinned = false, later;

  // A matrix on the page: its element, its example and name, its entries by row and column, and where
  // in the matrix of the example each of them stands.
  class Box {
    constructor(element, [example, of], cells, at) {
      Object.assign(this, { element, example, of, cells, at, i: 0, j: 0 });
      boxes.push(this);
      // The arrow keys are its own: screen readers leave them to the cell of a grid, and to an application.
      const grid = element.localName === "table";
      element.setAttribute("role", grid ? "grid" : "application");
      this.stop = grid ? cells[0][0] : element;
      this.stop.tabIndex = 0;
      element.classList.add("traces");
      cells.forEach((row, i) => row.forEach((cell, j) => {
        cell.classList.add("entry");
        cell.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse" && !pinned) wait(() => this.show(i, j)); });
        cell.addEventListener("pointerleave", () => { if (!pinned) wait(hide); });
        cell.addEventListener("click", () => {
          if (pinned && cell.matches(".here")) hide();
          else this.pin(i, j);
        });
      }));
      element.addEventListener("keydown", (event) => {
        const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], End: [0, 999], Home: [0, -999] }[event.key];
        if (event.target !== this.stop || (!way && event.key !== "Enter" && event.key !== " ")) return;
        event.preventDefault();
        const [down, right] = (now === this && way) || [0, 0]; // the first key shows where one is
        this.whole = !way; // Enter says every line
        this.pin(Math.max(0, Math.min(cells.length - 1, this.i + down)), Math.max(0, Math.min(cells[0].length - 1, this.j + right)));
      });
      element.addEventListener("focusout", leave);
    }

    number() { return known[this.example].names.indexOf(this.of); }

    // Keep a step open. On the page of its example, it is what the address names.
    pin(i, j) {
      const cell = this.cells[i][j];
      if (this.stop !== this.element) {
        this.stop.tabIndex = -1;
        this.stop = cell;
        cell.tabIndex = 0;
      }
      this.stop.focus({ preventScroll: true });
      cell.scrollIntoView({ block: "nearest" });
      pinned = true;
      this.show(i, j);
      if (cell.id) history.replaceState(null, "", `#${cell.id}`);
    }

    show(i, j) {
      clearTimeout(later);
      if (!known[this.example]) return load(this.example, () => this.show(i, j));
      const { entries } = known[this.example], at = this.number();
      if (!entries[at]) return;
      this.i = i;
      this.j = j;
      now = this;
      const [, lines, from, next, title, uses] = entries[at][this.at[i][j][0]][this.at[i][j][1]];
      panel.innerHTML = '<button type="button" class="close" aria-label="Close">×</button>' + `<p>${title} <small>${this.address(title)}</small></p>` +
        lines.map((line) => `<p class="made">${line}</p>`).join("") + `<p class="uses">${uses}</p>`;
      panel.firstChild.onclick = close;
      clear();
      const { element } = this, cell = this.cells[i][j];
      cell.classList.add("here");
      for (const [lit, look] of [[from, "lit"], [next, "after"]]) for (const one of lit) this.light(one, look);
      const page = element.closest(".frame, body"); // a lecture covers the page
      (element.closest(".stage") || element.closest(".drawing, .table")).after(panel); // where the keys go next
      if (spoken.parentNode !== page) page.append(spoken);
      panel.hidden = false;
      spoken.innerHTML = [title, ...(this.whole ? [...lines, uses] : lines.slice(-1))].join(". ").replaceAll("<sup>", " to the power ");
      this.put();
    }

    // A link to the step on the page of its example, where the example lists the array.
    address(title) {
      const name = title.replace(/<.*?>/g, "").split(" =")[0], at = name.replace(/\W+/g, ".").slice(0, -1);
      return name.includes(" of ") ? this.example : `<a href="${root}${this.example}/index.html#${at}">${this.example}#${at}</a>`;
    }

    // Mark a row, a column or an entry wherever the page shows that matrix.
    light([k, kind, a, b], look) {
      for (const box of boxes) {
        if (box.example !== this.example || box.number() !== k) continue;
        box.cells.forEach((row, i) => row.forEach((cell, j) => {
          const [row_, column] = box.at[i][j];
          if (kind === "r" ? row_ === a : kind === "c" ? column === a : kind === "m" || (row_ === a && column === b)) cell.classList.add(look);
        }));
      }
    }

    // Beside the matrix, or below or above it, where there is room; on a phone at the foot of the window.
    put() {
      panel.removeAttribute("style");
      const at = this.cells[this.i][this.j].getBoundingClientRect();
      if (innerWidth < 640) {
        if (at.bottom > innerHeight - panel.offsetHeight - 16) panel.style.inset = "0.5rem 0.5rem auto";
        return;
      }
      const own = this.element.getBoundingClientRect();
      const room = innerWidth - own.right - 28;
      if (room > 300) panel.style.maxWidth = `${Math.min(room, 500)}px`;
      const tall = panel.offsetHeight, below = own.bottom + 10, beside = Math.min(own.top, innerHeight - tall - 8);
      const place = (name, at) => { panel.style[name] = `${Math.round(Math.max(8, at))}px`; };
      place("top", room > 300 ? beside : below + tall < innerHeight ? below : own.top - tall - 10);
      place("left", room > 300 ? own.right + 14 : Math.min(at.left, innerWidth - panel.offsetWidth - 8));
    }
  }

  // Open the step that the address names, if there is one.
  function recall() {
    const cell = document.getElementById(location.hash.slice(1));
    for (const box of boxes) box.cells.forEach((row, i) => { if (row.includes(cell)) box.pin(i, row.indexOf(cell)); });
  }

  function wait(act) { clearTimeout(later); later = setTimeout(act, 120); }

  function clear() {
    for (const cell of document.querySelectorAll(".entry")) cell.classList.remove("here", "lit", "after");
  }

  // Where the keys go on: in the panel, or in what it belongs to; nor does a lecture close it.
  function leave({ relatedTarget: to }) { if (!panel.contains(to) && to !== now?.stop && !to?.matches(".stage")) hide(); }

  function close() {
    if (panel.contains(document.activeElement)) now.stop.focus({ preventScroll: true });
    hide();
  }

  function hide() { clearTimeout(later); clear(); panel.hidden = true; now = null; pinned = false; }

  function load(example, then) {
    if (waiting[example]) return waiting[example].push(then);
    waiting[example] = [then];
    document.head.append(make("script", { src: `${base}${example}.js` }));
  }

  function take(example, facts) {
    known[example] = facts;
    waiting[example].forEach((then) => then());
  }

  // The numbers of a drawing stand on rectangles; those are its entries.
  function drawn(drawing, svg, panels) {
    const texts = [...svg.querySelectorAll("text.cell")], rects = [...svg.querySelectorAll("rect")];
    // Each is read once: there are many of both.
    const place = (one) => one.at ??= ["x", "y", "width", "height"].map((name) => Number(one.getAttribute(name)));
    const under = (text) => rects.find((rect) => {
      const [[x, y], [left, top, wide, high]] = [text, rect].map(place);
      return left <= x && x <= left + wide && top <= y && y <= top + high;
    });
    drawing.setAttribute("role", "group");
    svg.removeAttribute("aria-hidden");
    svg.append(make("g", { "aria-hidden": "true" }, [...svg.childNodes]));
    for (const { of, at, first } of panels) {
      const cells = at.map((row, i) => row.map((_, j) => texts[first + i * row.length + j]));
      cells.flat().forEach((text) => { text.style.pointerEvents = "none"; });
      const entries = cells.map((row) => row.map(under)), [[left, top], [x, y, wide, high]] = [entries[0][0], entries.at(-1).at(-1)].map(place);
      const ring = make("rect", { class: "around", x: left - 2, y: top - 2, width: x + wide - left + 4, height: y + high - top + 4 });
      const group = make("g", { "aria-label": `${of[1]} of ${of[0]}: the arrow keys trace its numbers` }, ring);
      svg.append(group);
      new Box(group, of, entries, at);
    }
  }

  function begin() {
    for (const table of document.querySelectorAll("table[data-array]")) {
      const cells = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")]);
      const at = cells.map((row, i) => row.map((cell, j) => cell.dataset.at?.split(",").map(Number) || [i, j]));
      new Box(table, [table.dataset.example, table.dataset.array], cells, at);
    }
    for (const drawing of document.querySelectorAll("[data-arrays]")) {
      for (const svg of drawing.querySelectorAll("svg")) drawn(drawing, svg, JSON.parse(drawing.dataset.arrays));
    }
    document.body.append(panel, spoken);
    panel.addEventListener("focusout", leave);
    recall();
    addEventListener("hashchange", recall);
    addEventListener("keydown", (event) => { if (event.key === "Escape" && now) { if (pinned) event.preventDefault(); close(); } });
    addEventListener("click", (event) => { if (now && !event.target.closest(".entry, .trace")) hide(); });
    panel.addEventListener("pointerenter", () => clearTimeout(later));
    panel.addEventListener("pointerleave", () => { if (!pinned) wait(hide); });
    addEventListener("scroll", () => { if (pinned) now?.put(); else if (now) hide(); }, { passive: true });
  }

  begin();
  return { take, boxes };
})();
