// The Sheet: press a number and see what made it, change one and see what follows, break the rule.
// Python has drawn the start (book/figures/sheet.py); everything after it is drawn here.
const bookSheet = (() => {
  "use strict";
  const { make, button, copy } = bookPage, { compute, SLIPS } = bookAttention, { shown, exactly } = bookEntries;
  const sheets = [];
  const placeOf = ({ dataset: { array, at } }) => [array, ...at.split(",").map(Number)];

  function field(value, label, act) {
    const one = make("input", { type: "number", step: "any", value, "aria-label": label });
    one.onchange = () => { if (isFinite(one.valueAsNumber)) setTimeout(act, 0, one.valueAsNumber); }; // when Tab has left
    return one;
  }

  class Sheet extends bookEntries {
    constructor(root) {
      super(JSON.parse(root.querySelector("script").textContent));
      this.root = root;
      this.id = root.closest("[id]").id;
      this.tables = [...root.querySelectorAll("table")];
      this.captions = new Map(this.tables.map((table) => [table, table.caption.innerHTML]));
      for (const table of this.tables) table.setAttribute("role", "grid");
      this.cells = [...root.querySelectorAll("td[data-at]")];
      this.places = this.cells.map(placeOf);
      this.controls();
      if (this.asks !== null) this.ask();
      root.addEventListener("click", (event) => {
        const cell = event.target.closest("td[data-at]");
        if (cell) this.press(cell);
      });
      root.addEventListener("keydown", (event) => this.key(event));
    }

    // Once all sheets are there: which of them are heads whose outputs are added up.
    begin() {
      const tabs = this.given.w_output && this.root.closest(".tabs");
      if (tabs) this.heads = sheets.filter((one) => tabs.contains(one.root));
      this.past = this.heads[0].past;
      this.total();
      this.draw();
      addEventListener("hashchange", () => this.recall());
      this.recall();
    }

    controls() {
      this.said = make("p", { class: "said", role: "status" }, make("span", { class: "hint" }, "Press a number", make("span", { class: "keys" }, ", or go to it with the arrow keys,"), ` to see how it was computed. ${Object.keys(this.given).filter((name) => name !== "mask").map((name) => this.sign([name])).join(", ")} can be changed.`));
      this.steps = make("p", { class: "steps buttons" });
      this.slipButtons = Object.keys(this.slips).map((slip) => button(slip, () => this.change({ slip: this.state.slip === slip ? "" : slip }), { "data-slip": slip, title: this.slips[slip][0] }));
      this.own = button("the right rule", () => this.change({ slip: "" }), { "data-slip": "" });
      this.wrong = make("p", { class: "wrong", role: "status" });
      this.broken = make("details", { class: "break" }, make("summary", {}, `Break the rule: ${this.slipButtons.length} slips change something here`), make("div", { class: "buttons" }, this.own, this.slipButtons));
      this.broken.hidden = !this.slipButtons.length;
      const full = this.root.requestFullscreen && button("Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()));
      this.undo = button("Undo", () => this.past.length && this.back());
      this.reset = button("Reset", () => { this.past.length = 0; this.back(this.heads.map((one) => one.start)); });
      const copies = { NumPy: () => this.numpy(), JSON: () => JSON.stringify(this.plain(), null, 1), SVG: () => this.svg(), link: () => location.href };
      const tools = make("p", { class: "tools buttons" }, this.undo, this.reset, Object.entries(copies).map(([name, text]) => button(`Copy ${name}`, ({ target }) => copy(target, text()))), full);
      this.spoken = make("p", { class: "now", role: "status" });
      this.foot = make("div", { class: "told" }, this.wrong, this.said, this.spoken, this.steps);
      this.root.append(this.foot, this.broken, tools);
    }

    // Before the weights of a word are shown, the reader says whom it will hear.
    ask() {
      const word = this.rows[this.asks], answer = (j) => {
        const weights = this.result.weights[this.asks], most = weights.indexOf(Math.max(...weights));
        this.root.classList.replace("asks", "asked");
        this.press(this.cell(["weights", this.asks, j]), true);
        this.said.prepend(`You pressed ${this.columns[j]}, ${most === j ? "and" : "but"} ${word} listens most to ${most === this.asks ? "itself" : this.columns[most]}, with ${shown(weights[most])}. `); // first
      };
      this.root.classList.add("asks");
      this.said.textContent = `Whom will ${word} listen to most?`;
      this.steps.append(...this.columns.map((name, j) => button(name, () => answer(j), { "data-word": j })));
    }

    cell(place) { return this.cells.find((cell) => String(placeOf(cell)) === String(place)); }

    press(cell, focus) {
      if (cell.closest(".asks .covered")) return;
      this.at = placeOf(cell);
      this.spoken.textContent = "";
      this.draw();
      if (focus) {
        cell.focus({ preventScroll: true });
        cell.scrollIntoView({ block: "nearest" });
      }
      this.tell();
      this.remember();
    }

    key(event) {
      if (event.key === "Escape" && event.target.matches("input")) { // back to the number
        event.preventDefault();
        event.target.onchange = null; // what was typed is not taken
        this.press(this.cell(this.at), true);
      }
      const cell = event.target.closest("td[data-at]"), way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!cell || (!way && event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      if (!way) {
        this.press(cell, true);
        if (this.isGiven(this.at[0])) this.steps.querySelector("input").select();
        return;
      }
      const from = cell.getBoundingClientRect(), far = (one) => { // straight ahead is nearer than aside
        const at = one.getBoundingClientRect(), y = at.y - from.y, x = at.x - from.x, ahead = y * way[0] + x * way[1];
        return ahead > 1 && at.width ? ahead + 9 * Math.abs(y * way[1] + x * way[0]) : Infinity;
      };
      const to = this.cells.reduce((best, one) => (far(one) < far(best) ? one : best));
      if (far(to) < Infinity) this.press(to, true);
    }

    change(patch) {
      this.past.push(this.heads.map((one) => one.state));
      this.put({ ...this.state, ...patch });
    }

    back(states = this.past.pop()) {
      this.heads.forEach((one, k) => { one.state = states[k]; });
      this.put(this.state);
    }

    put(state) {
      for (const one of this.heads) one.before = one.result;
      if (this.root.classList.replace("asks", "asked")) this.said.textContent = "";
      this.take(state);
      for (const one of this.heads) { one.draw(); one.tell(); }
      this.remember();
      const changed = [...this.rows.keys()].filter((i) => String(this.before.weights[i]) + this.before.output[i] !== String(this.result.weights[i]) + this.result.output[i]);
      const own = this.at && this.row(this.at, "query"), i = changed.includes(own) ? own : changed[0] ?? own, name = !state.slip && this.rows[i];
      const weights = name && this.result.weights[i].map((x, j) => `${this.columns[j]} ${x === null ? "hidden" : exactly(x)}`).join(", ");
      this.spoken.textContent = name ? `${name} listens to ${weights}; it hears ${this.result.output[i].map(exactly).join(", ")}. Changed rows: ${changed.map((k) => this.rows[k]).join(", ") || "none"}.` : "";
    }

    set(array, i, j, value) {
      const { given } = structuredClone(this.state);
      this.enter(given, array, i, j, value);
      this.change({ given });
    }

    // Bring every number up to date. What has changed since the state before is marked.
    draw() {
      const { before, result: r, state: { slip } } = this, from = this.at ? this.made(...this.at).from.map(String) : [];
      const pressed = this.at && this.cell(this.at), stop = pressed || this.cells[0], fresh = JSON.stringify(this.state) === JSON.stringify(this.start);
      this.widest = 0;
      for (const table of this.tables) {
        const shownRole = { key: r.roles[1], value: r.roles[2] }[table.dataset.matrix], low = table.parentNode.lastElementChild === table;
        const top = !low && shownRole, array = top ? this.source(shownRole) : table.dataset.matrix;
        const hidden = array === "scores" ? 1e9 : 0, most = array === "weights" ? 1 : Math.max(0, ...r[array].flat().filter(Number.isFinite).map(Math.abs));
        table.caption.innerHTML = top && shownRole !== table.dataset.matrix ? this.sign([array]) + (table.caption.textContent.endsWith("ᵀ") ? "ᵀ" : "") : this.captions.get(table);
        for (const cell of table.querySelectorAll("td[data-at]")) {
          const [, i, j] = placeOf(cell), value = r[array][i][j], own = this.right[array][i][j], old = before?.[array]?.[i]?.[j];
          const tint = most && isFinite(value) ? Math.round(6 + 32 * Math.abs(value) / most) : 6, text = value === null ? "" : shown(value);
          const gap = Math.abs((value ?? hidden) - (own ?? hidden));
          if (gap < 1e8) this.widest = Math.max(this.widest, gap);
          const marks = {
            hides: value === null,
            negative: value < -1e-9,
            bad: slip && gap > 1e-9 || Number.isNaN(value),
            moved: !fresh && !slip && old !== undefined && old !== value,
            set: this.isGiven(array) && value !== this.start.given[array][i][j],
            here: cell === pressed,
            from: from.includes(String([array, i, j])),
          };
          for (const name in marks) cell.classList.toggle(name, !!marks[name]);
          cell.tabIndex = cell === stop ? 0 : -1;
          cell.textContent = text;
          cell.setAttribute("style", text && `--t:${tint}%`);
          cell.setAttribute("aria-label", `${this.called(array, i, j)}: ${text || "hidden"}${marks.bad ? ", differs" : ""}`);
          if (low) cell.parentNode.classList.toggle("me", this.at && i === this.row(this.at, array));
        }
      }
      this.root.querySelector(".by").textContent = this.scaleText();
      for (const one of [this.own, ...this.slipButtons]) one.setAttribute("aria-pressed", one.dataset.slip === slip);
      this.undo.setAttribute("aria-disabled", !this.past.length); // and keeps the focus
      this.reset.disabled = fresh;
      const { length } = this.changes();
      this.reset.textContent = "Reset" + (length ? ` (${length} changed)` : "");
      if (slip) this.broken.open = true;
    }

    // Say what was pressed, how it is made, what one can do with it, and what a slip did.
    tell() {
      const { slip } = this.state, held = [...this.steps.querySelectorAll("button, input")].indexOf(document.activeElement);
      const [effect, caught] = this.slips[slip] || [], { length } = this.root.querySelectorAll(".bad");
      const wrong = slip && `<b>${slip}</b>: ${effect}. ${length} numbers differ, by up to ${exactly(this.widest)}. ${this.holds()} ${caught} worked examples catch it.`;
      if (wrong !== this.warned) this.wrong.innerHTML = this.warned = wrong; // or it would be spoken again
      const asks = this.root.matches(".asks");
      if (!asks) this.steps.replaceChildren();
      if (!this.at) return;
      const [array, i, j] = this.at, value = this.result[array][i][j], name = this.called(array, i, j);
      const own = this.right[array][i][j], cell = this.cell(this.at), differs = slip && cell.matches(".bad");
      const digits = own === null ? "hidden" : value !== null && exactly(own) === exactly(value) ? String(own).replace("-", "−") : exactly(own);
      const known = document.activeElement === cell; // its name has been heard
      this.said.innerHTML = `<b${known ? ' aria-hidden="true"' : ""}>${name[0].toUpperCase()}${name.slice(1)}</b>: ${this.made(array, i, j).says}${differs ? " (right: " + digits + ")" : ""}`;
      if (asks) return;
      const step = (...parts) => this.steps.append(button(...parts));
      if (this.isGiven(array)) {
        for (const [sign, by, label] of [["−", -1, "less"], ["+", 1, "more"]]) step(sign, () => this.set(array, i, j, Number((value + by).toFixed(4))), { "aria-label": label });
        this.steps.append(field(value, name, (x) => this.set(array, i, j, x)));
      }
      if (array === "scores") {
        const open = !this.state.given.mask || this.state.given.mask[i][j];
        if (!open || value !== null) step(`${open ? "Hide" : "Show"} ${this.columns[j]} ${open ? "from" : "to"} ${this.rows[i]}`, () => this.set("mask", i, j, open ? 0 : 1));
        const scale = exactly(this.result.scale).replace("−", "-");
        this.steps.append(make("label", {}, "scale ", field(scale, "scale", (x) => this.change({ options: { ...this.state.options, scale: x } }))));
      }
      const go = (one) => this.press(this.cell(one), true);
      for (const one of this.largest(this.at)) step(`← ${this.sign(one)}`, () => go(one));
      for (const one of this.next(this.at)) step(`${this.sign(one)} →`, () => go(one));
      this.steps.querySelectorAll("button, input")[held]?.focus();
    }

    // The address names the state: what differs from the start.
    remember() {
      const query = new URLSearchParams(this.changes()), { options, slip } = this.state;
      if (this.at) query.set("at", this.at.join("."));
      if (slip) query.set("slip", slip);
      if (options.scale !== this.start.options.scale) query.set("scale", options.scale);
      const after = query.size ? `?${query}` : "";
      if (after || location.hash.startsWith(`#${this.id}?`)) history.replaceState(null, "", `#${this.id}${after}`);
    }

    // Take the state that an address names; what it says wrongly stays as it is.
    recall() {
      const [id, text = ""] = location.hash.slice(1).split("?"), query = new URLSearchParams(text);
      const known = (name) => (Object.hasOwn(this.slips, name) ? name : "");
      const named = this.id === "sheet" ? known(id) : ""; // as in SA016/#not-scaled
      if (!named && (id !== this.id || !text)) return;
      const state = structuredClone(this.start);
      state.slip = named || known(query.get("slip"));
      const number = (word) => (word?.trim() && isFinite(word) ? Number(word) : null), scale = number(query.get("scale"));
      if (scale !== null) state.options.scale = scale;
      for (const [key, word] of query) {
        const [name, i, j] = key.split("."), value = number(word), rows = this.right[name === "mask" ? "scores" : name];
        if (value === null || !(Object.hasOwn(this.given, name) || name === "mask") || rows?.[i]?.[j] === undefined) continue;
        this.enter(state.given, name, i, j, name === "mask" ? Number(value > 0) : value);
      }
      const cell = this.cell(query.get("at")?.split("."));
      if (cell) this.at = placeOf(cell); // what changes is said of its word
      this.put(state);
      for (let fold = this.root; (fold = fold.parentNode.closest("details"));) fold.open = true;
      this.root.scrollIntoView();
    }

    // To take along.

    svg() {
      const bands = this.root.querySelector(".bands"), box = bands.getBoundingClientRect(), parts = [];
      const rgb = (color) => `rgb(${color.match(/[\d.]+/g).slice(0, 3).map((part) => Math.round(part * (/^color/.test(color) ? 255 : 1)))})`;
      for (const one of bands.querySelectorAll("td[data-at], th, caption")) {
        const { x, y, width, height } = one.getBoundingClientRect(), look = getComputedStyle(one), ink = rgb(look.color), text = new Option(one.innerText.split("\n")[0]);
        if (!width) continue;
        parts.push(`<g transform="translate(${Math.round(x - box.x + width / 2)} ${Math.round(y - box.y + height / 2)})" fill="${ink}">`);
        if (one.dataset.at) parts.push(`<rect x="${-width / 2}" y="${-height / 2}" width="${width}" height="${height}" fill="${rgb(look.backgroundColor)}" stroke="${one.matches(".bad") ? ink : "none"}"/>`);
        parts.push(`<text dy="0.35em" transform="rotate(${one.closest(".tall") ? -90 : 0})">${text.innerHTML}</text></g>`);
      }
      return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${box.width} ${box.height}" font-family="sans-serif" font-size="${parseFloat(getComputedStyle(bands).fontSize)}" text-anchor="middle"><title>${this.root.dataset.sheet} ${this.state.slip}</title>${parts.join("")}</svg>\n`;
    }
  }

  for (const root of document.querySelectorAll("[data-sheet]")) sheets.push(new Sheet(root));
  for (const sheet of sheets) sheet.begin();
  return { sheets, compute, SLIPS };
})();
