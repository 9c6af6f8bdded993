// The Sheet: press a number and see what made it, change one and see what follows, break the rule.
// Python has drawn the start (book/figures/sheet.py); everything after it is computed here.
const bookSheet = (() => {
  "use strict";
  const { make, copy } = bookPage;
  const SIGNS = { query: "Q", key: "K", value: "V", x: "X", w_query: "W_Q", w_key: "W_K", w_value: "W_V", w_output: "W_O" };
  const ROLES = { q: "query", k: "key", v: "value" };

  const turned = (m) => m[0].map((_, j) => m.map((row) => row[j]));
  const sum = (list) => list.reduce((all, one) => all + one, 0);
  const dot = (a, b) => a.reduce((all, x, k) => all + x * b[k], 0);
  const product = (a, b) => { const columns = turned(b); return a.map((row) => columns.map((column) => dot(row, column))); };
  const each = (m, f) => m.map((row, i) => row.map((x, j) => f(x, i, j)));
  const divided = (row, whole) => row.map((x) => x / whole);
  const shares = (row) => divided(row, sum(row));
  const powers = (row, most = Math.max(...row)) => row.map((x) => Math.exp(x - most));
  const softmax = (row) => shares(powers(row));
  const unit = (size) => [...Array(size)].map((_, i) => [...Array(size)].map((_, j) => Number(i === j)));
  const bfloat = (x) => { // rounded to the upper half of a float, ties to even
    const bits = new Uint32Array(new Float32Array([x]).buffer);
    bits[0] = isFinite(x) ? (bits[0] + 0x7FFF + (bits[0] >>> 16 & 1)) & 0xFFFF0000 : bits[0];
    return new Float32Array(bits.buffer)[0];
  };

  // Two keys at a time, as a kernel does: when the maximum grows, what was summed is rescaled, or is not.
  function inBlocks(row, rescaleSum, rescaleMix) {
    const tops = row.map((_, j) => Math.max(...row.slice(0, j - j % 2 + 2)));
    const summed = (rescale) => row.map((x, j) => (isFinite(x) ? Math.exp(x - (rescale ? tops.at(-1) : tops[j])) : 0));
    return divided(summed(rescaleMix), sum(summed(rescaleSum)));
  }

  // The two halves of the keys apart, merged by the logarithms of their sums.
  function inHalves(row, distort) {
    const cut = Math.ceil(row.length / 2), halves = [row.slice(0, cut), row.slice(cut)].filter((part) => part.length);
    const logarithm = (part, most = Math.max(...part)) => (isFinite(most) ? distort(most + Math.log(sum(powers(part)))) : most);
    const parts = softmax(halves.map((part) => logarithm(part)));
    return halves.flatMap((part, k) => softmax(part).map((x) => (x || 0) * parts[k]));
  }

  const half = (x) => { // rounded to float16, ties to even
    const step = 2 ** (Math.max(-14, Math.floor(Math.log2(x))) - 10), whole = Math.floor(x / step), rest = x / step - whole;
    return x ? (whole + Number(rest > 0.5 || (rest === 0.5 && whole % 2))) * step : x;
  };
  const rowwise = (f) => (scores) => scores.map(f);
  const zeroed = (row) => row.map((x) => (isFinite(x) ? x : 0));
  // What each slip does otherwise. roles: what is query, key and value; usual: the scale if none is
  // given, of the root, the number of keys and the width of the values; scale: of the own factor, the root
  // and the cap; mask, causal, bias: of the entry or the place, and of the state; hidden: what becomes of
  // the score of a hidden key; weigh: scores to weights; mixes, output: what is done with those.
  const SLIPS = {
    "keys-as-values": { roles: "qkk" },
    "keys-and-values-swapped": { roles: "qvk" },
    "queries-and-keys-swapped": { roles: "kqv" },
    "weights-transposed": { mixes: turned },
    "not-scaled": { usual: () => 1 },
    "root-left-out": { usual: (root) => root * root },
    "root-multiplied": { usual: (root) => 1 / root },
    "root-of-length": { usual: (root, keys) => 1 / Math.sqrt(keys) },
    "root-of-value-width": { usual: (root, keys, wide) => 1 / Math.sqrt(wide) },
    "default-scale-is-zero": { usual: () => 0 },
    "scale-ignored-under-cap": { scale: (own, root, cap) => (cap ? root : own) },
    "scaled-twice": { scale: (own) => own * own },
    "scale-ignored": { scale: (own, root) => root },
    "cap-ignored": { cap: (x) => x },
    "cap-before-scale": { cap: (x, cap, scale) => scale * cap * Math.tanh(x / scale / cap) },
    "cap-clipped": { cap: (x, cap) => Math.max(-cap, Math.min(cap, x)) },
    "cap-not-multiplied-back": { cap: (x, cap) => Math.tanh(x / cap) },
    "cap-multiplies-the-score": { cap: (x, cap) => x * Math.tanh(x / cap) },
    "cap-after-mask": { hidden: (x, cap, bias) => (cap ? bias - cap : -Infinity) },
    "bias-ignored": { bias: () => 0 },
    "bias-subtracted": { bias: (b) => -b },
    "bias-before-scale": { bias: (b, scale) => b * scale },
    "bias-dropped-under-causal": { bias: (b, scale, { options }) => (options.causal ? 0 : b) },
    "bias-dropped-under-mask": { bias: (b, scale, { given }) => (given.mask ? 0 : b) },
    "mask-dropped-under-bias": { mask: (m, { given }) => each(m, (may) => (given.bias ? 1 : may)) },
    "mask-dropped-under-causal": { mask: (m, { options }) => each(m, (may) => (options.causal ? 1 : may)) },
    "mask-ignored": { mask: (m) => each(m, () => 1) },
    "mask-inverted": { mask: (m) => each(m, (may) => 1 - may) },
    "mask-transposed": { mask: turned },
    "hidden-scores-are-zero": { hidden: () => 0 },
    "mask-added": { hidden: (x) => x, shown: (x) => x + 1 },
    "mask-after-softmax": { hidden: (x) => x, after: true },
    "sentinel-too-small": { hidden: () => -100 },
    "causal-ignored": { causal: () => true },
    "causal-strict": { causal: (i, j, offset) => j <= i + offset - 1 },
    "causal-one-ahead": { causal: (i, j, offset) => j <= i + offset + 1 },
    "causal-upside-down": { causal: (i, j, offset) => j > i + offset - 1 },
    "causal-dropped-under-mask": { causal: (i, j, offset, { given }) => given.mask || j <= i + offset },
    "mask-or-causal": {
      mask: (m, { options }) => each(m, (may) => (options.causal ? 1 : may)),
      causal: (i, j, offset, { given }) => j <= i + offset || given.mask?.[i][j],
    },
    "diagonal-tile-cut-short": { causal: (i, j, offset) => j <= i - i % 2 + offset },
    "diagonal-tile-not-masked": { causal: (i, j, offset) => j <= i - i % 2 + 1 + offset },
    "aligned-with-the-last-key": { causal: (i, j, offset, state, more) => j <= i + more },
    "offset-ignored": { causal: (i, j) => j <= i },
    "cache-off-by-one": { causal: (i, j, offset) => j <= i + Math.max(offset - 1, 0) },
    "softmax-left-out": { weigh: rowwise(zeroed) },
    "exponential-left-out": { weigh: rowwise((row) => shares(zeroed(row))) },
    "sum-left-out": { weigh: rowwise((row) => powers(row)) },
    "maximum-not-subtracted": { weigh: rowwise((row) => shares(powers(row, 0))) },
    "maximum-starts-at-zero": { weigh: rowwise((row) => shares(powers(row, Math.max(0, ...row)))) },
    "maximum-clamped": { weigh: rowwise((row) => { const now = powers(row, Math.max(-5e4, ...row)); return divided(now, sum(now) || 1); }) },
    "hidden-keys-in-the-maximum": { hidden: (x) => x, after: true, again: true },
    "epsilon-in-the-denominator": { weigh: rowwise((row) => divided(powers(row), sum(powers(row)) + 1e-6)) },
    "one-more-in-the-sum": { weigh: rowwise((row) => divided(powers(row), sum(powers(row)) + Math.exp(-Math.max(...row)))) },
    "weights-in-bfloat16": { weigh: rowwise((row) => softmax(row).map(bfloat)) },
    "sum-in-float16": { weigh: rowwise((row) => divided(powers(row), powers(row).reduce((all, x) => half(all + half(x)), 0))) },
    "halves-averaged": { weigh: rowwise((row) => inHalves(row, () => 0)) },
    "halves-merged-with-another-base": { weigh: rowwise((row) => inHalves(row, (x) => x / Math.LN2)) },
    "scores-in-bfloat16": { weigh: rowwise((row) => softmax(row.map(bfloat))) },
    "powers-of-two": { weigh: rowwise((row) => softmax(row.map((x) => x * Math.LN2))) },
    "argmax-for-softmax": { weigh: rowwise((row) => row.map((_, j) => Number(j === row.indexOf(Math.max(...row))))) },
    "softmax-over-queries": { weigh: (scores) => turned(turned(scores).map(softmax)) },
    "softmax-over-everything": {
      weigh: (scores) => {
        const most = Math.max(...scores.flat()), whole = sum(scores.flatMap((row) => powers(row, most)));
        return scores.map((row) => divided(powers(row, most), whole));
      },
    },
    "normalized-after-mixing": { output: (row) => shares(row) },
    "mix-not-rescaled": { weigh: rowwise((row) => inBlocks(row, true, false)) },
    "sum-not-rescaled": { weigh: rowwise((row) => inBlocks(row, false, true)) },
    "block-not-masked": { weigh: rowwise((row) => softmax([...row, ...Array((4 - row.length % 4) % 4).fill(0)]).slice(0, row.length)) },
    "last-block-dropped": { weigh: rowwise((row) => [...softmax(row.slice(0, row.length - row.length % 2)), ...Array(row.length % 2).fill(0)]) },
  };

  // Compute all arrays of a state. Null is an entry that is hidden.
  function compute({ given, options, slip }) {
    const rule = SLIPS[slip] || {}, right = !slip, state = { given, options };
    const arrays = { ...given };
    for (const role of ["query", "key", "value"]) {
      arrays[role] = given[role] || (given[`w_${role}`] ? product(given.x, given[`w_${role}`]) : given.x);
    }
    const roles = [...(rule.roles || "qkv")].map((letter) => ROLES[letter]), [query, key, value] = roles.map((role) => arrays[role]);
    const root = 1 / Math.sqrt(query[0].length), own = options.scale ?? rule.usual?.(root, key.length, value[0].length) ?? root;
    const scale = rule.scale ? rule.scale(own, root, options.soft_cap) : own;
    const cap = rule.cap || ((x, most) => most * Math.tanh(x / most));
    const bias = (b) => (rule.bias ? rule.bias(b, scale, state) : b);
    const { causal = (i, j, offset) => j <= i + offset } = rule, { mask = (m) => m } = rule;
    const allowed = given.mask && mask(given.mask, state), offset = options.offset || 0;
    const seen = query.map((_, i) => key.map((_, j) => Boolean(!allowed || allowed[i][j]) && (!options.causal || causal(i, j, offset, state, key.length - query.length))));
    const products = product(query, turned(key));
    const scaled = each(products, (x) => x * scale);
    const full = each(scaled, (x, i, j) => (options.soft_cap ? cap(x, options.soft_cap, scale) : x) + (given.bias ? bias(given.bias[i][j]) : 0));
    const scores = each(full, (x, i, j) => (seen[i][j] ? (rule.shown ? rule.shown(x) : x) : rule.hidden ? rule.hidden(x, options.soft_cap, given.bias ? given.bias[i][j] : 0) : -Infinity));
    const weigh = rule.weigh || rowwise((row) => (right && !isFinite(Math.max(...row)) ? row.map(() => 0) : softmax(row)));
    const kept = each(weigh(scores), (x, i, j) => (rule.after && !seen[i][j] ? 0 : x)), weights = rule.again ? kept.map(shares) : kept;
    const output = product(rule.mixes ? rule.mixes(weights) : weights, value).map(rule.output || ((row) => row));
    const empty = (i, j) => scores[i][j] === -Infinity;
    return {
      ...arrays, output, adds: given.w_output && product(output, given.w_output), roles, scale, products, full, seen, rule, added: bias,
      scores: each(scores, (x, i, j) => (empty(i, j) ? null : x)),
      weights: each(weights, (x, i, j) => (empty(i, j) && x === 0 ? null : x)),
    };
  }

  // A number as the sheet writes it, and as a line of arithmetic does.
  function shown(value) {
    if (!isFinite(value)) return isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
    const whole = Math.abs(value - Math.round(value)) < 1e-9;
    let text = whole ? String(Math.round(value) + 0) : value.toFixed(Math.abs(value) < 100 ? 2 : Math.abs(value) < 1000 ? 1 : 0);
    if (Math.abs(value) >= 99999.5) text = value.toExponential(0).replace("e+", "e");
    return text.replace("-", "−");
  }

  function exactly(value) {
    if (!isFinite(value)) return shown(value);
    const text = Math.abs(value) >= 1e6 || (value && Math.abs(value) < 1e-4) ? value.toExponential(3).replace("e+", "e") : String(Number(value.toFixed(4)));
    return text.replace("-", "−");
  }

  const inner = (value) => (value < 0 ? `(${exactly(value)})` : exactly(value));
  // What is nothing is left out of a long sum.
  const terms = (a, b) => a.map((x, k) => [x, b[k]]).filter(([x, y]) => a.length < 5 || (x && y)).map(([x, y]) => `${inner(x)} × ${inner(y)}`).join(" + ") || "0";
  const line = (a, i) => a[i].map((_, k) => [i, k]);
  const down = (a, j) => a.map((_, k) => [k, j]);

  const sheets = [];

  function button(text, act, more = {}) {
    const one = make("button", { type: "button", ...more }, text);
    one.onclick = act;
    return one;
  }

  function field(value, label, act) {
    const one = make("input", { type: "number", step: "any", value, "aria-label": label });
    one.onchange = () => { if (isFinite(one.valueAsNumber)) act(one.valueAsNumber); };
    return one;
  }

  class Sheet {
    constructor(root) {
      Object.assign(this, JSON.parse(root.querySelector("script").textContent));
      this.root = root;
      this.id = root.closest("[id]").id;
      this.start = { given: this.given, options: this.options, slip: "" };
      this.state = structuredClone(this.start);
      this.past = [];
      this.tables = [...root.querySelectorAll("table")];
      this.captions = new Map(this.tables.map((table) => [table, table.caption.innerHTML]));
      this.right = this.result = compute(this.state);
      this.controls();
      if (this.asks !== null) this.ask();
      this.cells = [...root.querySelectorAll("td[data-at]")];
      for (const cell of this.cells) cell.tabIndex = -1;
      root.addEventListener("click", (event) => {
        const cell = event.target.closest("td[data-at]");
        if (cell) this.press(cell);
      });
      root.addEventListener("keydown", (event) => this.key(event));
      this.at = null;
      this.heads = [this];
      this.cells[0].tabIndex = 0;
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

    total() {
      for (const kind of ["result", "right"]) {
        const all = this.heads.map((one) => one[kind].adds);
        this[kind].sum = all[0] && each(all[0], (_, i, j) => sum(all.map((one) => one[i][j])));
      }
    }

    controls() {
      this.said = make("p", { class: "said", role: "status" }, make("span", { class: "hint" }, "Press a number to see what made it.", make("span", {}, ` ${Object.keys(this.given).filter((name) => name !== "mask").map((name) => SIGNS[name] || name).join(", ")} can be changed.`)));
      this.steps = make("p", { class: "steps buttons" });
      this.slipButtons = Object.keys(this.slips).filter((slip) => SLIPS[slip]).map((slip) => button(slip, () => this.change({ slip: this.state.slip === slip ? "" : slip }), { "data-slip": slip, title: this.slips[slip][0] }));
      this.own = button("the right rule", () => this.change({ slip: "" }), { "data-slip": "" });
      this.wrong = make("p", { class: "wrong", role: "status" });
      this.broken = make("details", { class: "break" }, make("summary", {}, `Break the rule: ${this.slipButtons.length} slips change something here`), make("div", { class: "buttons" }, this.own, this.slipButtons));
      this.broken.hidden = !this.slipButtons.length;
      this.full = this.root.requestFullscreen ? button("Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen())) : "";
      this.root.onfullscreenchange = () => { this.full.textContent = `${document.fullscreenElement ? "Leave f" : "F"}ull screen`; };
      this.undo = button("Undo", () => this.back());
      this.reset = button("Reset", () => { this.past.length = 0; this.back(structuredClone(this.heads.map((one) => one.start))); });
      const copies = { NumPy: () => this.numpy(), JSON: () => JSON.stringify(this.plain(), null, 1), SVG: () => this.svg() };
      const tools = make("p", { class: "tools buttons" }, this.undo, this.reset, Object.entries(copies).map(([name, text]) => {
        const one = button(`Copy ${name}`, () => copy(one, text()));
        return one;
      }), this.full);
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
        this.spoken.textContent = `You pressed ${this.columns[j]}, ${most === j ? "and" : "but"} ${word} listens most to ${most === j ? "it" : this.columns[most]}, with ${shown(weights[most])}.`;
      };
      this.root.classList.add("asks");
      this.said.textContent = `Whom will ${word} listen to most?`;
      this.steps.append(...this.columns.map((name, j) => button(name, () => answer(j), { "data-word": j })));
    }

    cell(place) { return this.cells.find(({ dataset }) => `${dataset.array},${dataset.at}` === String(place)); }

    // What an entry is called, as one says it.
    called(array, i, j) {
      const word = this.nameOf([array, i]), from = { weights: "how closely # listens to ", scores: "score of # for ", bias: "bias of # for " }[array];
      if (from) return from.replace("#", word) + this.columns[j];
      if (array.startsWith("w_")) return `${SIGNS[array]}, row ${array !== "w_output" && this.features[i] || i}, column ${j}`;
      if (array === "x") return `${word}: ${this.features[j] ?? j}`;
      const of = { adds: "what this head adds to", sum: "sum of the heads for" }[array] || `${array} of`;
      const named = this.given.w_output ? ["adds", "sum"] : ["output", "value"];
      return `${of} ${word}, ${named.includes(array) && this.outputs[j] || "column " + j}`;
    }

    isGiven(array) { return array in this.given; }

    // Which entries made an entry, and the line that says how.
    made(array, i, j) {
      const r = this.result, of = (name, places) => places.map(([a, b]) => [name, a, b]);
      const value = r[array][i][j], is = (parts) => `${parts} ${/[=≈]/.test(parts) || exactly(value) !== String(value).replace("-", "−") ? "≈" : "="} <b>${exactly(value)}</b>`;
      const [query, key, mixed] = r.roles, sign = (name) => (this.isGiven(name) || this.given[`w_${name}`] ? SIGNS[name] : "X");
      if (this.isGiven(array)) {
        const was = this.start.given[array][i][j];
        return { from: [], says: was === value ? `${exactly(value)}, given` : `${exactly(value)}, set by you; it was ${exactly(was)}` };
      }
      if (["query", "key", "value", "adds"].includes(array)) {
        const [a, b] = array === "adds" ? ["output", "w_output"] : ["x", `w_${array}`];
        return { from: [...of(a, line(r[a], i)), ...of(b, down(r[b], j))], says: is(terms(r[a][i], r[b].map((row) => row[j]))) };
      }
      if (array === "sum") return { from: [["adds", i, j]], says: is(this.heads.map((one) => inner(one.result.adds[i][j])).join(" + ")) };
      if (array === "scores") {
        const from = [...of(this.source(query), line(r[query], i)), ...of(this.source(key), line(r[key], j)), ...(this.given.bias ? [["bias", i, j]] : [])];
        if (value === null) return { from, says: this.state.given.mask && !this.state.given.mask[i][j] ? "hidden by the mask" : "hidden: the key comes later" };
        return { from, says: this.score(i, j, value) };
      }
      if (array === "weights") return { from: r.scores[i].flatMap((x, k) => (x === null ? [] : [["scores", i, k]])), says: value === null ? `hidden: ${this.rows[i]} does not listen to ${this.columns[j]}` : this.weight(i, j, value) };
      const weights = r.rule.mixes ? r.rule.mixes(r.weights) : r.weights;
      const parts = weights[i].map((x) => x || 0), values = r[mixed].map((row) => row[j]);
      const from = [...of("weights", r.rule.mixes ? down(r.weights, i) : line(r.weights, i)), ...of(this.source(mixed), down(r[mixed], j))];
      const after = r.rule.output ? ` = ${exactly(dot(parts, values))}, divided by the sum of its row` : "";
      return { from, says: is(terms(parts, values) + after) };
    }

    // Where query, key and value are X itself, its entries are the source.
    source(role) { return this.given[role] || this.given[`w_${role}`] ? role : "x"; }

    scaleText() {
      const { scale, roles } = this.result, width = this.result[roles[0]][0].length;
      const root = Math.abs(scale - width ** -0.5) < 1e-12;
      return scale === 1 ? "" : root ? (Number.isInteger(Math.sqrt(width)) ? ` ÷ ${Math.sqrt(width)}` : ` ÷ √${width}`) : ` × ${exactly(scale)}`;
    }

    score(i, j, value) {
      const r = this.result, [query, key] = r.roles, { soft_cap: cap } = this.state.options;
      const sums = terms(r[query][i], r[key][j]), by = this.scaleText();
      const scaled = (by && sums.includes("+") ? `(${sums})` : sums) + by;
      let text = scaled;
      if (cap) text = `${exactly(cap)} · tanh((${scaled}) ÷ ${exactly(cap)})`;
      if (r.rule.cap) text = `${exactly(r.products[i][j] * r.scale)} under the broken cap`;
      if (this.given.bias && r.added(1)) text += ` + ${inner(r.added(this.state.given.bias[i][j]))}`;
      if (!r.seen[i][j]) text = `hidden, and yet ${r.rule.hidden ? "it takes part" : "empty"}`;
      else if (r.rule.shown) text += " + 1 from the mask";
      return `${text} ${/^[^√÷]*$/.test(text) ? "=" : "≈"} <b>${exactly(value)}</b>`;
    }

    // The exponent of a score: as a quotient where that is the exact way to write it.
    exponent(i, k) {
      const r = this.result, raw = r.products[i][k], width = r[r.roles[0]][0].length;
      const short = (x) => Math.abs(x - Number(x.toFixed(2))) < 1e-9;
      const plain = !this.given.bias && !this.state.options.soft_cap && r.products[i].every(short) && r.scores[i][k] === raw * r.scale;
      if (plain && this.scaleText().includes("√")) return raw ? `${exactly(raw)}/√${width}` : "0";
      return exactly(r.scores[i][k]);
    }

    weight(i, j, value) {
      const r = this.result, { slip } = this.state, row = r.scores[i], places = row.flatMap((x, k) => (x === null ? [] : [k]));
      const is = (...parts) => `${parts.join(" ≈ ")} ≈ <b>${exactly(value)}</b>`;
      const list = (write) => { const all = places.map(write); return all.length > 6 ? [...all.slice(0, 2), "…", all.at(-1)].join(" + ") : all.join(" + "); };
      if (slip === "softmax-over-queries") {
        const column = r.scores.map((one, k) => [one[j], k]).filter(([x]) => x !== null);
        const power = (k) => `e<sup>${this.exponent(k, j)}</sup>`;
        return is(`${power(i)} ÷ (${column.map(([, k]) => power(k)).join(" + ")}), down the column`);
      }
      if (r.rule.weigh || r.rule.after) return `<b>${exactly(value)}</b> under this slip`;
      if (places.length === 0) return `nobody to listen to: <b>${exactly(value)}</b>`;
      const most = Math.max(...row.filter((x) => x !== null)), shift = Math.abs(most) > 20;
      const power = (k) => (shift ? `e<sup>${exactly(row[k] - most)}</sup>` : `e<sup>${this.exponent(i, k)}</sup>`), size = (k) => Math.exp(row[k] - (shift ? most : 0));
      const note = shift ? ` <small>(every score less the largest, ${exactly(most)})</small>` : "";
      const all = places.length > 1 ? `(${list(power)})` : power(j);
      return is(`${power(j)} ÷ ${all}`, `${exactly(size(j))} ÷ ${exactly(sum(places.map(size)))}`) + note;
    }

    // What an entry is used for.
    next(array, i, j) {
      const r = this.result, [query, key, mixed] = r.roles, has = (name) => this.tables.some((table) => table.dataset.matrix === name);
      const own = array === "x" && !this.given.w_query;
      if (array === "x" && !own) return [["query", i, 0], ["key", i, 0], ["value", i, 0]].filter(([name]) => has(name));
      if (array.startsWith("w_")) return [[array === "w_output" ? "adds" : array.slice(2), 0, j]];
      if (array === query || own) return [["scores", i, 0]];
      if (array === key) return [["scores", 0, i]];
      if (array === mixed) return [["output", 0, j]];
      return ({ bias: [["scores", i, j]], scores: [["weights", i, j]], weights: [["output", i, 0]], output: [["adds", i, 0]], adds: [["sum", i, j]] }[array] || []).filter(([name]) => has(name));
    }

    press(cell, focus) {
      if (cell.closest(".asks .covered")) return;
      const [i, j] = cell.dataset.at.split(",").map(Number), { array } = cell.dataset;
      this.at = [array, i, j];
      this.draw();
      for (const one of this.cells) one.tabIndex = one === cell ? 0 : -1;
      if (focus) cell.focus({ preventScroll: true });
      this.tell();
      this.remember();
    }

    key(event) {
      const cell = event.target.closest?.("td[data-at]"), way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!cell) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.press(cell, true);
        this.steps.querySelector("input")?.select();
      }
      if (!way) return;
      event.preventDefault();
      const from = cell.getBoundingClientRect(), far = (one) => { // straight ahead is nearer than aside
        const at = one.getBoundingClientRect(), y = at.y - from.y, x = at.x - from.x, ahead = y * way[0] + x * way[1];
        return ahead > 1 && at.width ? ahead + 9 * Math.abs(y * way[1] + x * way[0]) : Infinity;
      };
      const to = this.cells.reduce((best, one) => (far(one) < far(best) ? one : best));
      if (far(to) < Infinity) { this.press(to, true); to.scrollIntoView({ block: "nearest", inline: "nearest" }); }
    }

    change(patch) {
      this.past.push(this.heads.map((one) => structuredClone(one.state)));
      this.put({ ...this.state, ...patch });
    }

    back(states = this.past.pop()) {
      this.heads.forEach((one, k) => { one.state = states[k]; });
      this.put(this.state);
    }

    put(state) {
      const before = this.result, heads = this.heads.map((one) => one.result);
      if (this.root.classList.replace("asks", "asked")) this.said.textContent = "";
      this.state = structuredClone(state);
      for (const one of this.heads) { // they have one input, one rule, and in groups the same keys
        const same = Object.entries(state.given).filter(([name]) => /^(x|mask)$/.test(name) || (one.shared === this.shared && /^w_[kv]/.test(name)));
        if (one !== this) one.state = structuredClone({ ...state, given: { ...one.state.given, ...Object.fromEntries(same) } });
        one.result = compute(one.state);
        one.right = state.slip ? compute({ ...one.state, slip: "" }) : one.result;
      }
      this.heads.forEach((one, k) => { one.total(); one.draw(heads[k]); one.tell(); });
      this.remember();
      const changed = this.rows.filter((_, i) => ["weights", "output"].some((array) => String(before[array][i]) !== String(this.result[array][i])));
      const own = this.at && this.nameOf(this.at), name = changed.includes(own) ? own : changed[0], i = this.rows.indexOf(name);
      const weights = name && this.result.weights[i].map((x, j) => `${this.columns[j]} ${x === null ? "hidden" : shown(x)}`).join(", ");
      this.spoken.textContent = name && !state.slip ? `${name} now listens to ${weights}; its output is ${this.result.output[i].map(shown).join(", ")}.` : "";
    }

    set(array, i, j, value) {
      const given = structuredClone(this.state.given);
      if (array === "mask") given.mask ||= each(this.result.scores, () => 1);
      given[array][i][j] = value;
      this.change({ given });
    }

    // Bring every number up to date. What has changed since the state before is marked.
    draw(before) {
      const r = this.result, slip = this.state.slip, from = this.at ? this.made(...this.at).from.map(String) : [];
      const me = this.at && !this.at[0].startsWith("w_") ? this.rows.indexOf(this.nameOf(this.at)) : -1;
      for (const table of this.tables) {
        const shownRole = { key: r.roles[1], value: r.roles[2] }[table.dataset.matrix], low = table.parentNode.lastElementChild === table;
        const top = !low && shownRole, array = top ? this.source(shownRole) : table.dataset.matrix;
        const most = array === "weights" ? 1 : Math.max(0, ...r[array].flat().filter(Number.isFinite).map(Math.abs));
        table.caption.innerHTML = top && shownRole !== table.dataset.matrix ? SIGNS[array] + (table.caption.textContent.endsWith("ᵀ") ? "ᵀ" : "") : this.captions.get(table);
        for (const cell of table.querySelectorAll("td[data-at]")) {
          const [i, j] = cell.dataset.at.split(",").map(Number), value = r[array][i][j], old = before?.[array]?.[i]?.[j], place = `${array},${i},${j}`;
          const is = (name, yes) => cell.classList.toggle(name, Boolean(yes));
          cell.textContent = value === null ? "" : shown(value);
          const tint = most && isFinite(value) ? Math.round(6 + 32 * Math.abs(value) / most) : 6;
          if (value === null) cell.removeAttribute("style");
          else cell.setAttribute("style", `--t:${tint}%`);
          is("hides", value === null);
          is("negative", value < -1e-9);
          is("bad", slip && Math.abs((value ?? 0) - (this.right[array][i][j] ?? 0)) > 1e-9 || Number.isNaN(value));
          is("moved", before && !slip && old !== undefined && old !== value);
          is("set", this.isGiven(array) && value !== this.start.given[array][i][j]);
          is("here", String(this.at) === place);
          is("from", from.includes(place));
          if (low) cell.parentNode.classList.toggle("me", i === me);
          if (!cell.className) cell.removeAttribute("class");
          cell.setAttribute("aria-label", `${this.called(array, i, j)}: ${value === null ? "hidden" : shown(value)}`);
        }
      }
      for (const one of [this.own, ...this.slipButtons]) one.setAttribute("aria-pressed", one.dataset.slip === slip);
      this.undo.disabled = this.past.length === 0;
      this.reset.disabled = JSON.stringify(this.state) === JSON.stringify(this.start);
      const { length } = this.changes();
      this.reset.textContent = length ? `Reset (${length} changed)` : "Reset";
      if (slip) this.broken.open = true;
    }

    nameOf([array, i]) { return (["key", "value"].includes(array) ? this.columns : this.rows)[i]; }

    // Say what was pressed, how it is made, what one can do with it, and what a slip did.
    tell() {
      const { slip } = this.state, held = [...this.steps.querySelectorAll("button, input")].indexOf(document.activeElement);
      const [effect, caught] = this.slips[slip] || [], bad = this.root.querySelectorAll(".bad").length;
      this.wrong.innerHTML = slip && `<b>${slip}</b>: ${effect}. ${bad} numbers differ. ${this.holds()} ${caught === 1 ? "One worked example catches" : caught + " worked examples catch"} it.`;
      const asks = this.root.matches(".asks");
      if (!asks) this.steps.replaceChildren();
      if (!this.at) return;
      const [array, i, j] = this.at, value = this.result[array][i][j], name = this.called(array, i, j);
      const own = this.right[array][i][j] ?? 0, differs = slip && this.cell(this.at).matches(".bad");
      const digits = exactly(own) === exactly(value ?? 0) ? String(own).replace("-", "−") : exactly(own);
      this.said.innerHTML = `<b>${name[0].toUpperCase()}${name.slice(1)}</b>: ${this.made(array, i, j).says}${differs ? " (right: " + digits + ")" : ""}`;
      if (asks) return;
      const step = (...parts) => this.steps.append(button(...parts));
      if (this.isGiven(array)) {
        for (const by of [-0.5, 0.5]) step(by < 0 ? "−" : "+", () => this.set(array, i, j, Number((value + by).toFixed(4))), { "aria-label": by < 0 ? "less" : "more" });
        this.steps.append(field(value, `${array}, new value`, (x) => this.set(array, i, j, x)));
      }
      if (array === "scores") {
        const open = !this.state.given.mask || this.state.given.mask[i][j];
        if (!open || value !== null) step(`${open ? "Hide" : "Show"} ${this.columns[j]} ${open ? "from" : "to"} ${this.rows[i]}`, () => this.set("mask", i, j, open ? 0 : 1));
        const scale = exactly(this.result.scale).replace("−", "-");
        this.steps.append(make("label", {}, "scale ", field(scale, "scale", (x) => this.change({ options: { ...this.state.options, scale: x } }))));
      }
      const go = (one) => this.press(this.cell(one), true);
      for (const one of this.largest(array, i, j)) step(`← ${this.sign(one)}`, () => go(one));
      for (const one of this.next(array, i, j)) step(`${this.sign(one)} →`, () => go(one));
      this.steps.querySelectorAll("button, input")[held]?.focus();
    }

    // What still looks right under a slip.
    holds() {
      const { weights } = this.result, rows = weights.map((row) => sum(row.map((x) => x ?? 0))), close = (a, b) => Math.abs(a - b) < 1e-9;
      if (weights.flat().every((x, k) => close(x ?? 0, this.right.weights.flat()[k] ?? 0))) return "Every weight is right.";
      if (rows.every((x) => close(x, 1))) return "Every row of weights still adds up to 1.";
      return weights.flat().every((x) => (x ?? 0) >= 0 && (x ?? 0) <= 1) ? "Every weight still lies between 0 and 1." : "";
    }

    sign([array]) { return SIGNS[array] || array; }

    // Of each array that made an entry, the entry that did most.
    largest(array, i, j) {
      if (array === "weights") return [["scores", i, j]];
      const best = {}, size = ([name, a, b]) => Math.abs(this.result[name][a][b] ?? 0);
      for (const one of this.made(array, i, j).from) if (!best[one[0]] || size(one) > size(best[one[0]])) best[one[0]] = one;
      return Object.values(best);
    }

    // What differs from the start among the numbers that are given.
    changes() {
      return Object.entries(this.state.given).flatMap(([name, rows]) => rows.flatMap((row, i) => row.flatMap((x, j) => (
        x === (this.start.given[name]?.[i][j] ?? 1) ? [] : [[`${name}.${i}.${j}`, x]]))));
    }

    // The address names the state: what differs from the start.
    remember() {
      const query = new URLSearchParams(this.changes()), { options, slip } = this.state;
      if (this.at) query.set("at", this.at.join("."));
      if (slip) query.set("slip", slip);
      if (options.scale !== this.start.options.scale) query.set("scale", options.scale);
      const own = location.hash.startsWith(`#${this.id}?`);
      const after = query.size ? `?${query}` : "";
      if (after || own) history.replaceState(null, "", `${location.href.split("#")[0]}#${this.id}${after}`);
    }

    // Take the state that an address names; what it says wrongly stays as it is.
    recall() {
      const [id, text = ""] = location.hash.slice(1).split("?"), query = new URLSearchParams(text);
      const known = (name) => (Object.hasOwn(this.slips, name || "") && Object.hasOwn(SLIPS, name) ? name : "");
      const named = this.id === "sheet" ? known(id) : ""; // as in SA016/#not-scaled
      if (!named && (id !== this.id || !text)) return;
      const state = { ...structuredClone(this.start), slip: named || known(query.get("slip")) };
      const number = (word) => (word?.trim() && isFinite(word) ? Number(word) : null);
      if (number(query.get("scale")) !== null) state.options = { ...state.options, scale: number(query.get("scale")) };
      for (const [key, word] of query) {
        const [name, i, j] = key.split("."), value = number(word), rows = this.right[name === "mask" ? "scores" : name];
        if (value === null || !(Object.hasOwn(this.given, name) || name === "mask") || rows?.[i]?.[j] === undefined) continue;
        if (name === "mask") state.given.mask ||= each(this.right.scores, () => 1);
        state.given[name][i][j] = name === "mask" ? Number(value > 0) : value;
      }
      const cell = this.cell(query.get("at")?.split("."));
      this.put(state);
      if (cell) this.press(cell);
      for (let fold = this.root; (fold = fold.parentNode.closest("details"));) fold.open = true;
      this.root.scrollIntoView();
    }

    // To take along.

    plain() {
      const { query, key, value, scores, weights, output, adds, sum: all } = this.result;
      return { ...this.state.given, query, key, value, scores, weights, output, adds, sum: all, options: this.state.options, slip: this.state.slip || null };
    }

    numpy() {
      const { given, options, slip } = this.state;
      const array = (m, kind) => ["np.array([", ...m.map((row) => `    [${row.join(", ")}],`), `], ${kind})`].join("\n");
      const lines = ["import numpy as np", slip ? "from selfattn_ref.worked_examples.slips import SLIPS" : "from selfattn_ref import scaled_dot_product_attention", ""];
      for (const [name, m] of Object.entries(given)) lines.push(`${name} = ${array(m, name === "mask" ? "dtype=bool" : "dtype=float")}`);
      const of = (role) => (given[role] ? role : given[`w_${role}`] ? `x @ w_${role}` : "x");
      const named = ["mask", "bias"].filter((name) => given[name]).map((name) => `${name}=${name}`);
      const also = Object.entries(options).map(([name, x]) => `${name}=${x === true ? "True" : x}`);
      const call = slip ? `SLIPS["${slip}"]` : "scaled_dot_product_attention";
      const after = given.w_output ? " @ w_output" : "";
      return [...lines, `print(${call}(${[of("query"), of("key"), of("value"), ...named, ...also].join(", ")})${after})`, ""].join("\n");
    }

    svg() {
      const box = this.root.querySelector(".bands").getBoundingClientRect(), parts = [];
      const rgb = (color) => `rgb(${color.match(/[\d.]+/g).slice(0, 3).map((part) => Math.round(part * (/^color/.test(color) ? 255 : 1)))})`;
      for (const one of this.root.querySelectorAll(".bands :is(td[data-at], th, caption)")) {
        const at = one.getBoundingClientRect(), look = getComputedStyle(one), ink = rgb(look.color);
        if (!at.width) continue;
        const [x, y, wide, high, across, down] = [at.x - box.x, at.y - box.y, at.width, at.height, at.x - box.x + at.width / 2, at.y - box.y + at.height / 2].map(Math.round);
        const bad = one.matches(".bad") ? ` stroke="${ink}"` : "";
        if (one.dataset.at) parts.push(`<rect x="${x}" y="${y}" width="${wide}" height="${high}" fill="${rgb(look.backgroundColor)}"${bad}/>`);
        if (one.matches(".negative")) parts.push(`<path d="M${x} ${y + high - 2}h${wide}" stroke="${ink}" stroke-width="4" stroke-dasharray="2 3"/>`);
        const turn = one.closest(".tall") ? ` transform="rotate(-90 ${across} ${down})"` : "";
        parts.push(`<text x="${across}" y="${down}" dy="0.35em" text-anchor="middle" fill="${ink}"${turn}>${new Option(one.innerText.split("\n")[0]).innerHTML}</text>`);
      }
      return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${box.width} ${box.height}" font-family="sans-serif" font-size="${parseFloat(getComputedStyle(this.root).fontSize)}"><title>${this.root.dataset.sheet} ${this.state.slip}</title>${parts.join("")}</svg>\n`;
    }
  }

  for (const root of document.querySelectorAll("[data-sheet]")) sheets.push(new Sheet(root));
  for (const sheet of sheets) sheet.begin();
  return { sheets, compute, SLIPS };
})();
