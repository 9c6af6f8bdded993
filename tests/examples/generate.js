// The rule of the generated cases, as a reader would write it: the checksum of each array of a case.
function mix(x) {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

function checksums(text) {
  const c = JSON.parse(text), o = c.options, { floor, max, min } = Math;
  const { key_heads: G, queries: Q, keys: K, width: D, value_width: V, step } = c;
  const [B, H] = [1, 1, ...c.lead].slice(-2);
  const streams = [0, 1, 2, 3, 4, 5, 6].map((n) => mix(8 * c.seed + n));
  const word = (stream, i) => mix(streams[stream] + i);
  const pattern = (j) => ((j + 1) % step <= 2 ? floor((j + 1) / step) * step : j);
  const atBorder = (j) => (j + 1) % step <= 2 || j === K - 1;
  const keyWord = (b, g, p, column) => word(1, ((b * G + g) * (K + 1) + p) * D + column);
  const shown = (b) => K - 3 - 7 * b, loud = (b, j) => (c.loud && j >= shown(b) ? 256 : 1);

  function limits(i) {
    const queries = o.query_lengths || [Q], keys = o.key_lengths || [K];
    let s = 0, q = 0, k = 0;
    while (i >= q + queries[s]) { q += queries[s]; k += keys[s]; s += 1; }
    const place = i - q + (o.offset || 0) + k, [left, right] = o.window || [null, null];
    let low = k, high = k + keys[s] - 1;
    if (left !== null) low = max(low, place - left);
    if (right !== null) high = min(high, place + right);
    return [low, o.causal ? min(high, place) : high];
  }

  function target(row, i) {
    const [low, high] = limits(i), whole = floor(K / step), first = floor(max(low + step - 2, 0) / step);
    const end = high === K - 1 && K - whole * step > 2 ? whole + 1 : floor((high + 1) / step);
    let n = first + (row % max(end - first + 1, 1));
    if (o.causal || o.window || o.query_lengths) n = [end, first, n][i % 3];
    n = max(min(n, end), 0);
    return n > whole ? K - 1 : n * step;
  }

  const make = {
    query(b, h, i, column) {
      if (c.level && column === D - 1) return 64 * 64;
      const row = (b * H + h) * Q + i, size = c.sharpness + (word(2, row * D + column) >>> 29);
      return keyWord(b, floor(h / (H / G)), target(row, i), column) >>> 31 ? -size : size;
    },
    key(b, g, j, column) {
      const w = keyWord(b, g, pattern(j), column);
      if (c.level && column === D - 1) return loud(b, j) * -128 * 64;
      return loud(b, j) * (atBorder(j) ? 64 - 128 * (w >>> 31) : 4 * ((w >>> 28) - 8));
    },
    value(b, g, j, column) {
      const w = word(3, ((b * G + g) * K + j) * V + column), n = 96 + (w >>> 27);
      return loud(b, j) * ((w >>> 26) & 1 ? -n : n);
    },
    mask(b, h, i, j, place) {
      if (!c.mask.includes("q")) return j < shown(b) ? 1 : 0;
      const hidden = (i % 4 === 1 && j < c.hidden_first) || (c.hidden_rows && i % 5 === 3) || (c.hidden_tile && j >> 4 === 1);
      return hidden || word(4, place) >>> 30 === 0 ? 0 : 1;
    },
    bias(b, h, i, j, place) {
      const w = word(5, place);
      const hidden = (w & 7) === 0 || (c.hidden_tile && j >> 4 === 1) || (i % 4 === 1 && j < c.hidden_first);
      return c.holes && hidden ? -(2 ** 31) : (w >>> 26) - 32;
    },
    d_output: (b, h, i, column, place) => (word(6, place) >>> 26) - 32,
  };
  const of = (axes) => [..."bhqk"].map((axis, n) => (axes.includes(axis) ? [B, H, Q, K][n] : 1));
  const shapes = { query: [B, H, Q, D], key: [B, G, K, D], value: [B, G, K, V], mask: of(c.mask), bias: of(c.bias), d_output: [B, H, Q, V] };
  const found = {};
  for (const name of Object.keys(c.checksums)) {
    const [n0, n1, n2, n3] = shapes[name];
    let sum = 0, place = 0;
    for (let a = 0; a < n0; a++) for (let b = 0; b < n1; b++) for (let i = 0; i < n2; i++) for (let j = 0; j < n3; j++) {
      sum = (sum + Math.imul(2 * place + 1, make[name](a, b, i, j, place))) >>> 0;
      place += 1;
    }
    found[name] = sum;
  }
  return JSON.stringify(found);
}
