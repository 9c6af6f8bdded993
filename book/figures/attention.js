// Attention of one head, right and under every slip: the arithmetic of the Sheet.
const bookAttention = (() => {
  "use strict";
  const ROLES = { q: "query", k: "key", v: "value" };

  const turned = (m) => m[0].map((_, j) => m.map((row) => row[j]));
  const sum = (list) => list.reduce((all, one) => all + one, 0);
  const dot = (a, b) => a.reduce((all, x, k) => all + x * b[k], 0);
  const product = (a, b) => { const columns = turned(b); return a.map((row) => columns.map((column) => dot(row, column))); };
  const each = (m, f) => m.map((row, i) => row.map((x, j) => f(x, i, j)));
  // Rounded to so many bits: what is far larger takes the others away.
  const rounded = (x, bits) => { const far = x * (2 ** (53 - bits) + 1); return isFinite(x) ? far - (far - x) : x; };
  const half = (x) => rounded(x, 11), bfloat = (x) => rounded(x, 8);

  // Scores as kernels leave them that take two keys at a time, and subtract the largest so far.
  const stale = (row, less) => row.map((x, j) => (isFinite(x) ? x - Math.max(...row.slice(0, j - j % 2 + 2)) + less : x));

  // The two halves of the keys apart, and then together by what they weigh.
  function inHalves(row, j, weigh) {
    const cut = Math.ceil(row.length / 2), halves = [row.slice(0, cut), row.slice(cut)], own = Number(j >= cut);
    const sizes = halves.map((part) => weigh(part, Math.max(...row))), down = halves[own];
    return { down, less: down.some(isFinite) ? undefined : 0, times: sizes[own] / sum(sizes), total: (all) => sum(all) || 1, note: "within its half of the keys" };
  }

  // What each slip does otherwise.
  // roles: what is query, key and value. usual: the scale if none is given, of the root, the number of
  // keys and the width of the values; scale: of the own one, the root and the cap. cap: the capped score;
  // capped: how it is written. bias: the factor of the bias. mask: of the mask and the state. last, first:
  // the keys that a query sees if attention is causal. hidden: what becomes of the score of a hidden key;
  // shown: of the others. share: how a weight is made of a row of scores, see below. mixes, output: what is
  // done with the weights and with a row of the output.
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
    "cap-ignored": { cap: (x) => x, capped: (x) => x },
    "cap-before-scale": { cap: (x, cap, scale) => scale * cap * Math.tanh(x / scale / cap), capped: (x, cap, by, raw) => `${cap} · tanh((${raw}) ÷ ${cap})${by}` },
    "cap-clipped": { cap: (x, cap) => Math.max(-cap, Math.min(cap, x)), capped: (x, cap) => `max(−${cap}, min(${cap}, ${x}))` },
    "cap-not-multiplied-back": { cap: (x, cap) => Math.tanh(x / cap), capped: (x, cap) => `tanh((${x}) ÷ ${cap})` },
    "cap-multiplies-the-score": { cap: (x, cap) => x * Math.tanh(x / cap), capped: (x, cap) => `(${x}) · tanh((${x}) ÷ ${cap})` },
    "cap-after-mask": { hidden: (x, cap, bias) => (cap ? bias - cap : -Infinity) },
    "bias-ignored": { bias: () => 0 },
    "bias-subtracted": { bias: () => -1 },
    "bias-before-scale": { bias: (scale) => scale },
    "bias-dropped-under-causal": { bias: (scale, { options }) => Number(!options.causal) },
    "bias-dropped-under-mask": { bias: (scale, { given }) => Number(!given.mask) },
    "mask-dropped-under-bias": { mask: (m, { given }) => each(m, (may) => (given.bias ? 1 : may)) },
    "mask-dropped-under-causal": { mask: (m, { options }) => each(m, (may) => (options.causal ? 1 : may)) },
    "mask-ignored": { mask: (m) => each(m, () => 1) },
    "mask-inverted": { mask: (m) => each(m, (may) => 1 - may) },
    "mask-transposed": { mask: turned },
    "hidden-scores-are-zero": { hidden: () => 0 },
    "mask-added": { hidden: (x) => x, shown: 1 },
    "mask-after-softmax": { hidden: (x) => x, share: (row, j, may) => ({ times: Number(may[j]) }) },
    "sentinel-too-small": { hidden: () => -100 },
    "causal-ignored": { last: () => Infinity },
    "causal-strict": { last: (diagonal) => diagonal - 1 },
    "causal-one-ahead": { last: (diagonal) => diagonal + 1 },
    "causal-upside-down": { first: (diagonal) => diagonal, last: () => Infinity },
    "causal-dropped-under-mask": { last: (diagonal, i, j, { given }) => (given.mask ? Infinity : diagonal) },
    "mask-or-causal": {
      mask: (m, { options }) => each(m, (may) => (options.causal ? 1 : may)),
      last: (diagonal, i, j, { given }) => (given.mask?.[i][j] ? Infinity : diagonal),
    },
    "diagonal-tile-cut-short": { last: (diagonal, i) => diagonal - i % 2 },
    "diagonal-tile-not-masked": { last: (diagonal, i) => diagonal - i % 2 + 1 },
    "aligned-with-the-last-key": { last: (diagonal, i, j, state, more) => i + more },
    "offset-ignored": { last: (diagonal, i) => i },
    "cache-off-by-one": { last: (diagonal, i) => Math.max(diagonal - 1, i) },
    "softmax-left-out": { share: () => ({ down: null, linear: true }) },
    "exponential-left-out": { share: () => ({ linear: true }) },
    "sum-left-out": { share: (row) => ({ down: null, less: Math.max(...row) }) },
    "sum-without-keepdims": { share: (row, j, may, i, all) => ({ less: 0, down: all[all.length > 1 ? j : 0] || row, note: "below the line, another row" }) },
    "maximum-not-subtracted": { share: () => ({ less: 0 }) },
    "maximum-starts-at-zero": { share: (row) => ({ less: Math.max(0, ...row) }) },
    "maximum-clamped": { share: (row) => ({ less: Math.max(-5e4, ...row), total: (all) => sum(all) || 1 }) },
    "hidden-keys-in-the-maximum": { hidden: (x) => x, share: (row, j, may) => ({ down: row.filter((_, k) => may[k]), less: Math.max(...row), times: Number(may[j]) }) },
    "epsilon-in-the-denominator": { share: (row) => ({ less: Math.max(...row), plus: 1e-6 }) },
    "one-more-in-the-sum": { share: (row) => ({ down: row.some(isFinite) ? [...row, 0] : row }) },
    "weights-in-bfloat16": { share: () => ({ round: bfloat, note: "rounded to bfloat16" }) },
    "sum-in-float16": { share: () => ({ total: (all) => all.reduce((now, x) => half(now + half(x)), 0), note: "added up in float16" }) },
    "halves-averaged": { share: (row, j) => inHalves(row, j, (part) => Number(part.some(isFinite))) },
    "halves-merged-with-another-base": { share: (row, j) => inHalves(row, j, (part, most) => sum(part.map((x) => Math.exp(x - most))) ** (1 / Math.LN2)) },
    "scores-in-bfloat16": { share: (row, j) => ({ up: bfloat(row[j]), down: row.map(bfloat), note: "scores in bfloat16" }) },
    "powers-of-two": { share: () => ({ base: 2 }) },
    "argmax-for-softmax": { share: (row, j, may, i, all, most = Math.max(...row)) => ({ is: Number(j === row.indexOf(most)) }) },
    "softmax-over-queries": { across: true, share: (row, j, may, i, all) => ({ down: all.map((one) => one[j]), note: "down the column" }) },
    "softmax-over-everything": { share: (row, j, may, i, all) => ({ down: all.flat() }) },
    "normalized-after-mixing": { output: (row) => row.map((x) => x / sum(row)) },
    "mix-not-rescaled": { share: (row, j, may, i, all, less = Math.max(...row)) => ({ up: stale(row, less)[j], less, note: "above the line, the largest so far" }) },
    "sum-not-rescaled": { share: (row, j, may, i, all, less = Math.max(...row)) => ({ down: stale(row, less), less, note: "below the line, the largest so far" }) },
    "block-not-masked": { share: (row) => ({ down: [...row, ...Array((4 - row.length % 4) % 4).fill(0)] }) },
    "last-block-dropped": { share: (row, j, may, i, all, even = row.length - row.length % 2) => ({ down: row.slice(0, even), round: j < even ? undefined : () => 0, note: "without the last block" }) },
  };

  // How a weight is made: times · base^(up − less) ÷ (the sum of base^(down − less) + plus).
  // With `linear`, scores take the place of powers; hidden ones are 0. Without `down`, nothing is divided.
  function share(scores, i, j, rule, may) {
    const row = scores[i], made = { up: row[j], down: row, plus: 0, times: 1, ...rule.share?.(row, j, may[i], i, scores) };
    const { up, down, plus, times, linear, is, base, round = (x) => x, total = sum } = made;
    const less = made.less ?? (linear ? 0 : Math.max(...down));
    const power = (x) => (linear ? (isFinite(x) ? x : 0) : Math.exp((x - less) * (base ? Math.log(base) : 1)));
    const above = power(up), below = down ? total(down.map(power)) + plus : 1;
    return { ...made, shifts: made.less !== undefined, less, above, below, value: is ?? round(times * above / below) };
  }

  // Compute all arrays of a state. Null is an entry that is hidden.
  function compute({ given, options, slip }) {
    const rule = SLIPS[slip] || {}, state = { given, options };
    const arrays = { ...given };
    for (const role of ["query", "key", "value"]) {
      arrays[role] = given[role] || (given[`w_${role}`] ? product(given.x, given[`w_${role}`]) : given.x);
    }
    const roles = [...(rule.roles || "qkv")].map((letter) => ROLES[letter]), [query, key, value] = roles.map((role) => arrays[role]);
    const root = 1 / Math.sqrt(query[0].length), own = options.scale ?? rule.usual?.(root, key.length, value[0].length) ?? root;
    const cap = options.soft_cap, scale = rule.scale ? rule.scale(own, root, cap) : own, offset = options.offset || 0;
    const caps = rule.cap || ((x, most) => most * Math.tanh(x / most));
    const factor = rule.bias ? rule.bias(scale, state) : 1, bias = (i, j) => (given.bias ? given.bias[i][j] : 0);
    const allowed = given.mask && (rule.mask ? rule.mask(given.mask, state) : given.mask);
    const last = (i, j) => (options.causal ? (rule.last ? rule.last(i + offset, i, j, state, key.length - query.length) : i + offset) : Infinity);
    const first = (i) => (options.causal && rule.first ? rule.first(i + offset) : 0);
    const seen = query.map((_, i) => key.map((_, j) => (!allowed || Boolean(allowed[i][j])) && j >= first(i) && j <= last(i, j)));
    const full = each(product(query, turned(key)), (x, i, j) => (cap ? caps(x * scale, cap, scale) : x * scale) + factor * bias(i, j));
    const scores = each(full, (x, i, j) => (seen[i][j] ? x + (rule.shown || 0) : rule.hidden ? rule.hidden(x, cap, bias(i, j)) : -Infinity));
    const shares = each(scores, (_, i, j) => share(scores, i, j, rule, seen));
    const weights = each(shares, ({ value: x }, i) => (slip || isFinite(Math.max(...scores[i])) ? x : 0));
    const output = product(rule.mixes ? rule.mixes(weights) : weights, value).map(rule.output || ((row) => row));
    const empty = (i, j) => scores[i][j] === -Infinity;
    return {
      ...arrays, output, adds: given.w_output && product(output, given.w_output), roles, scale, full, seen, rule, factor, allowed, first, last, shares,
      scores: each(scores, (x, i, j) => (empty(i, j) ? null : x)),
      weights: each(weights, (x, i, j) => (empty(i, j) && x === 0 ? null : x)),
    };
  }

  return { compute, SLIPS, each, sum, dot, turned };
})();
