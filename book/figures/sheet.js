// The Sheet: press a number and see what made it, change one and see what follows, break the rule.
// Python has drawn the start (book/figures/sheet.py); everything after it is computed here.
const bookSheet = (() => {
  "use strict";
  const { make } = bookPage;
  const SIGNS = { query: "Q", key: "K", value: "V", x: "X", w_query: "W_Q", w_key: "W_K", w_value: "W_V" };
  const ROLES = { q: "query", k: "key", v: "value" };

  const turned = (m) => m[0].map((_, j) => m.map((row) => row[j]));
  const sum = (list) => list.reduce((all, one) => all + one, 0);
  const dot = (a, b) => a.reduce((all, x, k) => all + x * b[k], 0);
  const product = (a, b) => { const columns = turned(b); return a.map((row) => columns.map((column) => dot(row, column))); };
  const each = (m, f) => m.map((row, i) => row.map((x, j) => f(x, i, j)));
  const shares = (row) => { const whole = sum(row); return row.map((x) => x / whole); };
  const powers = (row, most = Math.max(...row)) => row.map((x) => Math.exp(x - most));
  const softmax = (row) => shares(powers(row));
  const unit = (size) => [...Array(size)].map((_, i) => [...Array(size)].map((_, j) => Number(i === j)));
  const bfloat = (x) => { // rounded to the upper half of a float, ties to even
    const bits = new Uint32Array(new Float32Array([x]).buffer);
    bits[0] = isFinite(x) ? (bits[0] + 0x7FFF + (bits[0] >>> 16 & 1)) & 0xFFFF0000 : bits[0];
    return new Float32Array(bits.buffer)[0];
  };

  // Two keys at a time, as a kernel does; what was summed is rescaled when the maximum grows, or is not.
  function inBlocks(row, rescaleSum, rescaleMix) {
    let most = -Infinity, whole = 0, mix = row.map(() => 0);
    for (let start = 0; start < row.length; start += 2) {
      const block = row.slice(start, start + 2), larger = Math.max(most, ...block), shift = isFinite(larger) ? larger : 0;
      const factor = Math.exp(most - shift), now = powers(block, shift);
      whole = whole * (rescaleSum ? factor : 1) + sum(now);
      mix = mix.map((x, j) => x * (rescaleMix ? factor : 1) + (now[j - start] || 0));
      most = larger;
    }
    return mix.map((x) => x / whole);
  }

  // The two halves of the keys apart, merged by the logarithms of their sums.
  function inHalves(row, distort) {
    const half = Math.ceil(row.length / 2), halves = [row.slice(0, half), row.slice(half)].filter((part) => part.length).map((part) => {
      const most = Math.max(...part), shift = isFinite(most) ? most : 0, now = powers(part, shift), whole = sum(now);
      return [now.map((x) => x / (whole || 1)), whole ? distort(shift + Math.log(whole)) : -Infinity];
    });
    const parts = softmax(halves.map(([, total]) => total));
    return halves.flatMap(([now], k) => now.map((x) => x * parts[k]));
  }

  const half = (x) => { // rounded to float16, ties to even
    const step = 2 ** (Math.max(-14, Math.floor(Math.log2(x))) - 10), whole = Math.floor(x / step), rest = x / step - whole;
    return x ? (whole + Number(rest > 0.5 || (rest === 0.5 && whole % 2))) * step : x;
  };
  const divided = (row, whole) => row.map((x) => x / whole);
  const rowwise = (f) => (scores) => scores.map(f);
  const zeroed = (row) => row.map((x) => (isFinite(x) ? x : 0));
  // What each slip does otherwise. roles: what is query, key and value; scale: of the own factor, the
  // root, the number of keys, the scale that is given, the width of the values and the cap; mask, causal, bias: of
  // the entry or the place, and of the state; hidden: what becomes of the
  // score of a hidden key; weigh: scores to weights; mix: what is done with the weights or the output.
  const SLIPS = {
    "keys-as-values": { roles: "qkk" },
    "keys-and-values-swapped": { roles: "qvk" },
    "queries-and-keys-swapped": { roles: "kqv" },
    "weights-transposed": { mixes: turned },
    "not-scaled": { scale: (own, root, keys, given) => given ?? 1 },
    "root-left-out": { scale: (own, root, keys, given) => given ?? root * root },
    "root-multiplied": { scale: (own, root, keys, given) => given ?? 1 / root },
    "root-of-length": { scale: (own, root, keys, given) => given ?? 1 / Math.sqrt(keys) },
    "root-of-value-width": { scale: (own, root, keys, given, wide) => given ?? 1 / Math.sqrt(wide) },
    "default-scale-is-zero": { scale: (own, root, keys, given) => given ?? 0 },
    "scale-ignored-under-cap": { scale: (own, root, keys, given, wide, cap) => (cap ? root : own) },
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
        return scores.map((row) => powers(row, most).map((x) => x / whole));
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
    const root = 1 / Math.sqrt(query[0].length), scale = (rule.scale || ((own) => own))(options.scale ?? root, root, key.length, options.scale ?? null, value[0].length, options.soft_cap);
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
      ...arrays, output, roles, scale, products, full, seen, rule, added: bias,
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

  class Sheet {
    constructor(root) {
      Object.assign(this, JSON.parse(root.querySelector("script").textContent));
      this.root = root;
      this.id = root.closest("[id]").id;
      this.start = { given: this.given, options: this.options, slip: "" };
      this.state = structuredClone(this.start);
      this.past = [];
      this.tables = [...root.querySelectorAll("table")];
      this.heads = new Map(this.tables.map((table) => [table, table.caption.innerHTML]));
      this.right = this.result = compute(this.state);
      this.controls();
      if (this.asks !== null) this.ask();
      for (const cell of root.querySelectorAll("td[data-at]")) cell.tabIndex = -1;
      root.addEventListener("click", (event) => {
        const cell = event.target.closest("td[data-at]");
        if (cell) this.press(cell);
      });
      root.addEventListener("keydown", (event) => this.key(event));
      this.at = null;
      this.root.querySelector("td[data-at]").tabIndex = 0;
      this.draw();
      addEventListener("hashchange", () => this.recall());
      this.recall();
    }

    controls() {
      this.said = make("p", { class: "said", role: "status" }, make("span", { class: "hint" }, `Press a number to see what made it. ${Object.keys(this.given).filter((name) => name !== "mask").map((name) => SIGNS[name] || name).join(", ")} can be changed.`));
      this.steps = make("p", { class: "steps buttons" });
      this.slipButtons = Object.keys(this.slips).filter((slip) => SLIPS[slip]).map((slip) => button(slip, () => this.change({ slip: this.state.slip === slip ? "" : slip }), { "data-slip": slip, title: this.slips[slip][0] }));
      this.own = button("the right rule", () => this.change({ slip: "" }), { "data-slip": "" });
      this.wrong = make("p", { class: "wrong", role: "status" });
      this.broken = this.slipButtons.length && make("details", { class: "break" }, make("summary", {}, `Break the rule: ${this.slipButtons.length} slips change something here`), make("div", { class: "buttons" }, this.own, this.slipButtons));
      this.full = this.root.requestFullscreen ? button("Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen())) : "";
      this.root.onfullscreenchange = () => { this.full.textContent = document.fullscreenElement ? "Leave full screen" : "Full screen"; };
      this.undo = button("Undo", () => this.back());
      this.reset = button("Reset", () => { this.past = []; this.put(structuredClone(this.start)); });
      const copies = { NumPy: () => this.numpy(), JSON: () => JSON.stringify(this.plain(), null, 1), SVG: () => this.svg() };
      const tools = make("p", { class: "tools buttons" }, this.undo, this.reset, Object.entries(copies).map(([name, text]) => {
        const one = button(`Copy ${name}`, async () => {
          await navigator.clipboard.writeText(text());
          one.textContent = "Copied";
          setTimeout(() => { one.textContent = `Copy ${name}`; }, 1500);
        });
        return one;
      }), this.full);
      this.spoken = make("p", { class: "now", role: "status" });
      this.foot = make("div", { class: "told" }, this.wrong, this.said, this.spoken, this.steps);
      this.root.append(...[this.foot, this.broken, tools].filter(Boolean));
    }

    // Before the weights of a word are shown, the reader says whom it will hear.
    ask() {
      const word = this.rows[this.asks], answer = (j) => {
        const weights = this.result.weights[this.asks], most = weights.indexOf(Math.max(...weights));
        this.root.classList.replace("asks", "asked");
        this.press(this.cell("weights", this.asks, j), true);
        this.spoken.textContent = `You pressed ${this.columns[j]}, ${most === j ? "and" : "but"} ${word} listens most to ${most === j ? "it" : this.columns[most]}, with ${shown(weights[most])}.`;
      };
      this.root.classList.add("asks");
      this.said.textContent = `Whom will ${word} listen to most? Press that word to see the weights.`;
      this.steps.append(...this.columns.map((name, j) => button(name, () => answer(j), { "data-word": j })));
    }

    cell(array, i, j) { return this.root.querySelector(`td[data-array="${array}"][data-at="${i},${j}"]`); }

    // What an entry is called, as one says it.
    called(array, i, j) {
      const { rows, columns } = this, features = this.features[j] ?? j, row = { query: rows, x: rows, output: rows, scores: rows, weights: rows, bias: rows, key: columns, value: columns };
      if (array === "weights") return `how closely ${rows[i]} listens to ${columns[j]}`;
      if (array === "scores") return `score of ${rows[i]} for ${columns[j]}`;
      if (array === "bias") return `bias of ${rows[i]} for ${columns[j]}`;
      if (array.startsWith("w_")) return `${SIGNS[array]}, row ${this.features[i] ?? i}, column ${j}`;
      if (array === "x") return `${row.x[i]}: ${features}`;
      const column = (["output", "value"].includes(array) && this.outputs[j]) || `column ${j}`;
      return `${array} of ${row[array][i]}, ${column}`;
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
      if (["query", "key", "value"].includes(array)) {
        const w = `w_${array}`;
        return { from: [...of("x", line(r.x, i)), ...of(w, down(r[w], j))], says: is(terms(r.x[i], r[w].map((row) => row[j]))) };
      }
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
      if (array.startsWith("w_")) return [[array.slice(2), 0, j]];
      if (array === query || own) return [["scores", i, 0]];
      if (array === key) return [["scores", 0, i]];
      if (array === mixed) return [["output", 0, j]];
      if (array === "bias") return [["scores", i, j]];
      if (array === "scores") return [["weights", i, j]];
      return array === "weights" ? [["output", i, 0]] : [];
    }

    press(cell, focus) {
      if (cell.closest(".asks .covered")) return;
      const [i, j] = cell.dataset.at.split(",").map(Number), { array } = cell.dataset;
      this.at = [array, i, j];
      this.draw();
      this.root.querySelector("td[tabindex='0']")?.setAttribute("tabindex", -1);
      cell.tabIndex = 0;
      if (focus) cell.focus({ preventScroll: true });
      this.tell();
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
      const row = cell.parentNode.rowIndex + way[0], column = cell.cellIndex + way[1], table = cell.closest("table");
      let to = table.rows[row]?.cells[column];
      if (!to?.dataset.at && way[1]) { // over the edge of a matrix one comes to the next
        const low = (one) => one.parentNode.lastElementChild === one, level = this.tables.filter((one) => low(one) === low(table));
        const other = level[level.indexOf(table) + way[1]], rows = other && other.tBodies[0].rows;
        const cells = rows && [...rows[Math.min(cell.parentNode.sectionRowIndex, rows.length - 1)].cells].filter((one) => one.dataset.at);
        to = cells && (way[1] > 0 ? cells[0] : cells.at(-1));
      }
      if (to?.dataset.at) { this.press(to, true); to.scrollIntoView({ block: "nearest", inline: "nearest" }); }
    }

    change(patch) {
      this.past.push(structuredClone(this.state));
      this.put({ ...this.state, ...patch });
    }

    back() { if (this.past.length) this.put(this.past.pop()); }

    put(state) {
      const before = this.result;
      if (this.root.classList.replace("asks", "asked")) this.said.textContent = "";
      this.state = structuredClone(state);
      this.result = compute(this.state);
      this.right = this.state.slip ? compute({ ...this.state, slip: "" }) : this.result;
      this.draw(before);
      this.tell();
      const changed = this.rows.filter((_, i) => String(before.weights[i]) !== String(this.result.weights[i]) || String(before.output[i]) !== String(this.result.output[i]));
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
      for (const table of this.tables) {
        const shownRole = { key: r.roles[1], value: r.roles[2] }[table.dataset.matrix];
        const top = table.parentNode.lastElementChild !== table && shownRole, array = top ? this.source(shownRole) : table.dataset.matrix;
        const most = array === "weights" ? 1 : Math.max(0, ...r[array].flat().filter(Number.isFinite).map(Math.abs));
        table.caption.innerHTML = top && shownRole !== table.dataset.matrix ? SIGNS[array] + (table.caption.textContent.endsWith("ᵀ") ? "ᵀ" : "") : this.heads.get(table);
        for (const cell of table.querySelectorAll("td[data-at]")) {
          const [i, j] = cell.dataset.at.split(",").map(Number), value = r[array][i][j], old = before?.[array]?.[i]?.[j];
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
          is("here", this.at && String(this.at) === `${array},${i},${j}`);
          is("from", from.includes(`${array},${i},${j}`));
          if (!cell.className) cell.removeAttribute("class");
          cell.setAttribute("aria-label", `${this.called(array, i, j)}: ${value === null ? "hidden" : shown(value)}`);
        }
      }
      const row = this.at && !this.at[0].startsWith("w_") ? this.rows.indexOf(this.nameOf(this.at)) : -1;
      for (const table of this.tables) {
        if (table.parentNode.lastElementChild !== table) continue;
        [...table.tBodies[0].rows].forEach((line, i) => line.classList.toggle("me", i === row));
      }
      for (const one of [this.own, ...this.slipButtons]) one.setAttribute("aria-pressed", one.dataset.slip === slip);
      this.undo.disabled = this.past.length === 0;
      this.reset.disabled = JSON.stringify(this.state) === JSON.stringify(this.start);
      const set = Object.entries(this.start.given).flatMap(([name, m]) => m.flatMap((row, i) => row.filter((x, j) => x !== this.state.given[name][i][j]))).length;
      this.reset.textContent = set ? `Reset (${set} changed)` : "Reset";
      if (slip) this.broken.open = true;
    }

    nameOf([array, i]) { return (["key", "value"].includes(array) ? this.columns : this.rows)[i]; }

    // Say what was pressed, how it is made, what one can do with it, and what a slip did.
    tell() {
      const { slip } = this.state, held = [...this.steps.querySelectorAll("button, input")].indexOf(document.activeElement);
      if (slip) {
        const bad = this.root.querySelectorAll(".bad").length, [effect, caught] = this.slips[slip];
        this.wrong.innerHTML = `<b>${slip}</b>: ${effect}. ${bad} numbers differ. ${this.holds()} ${caught === 1 ? "One worked example catches" : caught + " worked examples catch"} it.`;
      } else this.wrong.textContent = "";
      const asks = this.root.matches(".asks");
      if (!asks) this.steps.replaceChildren();
      if (!this.at) return this.remember();
      const [array, i, j] = this.at, value = this.result[array][i][j];
      const name = this.called(array, i, j);
      const own = this.right[array][i][j] ?? 0, differs = slip && !(Math.abs((value ?? 0) - own) <= 1e-9);
      const digits = exactly(own) === exactly(value ?? 0) ? String(own).replace("-", "−") : exactly(own);
      this.said.innerHTML = `<b>${name[0].toUpperCase()}${name.slice(1)}</b>: ${this.made(array, i, j).says}${differs ? " (right: " + digits + ")" : ""}`;
      if (asks) return;
      const step = (...parts) => this.steps.append(button(...parts));
      if (this.isGiven(array) || (array === "x" && this.given.x)) {
        for (const by of [-0.5, 0.5]) step(by < 0 ? "−" : "+", () => this.set(array, i, j, Number((value + by).toFixed(4))), { "aria-label": by < 0 ? "less" : "more" });
        const field = make("input", { type: "number", step: "any", value, "aria-label": `${array}, new value` });
        field.onchange = () => { if (field.value !== "" && isFinite(field.valueAsNumber)) this.set(array, i, j, field.valueAsNumber); };
        this.steps.append(field);
      }
      if (array === "scores") {
        const open = !this.state.given.mask || this.state.given.mask[i][j];
        if (!open || value !== null) step(`${open ? "Hide" : "Show"} ${this.columns[j]} ${open ? "from" : "to"} ${this.rows[i]}`, () => this.set("mask", i, j, open ? 0 : 1));
        const field = make("input", { type: "number", step: "any", value: exactly(this.result.scale).replace("−", "-"), "aria-label": "scale" });
        field.onchange = () => { if (field.value !== "" && isFinite(field.valueAsNumber)) this.change({ options: { ...this.state.options, scale: field.valueAsNumber } }); };
        this.steps.append(make("label", {}, "scale ", field));
      }
      const go = (one) => this.press(this.cell(...one), true);
      for (const one of this.largest(array, i, j)) step(`← ${this.sign(one)}`, () => go(one));
      for (const one of this.next(array, i, j)) step(`${this.sign(one)} →`, () => go(one));
      this.steps.querySelectorAll("button, input")[held]?.focus();
      this.remember();
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

    // The address names the state: what differs from the start.
    remember() {
      const query = new URLSearchParams(), { given, options, slip } = this.state;
      if (this.at) query.set("at", this.at.join("."));
      if (slip) query.set("slip", slip);
      if (options.scale !== this.start.options.scale) query.set("scale", options.scale);
      for (const [name, array] of Object.entries(given)) {
        each(array, (x, i, j) => { if (x !== (this.start.given[name]?.[i][j] ?? 1)) query.set(`${name}.${i}.${j}`, x); });
      }
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
      const number = (word) => (word !== null && word.trim() !== "" && isFinite(word) ? Number(word) : null);
      if (number(query.get("scale")) !== null) state.options = { ...state.options, scale: number(query.get("scale")) };
      for (const [key, word] of query) {
        const [name, i, j] = key.split("."), value = number(word), rows = this.right[name === "mask" ? "scores" : name];
        if (value === null || !(Object.hasOwn(this.given, name) || name === "mask") || rows?.[i]?.[j] === undefined) continue;
        if (name === "mask") state.given.mask ||= each(this.right.scores, () => 1);
        state.given[name][i][j] = name === "mask" ? Number(value > 0) : value;
      }
      const at = /^(\w+)\.(\d+)\.(\d+)$/.exec(query.get("at") || ""), cell = at && this.cell(...at.slice(1));
      this.put(state);
      if (cell) this.press(cell);
      const fold = this.root.closest("details");
      if (fold) fold.open = true;
      this.root.scrollIntoView();
    }

    // To take along.

    plain() {
      const { query, key, value, scores, weights, output } = this.result;
      return { ...this.state.given, query, key, value, scores, weights, output, options: this.state.options, slip: this.state.slip || null };
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
      return [...lines, `print(${call}(${[of("query"), of("key"), of("value"), ...named, ...also].join(", ")}))`, ""].join("\n");
    }

    svg() {
      const box = this.root.querySelector(".bands").getBoundingClientRect(), parts = [];
      const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/\n/g, " ");
      const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const hex = (color) => { // whatever the color is written in
        pen.fillStyle = color;
        pen.fillRect(0, 0, 1, 1);
        return `#${[...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
      };
      const edge = ` stroke="${hex(getComputedStyle(this.root).color)}"`;
      for (const one of this.root.querySelectorAll(".bands :is(td[data-at], th, caption)")) {
        const at = one.getBoundingClientRect(), look = getComputedStyle(one), x = (at.left - box.left).toFixed(1), y = (at.top - box.top).toFixed(1);
        if (!at.width) continue;
        if (one.dataset.at) parts.push(`<rect x="${x}" y="${y}" width="${at.width.toFixed(1)}" height="${at.height.toFixed(1)}" fill="${hex(look.getPropertyValue("background-color"))}"${one.matches(".bad") ? edge : ""}/>`);
        if (one.matches(".negative")) parts.push(`<path d="M${x} ${(at.bottom - box.top - 2).toFixed(1)}h${at.width.toFixed(1)}" stroke="${hex(look.color)}" stroke-width="4" stroke-dasharray="2 3"/>`);
        const middle = [at.left - box.left + at.width / 2, at.top - box.top + at.height / 2], [across, downward] = middle.map((z) => z.toFixed(1));
        const turn = one.closest(".tall") ? ` transform="rotate(-90 ${across} ${downward})"` : "";
        if (one.textContent) parts.push(`<text x="${across}" y="${downward}" dy="0.35em" text-anchor="middle" font-size="${parseFloat(look.fontSize)}" font-weight="${look.fontWeight}" fill="${hex(look.color)}"${turn}>${escaped(one.innerText)}</text>`);
      }
      return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(box.width)} ${Math.ceil(box.height)}" font-family="sans-serif"><title>${escaped(this.root.dataset.sheet)}${this.state.slip ? ", " + this.state.slip : ""}${this.reset.disabled ? "" : ", changed"}</title>${parts.join("")}</svg>\n`;
    }
  }

  for (const root of document.querySelectorAll("[data-sheet]")) sheets.push(new Sheet(root));
  return { sheets, compute, SLIPS };
})();
