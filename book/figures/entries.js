// What a sheet holds, and how it says what made each of its entries. Nothing here is drawn.
const bookEntries = (() => {
  "use strict";
  const { compute, each, sum, dot, turned } = bookAttention;
  const SIGNS = { query: "Q", key: "K", value: "V", x: "X", w_query: "W_Q", w_key: "W_K", w_value: "W_V", w_output: "W_O" };
  const NAMES = { weights: "how closely # listens to ", scores: "score of # for ", bias: "bias of # for ", adds: "what this head adds to #", sum: "sum of the heads for #" };

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
  const terms = (a, b) => a.map((x, k) => [x, b[k]]).filter(([x, y]) => a.length < 5 || (x !== 0 && y !== 0)).map(([x, y]) => `${inner(x)} × ${inner(y)}`).join(" + ") || "0";
  const few = (all) => (all.length > 6 ? [...all.slice(0, 2), "…", all.at(-1)] : all).join(" + ");
  const grouped = (text) => (/ [+·×] /.test(text) ? `(${text})` : text);
  const small = (text) => (text ? ` <small>(${text})</small>` : "");
  const ofKeys = (array) => /^(key|value)$/.test(array);
  const times = (x, y) => (x === 1 ? y : `${inner(x)} × ${y}`);

  return Object.assign(class {
    // Take what Python says of a sheet.
    constructor(facts) {
      Object.assign(this, facts);
      this.start = { given: this.given, options: this.options, slip: "" };
      this.state = structuredClone(this.start);
      this.past = [];
      this.right = this.result = compute(this.state);
      this.at = null;
      this.heads = [this];
    }

    // What heads add is added up.
    total() {
      for (const kind of ["result", "right"]) {
        const all = this.heads.map((one) => one[kind].adds);
        this[kind].sum = all[0] && each(all[0], (_, i, j) => sum(all.map((one) => one[i][j])));
      }
    }

    // Take a state, for all heads: they have one input, one rule, and in groups the same keys.
    take(state) {
      this.state = structuredClone(state);
      for (const one of this.heads) {
        const same = Object.entries(state.given).filter(([name]) => /^(x|mask)$/.test(name) || (one.shared === this.shared && /^w_[kv]/.test(name)));
        if (one !== this) one.state = structuredClone({ ...state, given: { ...one.state.given, ...Object.fromEntries(same) } });
        one.result = compute(one.state);
        one.right = state.slip ? compute({ ...one.state, slip: "" }) : one.result;
      }
      for (const one of this.heads) one.total();
    }

    // Put a number into what is given, which may have no mask yet.
    enter(given, array, i, j, value) {
      if (array === "mask") given.mask ||= each(this.result.scores, () => 1);
      given[array][i][j] = value;
    }

    // What differs from the start among the numbers that are given.
    changes() {
      return Object.entries(this.state.given).flatMap(([name, rows]) => rows.flatMap((row, i) => row.flatMap((x, j) => (
        x === (this.start.given[name]?.[i][j] ?? 1) ? [] : [[`${name}.${i}.${j}`, x]]))));
    }

    nameOf([array, i]) { return (ofKeys(array) ? this.columns : this.rows)[i]; }

    // In which row of another array the word of an entry stands, or -1. Words may recur: places tell.
    row([array, i], other) {
      return array.startsWith("w_") || (ofKeys(array) !== ofKeys(other) && String(this.rows) !== String(this.columns)) ? -1 : i;
    }

    sign([array]) { return SIGNS[array] || array; }

    isGiven(array) { return array in this.given; }

    // Where query, key and value are X itself, its entries are the source.
    source(role) { return this.given[role] || this.given[`w_${role}`] ? role : "x"; }

    // What an entry is called, as one says it.
    called(array, i, j) {
      const word = this.nameOf([array, i]), name = (NAMES[array] || `${array} of #`).replace("#", word);
      if (name.endsWith(" ")) return name + this.columns[j];
      if (array.startsWith("w_")) return `${SIGNS[array]}, row ${array !== "w_output" && this.features[i] || i}, column ${j}`;
      if (array === "x") return `${word}, ${this.features[j]}`;
      const named = this.given.w_output ? ["adds", "sum"] : ["output", "value"];
      const heads = this.given.x && !this.given.w_query ? this.features : this.outputs; // as in sheet.py
      return `${name}, ${named.includes(array) && heads[j] || "column " + j}`;
    }

    // Which entries made an entry, and the line that says how.
    made(array, i, j) {
      const r = this.result, value = r[array][i][j], [query, key, mixed] = r.roles.map((role) => this.source(role));
      const row = (name, k = i) => r[name][k].map((_, n) => [name, k, n]), column = (name, k = j) => r[name].map((_, n) => [name, n, k]);
      const is = (parts) => `${parts} ${exactly(value) === String(value).replace("-", "−") ? "=" : "≈"} <b>${exactly(value)}</b>`;
      if (this.isGiven(array)) {
        const was = this.start.given[array][i][j];
        return { from: [], says: exactly(value) + (was === value ? ", given" : `, set by you; it was ${exactly(was)}`) };
      }
      if (array === "sum") return { from: [["adds", i, j]], says: is(this.heads.map((one) => inner(one.result.adds[i][j])).join(" + ")) };
      if (value === null) return { from: [], says: `hidden: ${this.why(i, j)}` };
      if (array === "scores") return { from: [...row(query), ...row(key, j), ...(this.given.bias ? [["bias", i, j]] : [])], says: this.score(i, j, value) };
      if (array === "weights") return { from: (r.rule.across ? column : row)("scores").filter(([name, k, n]) => r[name][k][n] !== null), says: this.weight(i, j, value) };
      const [a, b] = array === "output" ? ["weights", mixed] : array === "adds" ? ["output", "w_output"] : ["x", `w_${array}`];
      const { mixes, output } = array === "output" ? r.rule : {}, parts = (mixes ? mixes(r[a]) : r[a])[i].map((x) => x ?? 0);
      const all = turned(r[b]).map((values) => dot(parts, values)), sums = terms(parts, column(b).map(([, n]) => r[b][n][j]));
      return { from: [...(mixes ? column(a, i) : row(a)), ...column(b)], says: is(output ? `(${sums}) ÷ (${all.map(inner).join(" + ")})` : sums) };
    }

    // Why a key is hidden from a query, or is not.
    why(i, j) {
      const { allowed, first, last } = this.result, has = Number(this.state.given.mask?.[i][j]), read = Number(allowed?.[i][j]);
      const reach = first(i) > 0 ? `from ${first(i)} on` : `up to ${exactly(last(i, j))}`;
      const causal = this.state.options.causal && `${this.rows[i]} may see keys ${reach}, ${this.columns[j]} is key ${j}`;
      return [allowed && `the mask has ${has} here`, has !== read && allowed && `${read} is read`, causal].filter(Boolean).join(", ");
    }

    scaleText() {
      const { scale, roles } = this.result, width = this.result[roles[0]][0].length, root = Math.sqrt(width);
      if (scale === 1) return "";
      return Math.abs(scale - 1 / root) < 1e-12 ? ` ÷ ${Number.isInteger(root) ? root : "√" + width}` : ` × ${exactly(scale)}`;
    }

    score(i, j, value) {
      const r = this.result, { rule, factor } = r, [query, key] = r.roles, cap = this.state.options.soft_cap;
      const by = this.scaleText(), sums = terms(r[query][i], r[key][j]), replaced = !r.seen[i][j] && value !== r.full[i][j];
      const scaled = replaced ? "−∞" : (by ? grouped(sums) : sums) + by;
      let text = cap ? (rule.capped || ((x) => `${cap} · tanh((${x}) ÷ ${cap})`))(scaled, cap, by, sums) : scaled;
      if (this.given.bias) text += ` + ${times(factor, inner(this.state.given.bias[i][j]))}`;
      if (replaced && !cap) text = exactly(value);
      if (rule.shown && r.seen[i][j]) text += ` + ${rule.shown}`;
      const differs = r.seen[i][j] !== this.right.seen[i][j], late = !r.seen[i][j] && "hidden, yet it takes part";
      return `${text} ${/^[^√÷]*$/.test(text) ? "=" : "≈"} <b>${exactly(value)}</b>${small(late || (differs && this.why(i, j)))}`;
    }

    // The exponent of a score: as a quotient where that is the exact way to write it.
    exponent(x) {
      const r = this.result, raw = x / r.scale, near = Number(raw.toFixed(2));
      if (!this.scaleText().includes("√") || !(Math.abs(raw - near) < 1e-12)) return exactly(x);
      return near ? `${exactly(near)}/√${r[r.roles[0]][0].length}` : "0";
    }

    weight(i, j, value) {
      const { scores, shares } = this.result, { up, down: all, plus, times: factor, linear, base = "e", less, shifts, above, below, round, note, is } = shares[i][j];
      const row = scores[i].filter((x) => x !== null);
      if (is !== undefined) return `${exactly(up)} is ${is ? "" : "not "}the first maximum of ${row.map(exactly).join(", ")}: <b>${is}</b>`;
      if (!row.length) return `no key is left: 0 ÷ 0 = <b>${exactly(value)}</b>`;
      const shift = shifts || Math.abs(less) > 20 ? less : 0, size = (base === "e" ? Math.E : base) ** (less - shift);
      const power = (x) => (linear ? inner(x) : `${base}<sup>${shift ? exactly(x - shift) : this.exponent(x)}</sup>`);
      const parts = (all || []).filter((x) => x > -Infinity).map(power).concat(plus ? plus.toFixed(6) : []);
      let text = times(factor, power(up));
      if (all) text += ` ÷ ${grouped(few(parts)) || 0} ≈ ${times(factor, exactly(above * size))} ÷ ${exactly(below * size)}`;
      if (round) text += ` ≈ ${exactly(factor * above / below)}`;
      return `${text} ≈ <b>${exactly(value)}</b>` + small(shift && exactly(shift) + " is taken from every score") + small(note);
    }

    // What an entry is used for: an entry of each array that it helps to make.
    next(entry) {
      const found = {}, at = String(entry.slice(1));
      for (const place of this.places) {
        const [array, ...own] = place;
        if ((!found[array] || String(own) === at) && this.made(...place).from.some((one) => String(one) === String(entry))) found[array] = place;
      }
      return Object.values(found);
    }

    // Of each array that made an entry, the entry that did most.
    largest(entry) {
      const best = {}, size = ([name, i, j]) => Math.abs(this.result[name][i][j] ?? 0);
      for (const one of this.made(...entry).from) if (!best[one[0]] || size(one) > size(best[one[0]])) best[one[0]] = one;
      return entry[0] === "weights" ? [["scores", ...entry.slice(1)]] : Object.values(best);
    }

    // What still looks right under a slip.
    holds() {
      const { weights } = this.result, rows = weights.map((row) => sum(row.map((x) => x ?? 0))), close = (a, b) => Math.abs(a - b) < 1e-9;
      if (weights.flat().every((x, k) => close(x ?? 0, this.right.weights.flat()[k] ?? 0))) return "Every weight is right.";
      return rows.every((x) => close(x, 1)) ? "Every row of weights still adds up to 1." : "";
    }

    // To take along.

    plain() {
      const { given, ...more } = this.state, drawn = this.places.map(([name]) => [name, this.result[name]]);
      return { ...given, ...Object.fromEntries(drawn), ...more };
    }

    numpy() {
      const { given, options, slip } = this.state;
      const lines = ["import numpy as np", slip ? "from selfattn_ref.worked_examples.slips import SLIPS" : "from selfattn_ref import scaled_dot_product_attention", ""];
      for (const [name, m] of Object.entries(given)) lines.push(`${name} = np.array(${JSON.stringify(m).replaceAll("],[", "],\n  [")}, dtype=${name === "mask" ? "bool" : "float"})`);
      const of = (role) => (given[role] ? role : given[`w_${role}`] ? `x @ w_${role}` : "x");
      const named = ["mask", "bias"].filter((name) => given[name]).map((name) => `${name}=${name}`);
      const also = Object.entries(options).map(([name, x]) => `${name}=${x === true ? "True" : x}`);
      const call = slip ? `SLIPS["${slip}"]` : "scaled_dot_product_attention", all = [...["query", "key", "value"].map(of), ...named, ...also];
      return [...lines, `print(${call}(${all.join(", ")})${given.w_output ? " @ w_output" : ""})`, ""].join("\n");
    }
  }, { shown, exactly });
})();
