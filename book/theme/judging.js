// Judging: what is to be said of an array beside the answer of an example. It needs no page.
const bookJudging = (() => {
  "use strict";
  const { product, range, same, reordered } = bookReading;
  const EXACT = 15; // from so many decimals on a number is the one that was computed
  // How many digits a number of a dtype has.
  const HOLDS = { float64: 16, float32: 7, float16: 3, bfloat16: 2 };

  // How far each number may be from the one that was printed: half a unit of its last digit. A printer
  // gives all entries equally many and may leave out zeros at the end, so the longest one tells.
  function written(array) {
    let places = -1, mantissa = -1;
    const exponents = (array.texts || []).map((text) => {
      const [, after, exponent] = /^[-+]?\d*\.?(\d*)(?:e([-+]?\d+))?$/i.exec(text) || [];
      if (exponent) mantissa = Math.max(mantissa, after.length);
      else if (after !== undefined) places = Math.max(places, after.length);
      return Number(exponent || 0);
    });
    const scientific = mantissa >= 0, digits = scientific ? mantissa : places;
    // Only what prints all digits mixes the two ways of writing.
    if (!array.texts || digits >= EXACT || (scientific && places >= 0) || digits < 0) return null;
    return {
      digits: digits + (scientific ? 1 : 0),
      scientific,
      units: exponents.map((exponent) => 0.5 * 10 ** (exponent - digits)),
    };
  }

  // Whether what was written is enough to tell a right number from a wrong one: three digits.
  function enough(printed, expected) {
    const largest = expected.reduce((most, x) => isFinite(x) ? Math.max(most, Math.abs(x)) : most, 0);
    return printed.digits >= 3 && (printed.scientific || printed.digits + Math.floor(Math.log10(largest || 1)) >= 2);
  }

  function limitsOf(example, answer, dtype) {
    const bounds = answer.bounds[dtype], row = answer.expected.length / bounds.length;
    return answer.expected.map((x, i) => { // in the order in which the library adds
      return example.tolerance[0] + example.tolerance[1] * (isFinite(x) ? Math.abs(x) : 0) + bounds[Math.floor(i / row)] * (1 + 1e-12); // 13 digits of it
    });
  }

  const offBy = (got, wanted) => got === wanted || (got !== got && wanted !== wanted) ? 0 : Math.abs(got - wanted);

  function compare(values, wanted, limits, units) {
    const off = values.map((x, i) => typeof x === "boolean" ? Number(x !== wanted[i]) : offBy(x, wanted[i]));
    const wrong = [];
    off.forEach((distance, i) => { // NaN is not within a limit
      if (!(distance <= (typeof values[i] === "boolean" ? 0 : limits[i] + (units ? units[i] : 0)))) wrong.push(i);
    });
    return { wanted, off, wrong, largest: Math.max(0, ...off) };
  }

  // The answer that is met, or the nearest one, with its convention.
  function nearest(answer, values, limits, units) {
    const accepted = answer.conventions?.length ? answer.conventions : [["", "", answer.expected]];
    const all = accepted.map(([convention, why, wanted]) => ({ ...compare(values, wanted, limits, units), convention, why }));
    return all.sort((a, b) => a.wrong.length - b.wrong.length || a.largest - b.largest)[0];
  }

  // The slips that give this output at one of these calls, as the library finds them: where a slip leaves a
  // query nobody and gives NaN a function may do otherwise, provided that some number is wrong in the same way.
  function slipsLike(answers, ...given) {
    return [...new Set(answers.flatMap((answer) => slipsAt(answer, ...given)))];
  }

  function slipsAt(answer, shape, values, limits, units) {
    const widest = Math.max(...limits), found = [];
    const fits = same(shape, answer.shape), limit = (i) => fits ? limits[i] : widest;
    const wrong = (x, i) => fits ? !(offBy(x, answer.expected[i]) <= limit(i)) : x === x;
    const like = (x, i) => { // as far as the slip's output is stored, 10 digits
      return offBy(values[i], x) <= limit(i) + (units ? units[i] : 0) + (isFinite(x) ? 1e-9 * Math.abs(x) : 0);
    };
    for (const { ids, shape: own, output } of answer.slips || []) {
      if (!same(own, shape) || !output.every((x, i) => x !== x || like(x, i))) continue;
      const wrongNumber = output.some((x, i) => x === x && wrong(x, i));
      if (wrongNumber || (output.every(like) && output.some(wrong))) found.push(...ids);
    }
    return found;
  }

  // To how many digits each entry agrees, and how many it could.
  function digits(array, result, printed, dtype) {
    const could = [], agree = [];
    result.wanted.forEach((wanted, i) => {
      const got = array.values[i], off = result.off[i], size = Math.abs(wanted);
      if (typeof wanted === "boolean" || !isFinite(size)) return;
      let most = HOLDS[dtype];
      if (printed) most = Math.max(0, Math.min(most, printed.scientific ? printed.digits : printed.digits + 1 + Math.floor(Math.log10(size || 1))));
      could.push(most);
      if (off === 0 || (printed && off <= printed.units[i] * 1.000001) || (!size && !result.wrong.includes(i))) agree.push(most);
      else agree.push(size && isFinite(got) ? Math.max(0, Math.min(most, Math.floor(-Math.log10(off / size)))) : 0);
    });
    const sorted = [...agree].sort((a, b) => a - b);
    return !agree.length ? null : {
      worst: sorted[0],
      median: sorted[Math.floor((sorted.length - 1) / 2)],
      all: agree.every((n, i) => n === could[i])
    };
  }

  const pairs = (count) => range(count).flatMap((a) => range(a).map((b) => [b, a]));

  const withoutOnes = (shape) => shape.filter((size) => size !== 1);

  // Judges an array beside an answer of an example. state: agrees, few (digits), differs, shape, kind.
  function judge(example, answer, array, dtype) {
    const { expected } = answer;
    let { shape } = array, reshaped = false;
    if (answer.boolean !== array.boolean) return { state: "kind" };
    if (!same(shape, answer.shape)) {
      const ones = same(withoutOnes(shape), withoutOnes(answer.shape));
      const flat = array.loose && array.values.length === expected.length && shape.at(-1) === answer.shape.at(-1);
      reshaped = !array.loose; // rows without brackets have no shape of their own
      if (ones || flat) shape = answer.shape;
    }
    const limits = limitsOf(example, answer, dtype), printed = array.boolean ? null : written(array);
    const tells = printed && enough(printed, expected), units = tells ? printed.units : null;
    const verdict = { dtype, printed, limits, units, shape, slips: [], rounded: false };
    // Another call may expect the same, such as causal=True in place of a mask: what was called is not known.
    const twins = example.answers.filter((other) => other === answer || (other.slips && same(other.expected, expected)));
    const fits = same(shape, answer.shape);
    if (fits) {
      const strict = nearest(answer, array.values, limits, null);
      verdict.found = strict;
      if (strict.wrong.length && units) {
        verdict.found = nearest(answer, array.values, limits, units);
        verdict.rounded = !verdict.found.wrong.length;
      }
      verdict.digits = array.boolean ? null : digits(array, verdict.found, printed, dtype);
    }
    const right = fits && !verdict.found.wrong.length;
    verdict.state = right ? (reshaped ? "shape" : "agrees") : fits && !reshaped ? "differs" : "shape";
    verdict.right = right;
    if (!array.boolean && (!right || verdict.rounded)) verdict.slips = slipsLike(twins, shape, array.values, limits, units);
    if (right) return verdict;
    const agrees = (values, units) => !nearest(answer, values, limits, units).wrong.length;
    if (fits && printed && !tells && !verdict.slips.length && agrees(array.values, printed.units)) verdict.state = "few";
    if (array.values.length === expected.length) {
      verdict.inOrder = !fits && agrees(array.values, units);
      for (const [a, b] of pairs(array.shape.length)) {
        const axes = array.shape.map((n, axis) => axis === a ? b : axis === b ? a : axis);
        const turned = (values) => values && reordered(values, array.shape, axes);
        if (!same(axes.map((axis) => array.shape[axis]), answer.shape)) continue;
        if (agrees(turned(array.values), turned(units))) verdict.exchanged = [a, b];
      }
    }
    // What print() writes does not name its dtype: say so if float32 explains it. What is wrong in
    // float32, too, may be a variant of a slip.
    if (dtype === "float64" && !array.boolean && verdict.state !== "few" && !verdict.slips.length) {
      const wide = limitsOf(example, answer, "float32");
      verdict.single = fits && !nearest(answer, array.values, wide, units).wrong.length;
      if (!verdict.single) verdict.slips = slipsLike(twins, shape, array.values, wide, units);
    }
    verdict.other = example.answers.find((other) => {
      return !other.written && other.boolean === array.boolean && same(other.shape, array.shape) && !same(other.expected, expected) &&
        !nearest(other, array.values, limitsOf(example, other, dtype), units).wrong.length;
    });
    return verdict;
  }

  // The array that is meant: the one of the name, or of the shape; rows that were printed one by one
  // are one array. None, if it has to be asked.
  function choose(arrays, answer) {
    const rank = arrays[0].shape.length;
    if (arrays.length > 1 && rank && rank < answer.shape.length && arrays.every((one) => !one.name && same(one.shape, arrays[0].shape))) {
      const whole = {
        ...arrays[0],
        shape: [arrays.length, ...arrays[0].shape],
        values: arrays.flatMap((one) => one.values),
        texts: arrays.flatMap((one) => one.texts),
      };
      if (same(whole.shape, answer.shape)) return whole;
    }
    const fit = arrays.filter((one) => same(one.shape, answer.shape) && one.boolean === answer.boolean);
    const named = (some) => some.find((one) => one.name === answer.name);
    const only = arrays.length === 1 ? arrays[0] : fit.length === 1 || !fit[0]?.name ? fit[0] : null;
    return named(fit) || named(arrays) || only || null;
  }

  return { choose, limitsOf, judge };
})();
