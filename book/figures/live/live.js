// What the figures that answer back have in common: a state, the address that names it, and three ways to
// change it (pointer, touch, keyboard). Python has drawn the start; a figure's own script says what follows
// from a state (`compute`), how the drawing shows that (`draw`), and which numbers are said (`says`).
const bookFigures = (() => {
  "use strict";
  const { make, copy } = bookPage;
  const kinds = {}, figures = [];
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const pen = document.createElement("canvas").getContext("2d");
  const hears = make("script", { src: new URL("../heard.js", document.currentScript.src) }); // fetched with the first change

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const round = (value) => Number(value.toFixed(4));
  const pixel = (value) => Math.round(value * 100) / 100;

  // A number as the pages write it: a true minus sign, and none before zero.
  function number(value, digits = 2) {
    const text = value.toFixed(digits);
    return Number(text) ? text.replace("-", "−") : text.replace("-", "");
  }

  const vector = (values, digits) => `(${values.map((value) => number(value, digits)).join(", ")})`;

  function softmax(scores) {
    const most = Math.max(...scores), parts = scores.map((score) => Math.exp(score - most));
    const whole = sum(parts);
    return parts.map((part) => part / whole);
  }

  const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

  const sum = (values) => values.reduce((all, one) => all + one, 0);

  const dot = (a, b) => a.reduce((all, x, i) => all + x * b[i], 0);

  // What rows make, each taken by its share.
  const mixed = (shares, rows) => rows[0].map((_, axis) => dot(shares, rows.map((row) => row[axis])));

  // A row vector times a matrix of two rows.
  const times = ([x, y], rows) => [0, 1].map((i) => x * rows[0][i] + y * rows[1][i]);

  // What lies between two values of the same form.
  function between(a, b, t) {
    if (typeof a === "number" && typeof b === "number") return isFinite(b - a) ? a + (b - a) * t : b;
    if (!a || !b || typeof b !== "object" || Object.keys(a).length !== Object.keys(b).length) return b;
    if (Array.isArray(b)) return b.map((one, i) => between(a[i], one, t));
    return Object.fromEntries(Object.entries(b).map(([key, one]) => [key, between(a[key], one, t)]));
  }

  // One of the two layouts of a drawing.
  class View {
    constructor(svg) {
      this.svg = svg;
      this.frames = JSON.parse(svg.dataset.frames || "{}");
      this.parts = {};
      for (const one of svg.querySelectorAll("[data-part]")) (this.parts[one.dataset.part] ||= []).push(one);
      [this.width, this.height] = svg.getAttribute("viewBox").split(" ").slice(2).map(Number);
      const shapes = make("g", { class: "drawn", "aria-hidden": true }), names = this.names = shapes.cloneNode();
      for (const one of [...svg.childNodes]) (one.localName === "text" ? names : shapes).append(one);
      svg.append(shapes, names);
      svg.removeAttribute("aria-hidden");
      svg.setAttribute("role", "group"); // an image has no grips
    }

    place(frame, [x, y]) {
      const [left, low, right, up] = this.frames[frame];
      return [left + right * x, low - up * y];
    }

    value(frame, [x, y]) {
      const [left, low, right, up] = this.frames[frame];
      return [(x - left) / right, (low - y) / up];
    }

    set(part, attributes) {
      for (const one of this.parts[part]) for (const name in attributes) one.setAttribute(name, attributes[name]);
    }

    // Words and numbers change at once: what lies between two numbers is true of no state.
    said(part) { return this.gliding ? [] : this.parts[part]; }

    text(part, words) { for (const one of this.said(part)) one.textContent = words; }

    look(part, look, has) { for (const one of this.said(part)) one.classList.toggle(look, has); }

    show(part, shown) { for (const one of this.said(part)) one.style.display = shown ? "" : "none"; }

    // Put what was drawn with a point `at` where that point is now.
    move(part, [x, y]) {
      for (const one of this.parts[part]) {
        const [a, b] = one.dataset.at.split(" ").map(Number);
        one.setAttribute("transform", `translate(${pixel(x - a)} ${pixel(y - b)})`);
      }
    }

    path(part, points, closed) {
      this.set(part, { d: "M" + points.map((point) => point.map(pixel).join(" ")).join("L") + (closed ? "z" : "") });
    }

    // As `Canvas.arrow` draws it: a line and a head.
    arrow(part, a, b) {
      const [line, head] = this.parts[part], long = Math.hypot(b[0] - a[0], b[1] - a[1]);
      const along = long ? [(b[0] - a[0]) / long, (b[1] - a[1]) / long] : [1, 0];
      const at = (back, aside) => [0, 1].map((i) => pixel(b[i] - back * along[i] + aside * [-along[1], along[0]][i])).join(" ");
      for (const one of [line, head]) one.style.display = long < 1 ? "none" : "";
      line.setAttribute("d", long > 9 ? `M${a.map(pixel).join(" ")}L${at(9, 0)}` : "");
      const size = Math.min(1, long / 10);
      head.setAttribute("d", `M${at(10 * size, 4.5 * size)}L${at(0, 0)}L${at(10 * size, -4.5 * size)}z`);
    }

    // A band from one place down to another.
    ribbon(part, [x, a], [z, b], wide) {
      const middle = (a + b) / 2, half = wide / 2;
      const bend = (from, to, y) => `C${pixel(from)} ${middle} ${pixel(to)} ${middle} ${pixel(to)} ${y}`;
      this.set(part, { d: wide < 0.5 ? "" : `M${pixel(x - half)} ${a}${bend(x - half, z - half, b)}h${pixel(wide)}${bend(z + half, x + half, a)}z` });
    }

    // Draw the parts of lines that lie within `reach` of the origin, to all sides (Liang and Barsky).
    clipped(part, frame, lines, reach) {
      let d = "";
      for (const [a, b] of lines) {
        let first = 0, last = 1;
        for (const axis of [0, 1]) {
          const way = b[axis] - a[axis], ends = [(-reach - a[axis]) / way, (reach - a[axis]) / way].sort((s, t) => s - t);
          if (way) [first, last] = [Math.max(first, ends[0]), Math.min(last, ends[1])];
          else if (Math.abs(a[axis]) > reach) last = first;
        }
        if (first < last) d += [first, last].map((t) => this.place(frame, a.map((x, i) => x + t * (b[i] - x))).map(pixel).join(" ")).map((end, i) => "ML"[i] + end).join("");
      }
      this.set(part, { d });
    }

    // As `draw_levels` draws them: the lines on which the score of a query is a multiple of a step.
    levels(frame, [x, y], reach, step = 1) {
      const long = Math.hypot(x, y);
      const line = (height) => [-9, 9].map((side) => [x * height / long ** 2 - side * y / long, y * height / long ** 2 + side * x / long]);
      for (const [part, from, to] of [["zero", 0, 0], ["more", 1, 14], ["less", -14, -1]]) {
        this.clipped(part, frame, long > 0.02 ? range(from, to).map((count) => line(step * count)) : [], reach);
      }
    }

    // Write names beside their points, [part, point] each, where nothing else is written; in a frame,
    // if one is named, which reaches as far to all sides.
    labels(named, frame, reach) {
      const whole = [this.width, this.height], corners = frame ? [[-reach, reach], [reach, -reach]].map((at) => this.place(frame, at)) : [[0, 0], whole];
      const [left, high, right, low] = corners.flat().map((edge, i) => Math.max(0, Math.min(whole[i % 2], edge)));
      const taken = named.map(([, [x, y]]) => [x - 5, y - 5, x + 5, y + 5]);
      const over = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
      const cost = (box, own) => taken.reduce((sum, other, i) => sum + (i === own ? 0 : over(box, other)), 0) +
        999 * (Math.max(0, left - box[0]) + Math.max(0, box[2] - right) + Math.max(0, high - box[1]) + Math.max(0, box[3] - low));
      named.forEach(([part, [x, y]], own) => {
        const text = this.parts[part].find((one) => one.localName === "text");
        if (!text.home) {
          const [a, b] = text.dataset.at.split(" ").map(Number);
          text.home = [text.getAttribute("x") - a, text.getAttribute("y") - b, text.getAttribute("text-anchor") || "start"];
        }
        pen.font = `600 14px ${getComputedStyle(text).fontFamily}`;
        const long = pen.measureText(text.textContent).width, spots = [text.home];
        for (const reach of [13, 19, 28, 40]) {
          for (const turn of [0, 45, -45, 90, -90, 135, -135, 180]) {
            const right = Math.cos(turn * Math.PI / 180), up = Math.sin(turn * Math.PI / 180);
            spots.push([reach * right, 4.5 - (reach + 4) * up, Math.abs(right) < 0.4 ? "middle" : right > 0 ? "start" : "end"]);
          }
        }
        const boxOf = ([right, down, anchor]) => {
          const left = x + right - long * { start: 0, middle: 0.5, end: 1 }[anchor];
          return [left, y + down - 11, left + long, y + down + 3];
        };
        const costs = spots.map((one) => cost(boxOf(one), own)), spot = spots[costs.indexOf(Math.min(...costs))];
        taken.push(boxOf(spot));
        for (const one of this.parts[part]) {
          if (one === text) Object.entries({ x: pixel(x + spot[0]), y: pixel(y + spot[1]), "text-anchor": spot[2] }).forEach((pair) => one.setAttribute(...pair));
          else one.style.display = "none"; // the thread of a name that stood far off
        }
      });
    }
  }

  class Figure {
    constructor(root, name) {
      Object.assign(this, JSON.parse(root.querySelector("script").textContent));
      this.root = root;
      this.name = name;
      this.kind = kinds[name];
      this.id = root.closest("figure").id;
      this.picture = root.querySelector(".picture");
      this.views = [...root.querySelectorAll(".picture > svg")].map((svg) => new View(svg));
      this.state = this.shown = structuredClone(this.start);
      this.result = this.kind.compute(this.state, this.data);
      // The description is to be read, and is not the name of a group that is spoken with each grip.
      this.about = make("p", { class: "unseen" }, `At the start: ${this.picture.getAttribute("aria-label")}`);
      for (const name of ["role", "aria-label"]) this.picture.removeAttribute(name);
      this.picture.prepend(this.about);
      this.answer = make("div", { class: "answer" }); // the sentence may cover the drawing, and no control
      this.picture.before(this.answer);
      this.answer.append(this.picture, root.querySelector(".says"));
      root.querySelector(".controls").hidden = false;
      for (const button of root.querySelectorAll("[data-put]")) button.onclick = () => { this.put(JSON.parse(button.dataset.put), true); this.show(); };
      for (const button of root.querySelectorAll("[data-act]")) button.onclick = () => { this.kind.acts[button.dataset.act](this); this.show(); };
      for (const input of root.querySelectorAll("input[data-key]")) input.oninput = () => this.put({ [input.dataset.key]: "log" in input.dataset ? Number((10 ** input.value).toPrecision(3)) : Number(input.value) });
      root.querySelector(".reset").onclick = () => { this.kind.stop?.(this); this.put(structuredClone(this.start), true); };
      const link = root.querySelector(".link");
      link.onclick = () => copy(link, location.href.split("#")[0] + (this.address() || `#${this.id}`));
      this.handles = (this.kind.handles?.(this.data) || []).map((one) => ({
        at: (state) => state[one.key],
        put: (state, point) => ({ [one.key]: point }),
        text: (state) => vector(state[one.key]),
        ...one,
      }));
      for (const view of this.views) view.grips = this.handles.map((handle) => this.grip(view, handle));
      for (const view of this.views) view.switches = this.kind.switches ? this.table(view, this.kind.switches(this.data)) : [];
      this.kind.begin?.(this);
      this.before = this.words(); // what who hears the page knows
      addEventListener("hashchange", () => this.recall());
      this.tell();
      this.recall();
    }

    // A place to hold: for the pointer, for a finger, for the arrow keys.
    grip(view, handle) {
      const [low, high] = handle.reach || this.limits[handle.key];
      const grip = make("g", { class: "grip", tabindex: 0, role: "slider", "aria-label": handle.name, "aria-valuemin": low, "aria-valuemax": high });
      grip.append(make("circle", { r: 26 }), make("circle", { class: "halo", r: 11 }));
      grip.onkeydown = (event) => {
        const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!way && event.key !== "Home") return;
        event.preventDefault();
        const steps = event.shiftKey ? 5 : 1, from = handle.at(this.state);
        if (!way) this.put(handle.put(this.state, handle.at(this.start)));
        else if (handle.press) this.put(handle.press(this.state, way.map((one) => one * steps)));
        else this.put(handle.put(this.state, from.map((x, i) => round(x + 0.1 * steps * (way[i] || 0)))));
      };
      grip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // or the page would scroll
      const press = (named) => (event) => {
        if (event.button) return;
        event.preventDefault();
        const [x, y] = this.point(view, event); // of two that overlap, the nearer
        const far = view.grips.map((_, i) => Math.hypot(...view.place(this.handles[i].frame, this.handles[i].at(this.state)).map((at, axis) => at - [x, y][axis])));
        const held = named ? view.grips.indexOf(grip) : far.indexOf(Math.min(...far)), { frame, at, put } = this.handles[held], began = this.state;
        const from = view.place(frame, at(this.state)), off = [from[0] - x, from[1] - y];
        view.grips[held].focus({ preventScroll: true });
        grip.setPointerCapture(event.pointerId);
        this.root.classList.add("held");
        grip.onpointermove = (moved) => {
          const now = this.point(view, moved);
          this.put(put(this.state, view.value(frame, [now[0] + off[0], now[1] + off[1]]).map((value) => Number(value.toFixed(2))), began));
        };
        grip.onpointerup = grip.onpointercancel = () => {
          grip.onpointermove = null;
          this.root.classList.remove("held");
        };
      };
      grip.onpointerdown = press(false);
      for (const word of view.parts[handle.label] || []) { // its name is dragged as well
        word.classList.add("named");
        word.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
        word.onpointerdown = press(true);
      }
      view.names.before(grip); // its ring stands behind the names, and above all else
      return grip;
    }

    // A table of switches, one for each letter, 0 or 1, of a word of the state ("10/11"): the arrow keys go
    // from cell to cell. `also` says what else a press changes.
    table(view, { key, frame, label, name, also }) {
      const group = make("g", { role: "group", "aria-label": label }), cells = [];
      const [, , across, up] = view.frames[frame], size = this.start[key].indexOf("/") + 1 || this.start[key].length + 1;
      [...this.start[key]].forEach((letter, place) => {
        if (letter === "/") return;
        const i = Math.floor(place / size), j = place % size, [x, y] = view.place(frame, [j, i]);
        const cell = make("rect", { x, y, width: across, height: -up, class: "switch", role: "checkbox", tabindex: cells.length ? -1 : 0, "aria-label": name(i, j) });
        cell.onfocus = () => cells.forEach((one) => one.setAttribute("tabindex", one === cell ? 0 : -1));
        cell.onclick = () => {
          const word = [...this.state[key]];
          word[place] = 1 - word[place];
          this.put({ ...also?.(i, j), [key]: word.join("") }, true);
        };
        cell.onkeydown = (event) => {
          const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
          if (!way && !/^( |Enter)$/.test(event.key)) return;
          event.preventDefault();
          if (!way) return cell.onclick();
          const next = cells.find((one) => one.place[0] === i + way[0] && one.place[1] === j + way[1]);
          next?.focus();
        };
        cell.place = [i, j];
        cell.tell = () => cell.setAttribute("aria-checked", this.state[key][place] === "1");
        cells.push(cell);
      });
      group.append(...cells);
      view.svg.append(group);
      return cells;
    }

    // What is written in the figure: each text, and what it says.
    words() {
      return new Map([...this.root.querySelectorAll("text, .says")].map((one) => [one, one.style.display ? "" : one.textContent.trim()]));
    }

    point(view, event) {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(view.svg.getScreenCTM().inverse());
      return [at.x, at.y];
    }

    // Keep what a state says within the limits; what it does not say, or says wrongly, stays as it is.
    clean(patch) {
      const state = structuredClone(this.state);
      for (const key in patch) {
        const limits = this.limits[key], within = (value) => Math.min(limits[1], Math.max(limits[0], value));
        if (!limits) state[key] = patch[key];
        else if (typeof limits === "string") state[key] = this.spelled(patch[key], state[key], limits) ? patch[key] : state[key];
        else if (typeof patch[key] === "string") state[key] = limits.includes(patch[key]) ? patch[key] : state[key];
        else state[key] = Array.isArray(patch[key]) ? patch[key].map(within) : within(patch[key]);
      }
      return state;
    }

    // Is a word made from another by other ones of these letters?
    spelled(word, like, letters) {
      return word.length === like.length && [...word].every((letter, i) => letter === like[i] || (letters.includes(letter) && letters.includes(like[i])));
    }

    // Change a part of the state, gliding there if that was asked for.
    put(patch, glide) {
      this.root.classList.add("touched");
      const from = { state: this.shown, result: this.result };
      this.state = this.clean(patch);
      this.result = this.kind.compute(this.state, this.data);
      cancelAnimationFrame(this.frame);
      clearTimeout(this.later);
      this.later = setTimeout(() => this.rest(), 500);
      this.draw(this.state, this.result);
      if (!glide || calm.matches) return;
      this.shown = from.state;
      const began = performance.now(), to = { state: this.state, result: this.result };
      const step = (now) => {
        const t = Math.min(1, Math.max(0, (now - began) / 300)), way = between(from, to, t * (2 - t));
        if (t < 1) this.frame = requestAnimationFrame(step);
        if (t < 1) this.draw(way.state, way.result, true);
        else this.draw(to.state, to.result);
      };
      this.frame = requestAnimationFrame(step);
    }

    // Bring the sentence into the window after a press, if what was pressed stays there, too.
    show() {
      const [whole, says] = [this.answer, this.answer.lastChild].map((one) => one.getBoundingClientRect());
      if (says.bottom <= innerHeight) return;
      scrollBy({ top: Math.min(whole.bottom - innerHeight, this.root.getBoundingClientRect().top - 60), behavior: calm.matches ? "auto" : "smooth" });
    }

    draw(state, result, gliding) {
      this.shown = state;
      for (const view of this.views) {
        view.gliding = gliding;
        this.kind.draw(view, state, result, this);
      }
      const said = gliding ? {} : this.kind.says(state, result, this);
      for (const key in said) {
        for (const one of this.root.querySelectorAll(`[data-say="${key}"]`)) one.textContent = said[key];
      }
      this.tell();
    }

    // Bring the controls up to date.
    tell() {
      for (const button of this.root.querySelectorAll("[data-put]")) {
        const puts = JSON.parse(button.dataset.put);
        button.setAttribute("aria-pressed", Object.keys(puts).every((key) => same(puts[key], this.state[key])));
      }
      for (const input of this.root.querySelectorAll("input[data-key]")) {
        const key = input.dataset.key, words = this.kind.dials?.[key];
        const text = words ? words(this.state, this.result) : number(this.state[key]);
        input.value = "log" in input.dataset ? Math.log10(this.state[key]) : this.state[key];
        input.setAttribute("aria-valuetext", text);
        input.closest("label").querySelector("output").textContent = text;
      }
      for (const view of this.views) {
        view.switches.forEach((cell) => cell.tell());
        view.grips.forEach((grip, i) => {
          const { at, text, frame, now } = this.handles[i], value = at(this.shown);
          const [x, y] = view.place(frame, value).map(pixel);
          grip.setAttribute("transform", `translate(${x} ${y})`);
          grip.setAttribute("aria-valuenow", round(now ? now(this.state, this.result) : value[0]));
          grip.setAttribute("aria-valuetext", text(this.state, this.result));
        });
      }
    }

    // When nothing moves any more: say it, and let the address name it.
    rest() {
      if (bookFigures.hear) bookFigures.hear(this);
      else document.head.append(hears);
      const address = this.address(), own = location.hash.split("?")[0] === `#${this.id}`;
      if (address || own) history.replaceState(null, "", location.href.split("#")[0] + address);
    }

    // What differs from the start, as the end of an address; nothing if nothing does.
    address() {
      const query = new URLSearchParams();
      for (const key in this.start) {
        const value = this.state[key];
        if (!same(value, this.start[key])) query.set(key, typeof value === "boolean" ? Number(value) : [value].flat().map((one) => (typeof one === "number" ? round(one) : one)).join(","));
      }
      return query.size ? `#${this.id}?${decodeURIComponent(query)}` : "";
    }

    // Take the state that the address names, if there is one that can be drawn.
    recall() {
      const [id, query] = location.hash.split("?"); // what is asked decodes itself, and never fails
      if (id !== `#${this.id}` || query === undefined) return;
      const asked = new URLSearchParams(query), patch = {};
      for (const [key, start] of Object.entries(this.start)) {
        if (!asked.has(key)) continue;
        const text = asked.get(key), many = text.split(",").map(Number);
        if (typeof start === "boolean") patch[key] = text === "1";
        else if (typeof start === "string") patch[key] = text;
        else if (many.every(isFinite) && many.length === [start].flat().length) patch[key] = Array.isArray(start) ? many : many[0];
      }
      try {
        this.put({ ...structuredClone(this.start), ...patch });
      } catch { // such as row 1.5
        this.put(structuredClone(this.start));
      }
      for (let fold = this.root; (fold = fold.parentNode.closest("details"));) fold.open = true;
      this.root.closest("figure").scrollIntoView();
    }
  }

  function define(name, kind) {
    kinds[name] = kind;
    for (const root of document.querySelectorAll(`[data-live="${name}"]`)) figures.push(new Figure(root, name));
  }

  return { define, figures, kinds, number, vector, softmax, range, sum, dot, mixed, times, pixel, calm };
})();
