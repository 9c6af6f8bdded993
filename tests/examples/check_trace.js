// Return how many steps of a trace are not what their operands give, to within 4 ulp.
function wrong(text) {
  const { steps } = JSON.parse(text), { abs, max, hypot, sqrt, round } = Math;
  const number = (x) => Number(typeof x === "string" ? x.split("/").reduce((p, q) => p / q) : x);
  const sum = (t) => t.reduce((x, y) => x + y, 0), pairs = (t) => t.map((x, i) => (i % 2 ? 0 : x * t[i + 1]));
  const times = (m, x) => x.map((_, i) => sum(x.map((y, j) => m[i * x.length + j] * y)));
  const norm = (m, x, k) => (k ? norm(m, times(m, x).map((y) => y / hypot(...x)), k - 1) : hypot(...times(m, x)) / hypot(...x));
  const take = {
    sum, dot: (t) => sum(pairs(t)), subtract: ([x, y]) => x - y, multiply: ([x, y]) => x * y,
    divide: ([x, y]) => x / y, negate: ([x]) => -x, absolute: ([x]) => abs(x), power: ([x, y]) => x ** y,
    root: ([x, n]) => (n === 2 ? sqrt(x) : x ** (1 / n)), round: ([x, d]) => round(x * 10 ** d) / 10 ** d,
    max: (t) => max(...t), norm: (t) => norm(t, [1, 2, 3, 4, 5, 6].slice(0, sqrt(t.length)), 200),
    equal: ([x, y]) => x === y, "at most": ([x, y]) => x <= y, and: ([x, y]) => x && y, not: ([x]) => !x,
    choose: ([x]) => x, // and exp, log, sin, cos, tanh, which Math calls so
  };
  return steps.filter(({ operation, operands, value }) => {
    if (!operands) return false;
    const of = operands.map((k) => number(steps[k].value)), known = number(value);
    const terms = { sum: of, subtract: of, dot: pairs(of), sin: of, cos: of, exp: [of[0] * known], log: [1] }[operation] || [];
    const found = (take[operation] || ((t) => Math[operation](t[0])))(of), largest = max(...[...terms, known].map(abs));
    return !Object.is(found, known) && !(abs(found - known) <= 4 * 2 ** -52 * largest);
  }).length;
}
