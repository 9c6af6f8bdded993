// The checker: its page. It compares what a program printed, as reading.js reads it, with what the build
// computed, as judging.js judges it.
const bookChecker = (() => {
  "use strict";
  const { read, file: readFile, product, range, times } = bookReading, { choose, judge } = bookJudging;
  const { make, button } = bookPage, byId = (name) => document.getElementById(`check-${name}`);

  const root = document.currentScript.src.replace(/_static\/.*/, ""), loaded = {};
  const example = byId("example"), what = byId("what"), dtype = byId("dtype"), output = byId("output");
  const pick = byId("array"), box = document.getElementById("checker"), status = byId("status"), report = byId("report");
  let key = "", arrays = null, file = "", commas = ""; // commas: what the reader says that they are
  let tried = null; // what comes when an example is there
  let byHand = false; // whether the reader has chosen the dtype

  const code = (text) => make("code", {}, text);

  const link = (address, text) => make("a", { href: root + address }, text);

  // The nodes of a sentence, with what stands between them.
  const listed = (items, between) => items.reduce((all, item, i) => all.concat(i ? [between] : [], item), []);

  // A text of the data as a sentence, d_k with its index.
  function sentence(text) {
    return text.replace(/\.?$/, ".").split(/\b([A-Za-z]_[A-Za-z])\b/).map((part, i) => {
      return i % 2 ? [make("i", {}, part[0]), make("sub", {}, part[2])] : part;
    });
  }

  // A number as it is read: few digits, 0 for zero alone.
  function shown(value, precision) {
    if (typeof value === "boolean") return value ? "True" : "False";
    if (value !== value) return "NaN";
    const size = Math.abs(value);
    let text = Number(size.toPrecision(precision));
    text = size === Infinity ? "∞" : size && size < 1e-4 ? text.toExponential() : String(text);
    return (value < 0 ? "−" : "") + text.replace(/e([-+]?)(\d+)/, (all, sign, exponent) => {
      return `×10${sign === "-" ? "⁻" : ""}${exponent.replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])}`;
    });
  }

  // Two numbers with as many digits as tell them apart.
  function apart(got, wanted) {
    const precision = range(18).find((n) => n === 17 || (n >= 5 && shown(got, n) !== shown(wanted, n)));
    return [shown(got, precision), shown(wanted, precision)];
  }

  const answers = () => loaded[example.value]?.answers;

  const chosen = () => answers().find((answer) => answer.key === what.value);

  function task(answer) {
    const name = example.value, page = `${name}/index.html`, place = byId("task");
    if (!answer.written) {
      const of = link(`${page}#${answer.name}`, code(answer.name));
      return place.replaceChildren(make("p", {}, of, `, ${times(answer.shape)}: ${answer.why}`));
    }
    const given = answer.given.map(([argument, value, shape]) => {
      const from = value.replace(/^\[|\]$/g, "").replace(/\[.*/, "");
      return [link(`${page}#${from}`, code(argument === value ? value : `${argument} = ${value}`)), ` ${times(shape)}`];
    });
    place.replaceChildren(
      make("p", {}, "Call your function as ", code(answer.written), answer.part ? [" and give its ", code(answer.part)] : "", given.length ? " with " : ".", listed(given, ", "),
        given.length && answer.shape ? `. The result is ${times(answer.shape)}.` : given.length ? "." : ""));
    if (answer.raises) return;
    const mine = answer.attention ? "my_attention" : `my_${answer.written.replace(/\(.*/, "")}`;
    const lines = ["from selfattn_ref.worked_examples import load", `call = load("${name}").calls[${answer.call}]`, `print(${mine}(*call.args, **call.kwargs))`];
    place.append(
      make("div", { class: "highlight-python" }, make("pre", {}, lines.join("\n"))),
      make("p", {}, "The arrays are NumPy’s: ", link(`${page}#test`, "lines for PyTorch and JAX"), " convert them."));
  }

  function say(mark, headline, rest) {
    const title = headline && make("strong", {}, mark && make("span", { "aria-hidden": "true" }, `${mark} `), headline);
    status.replaceChildren(...[title, rest].flat(Infinity).filter(Boolean));
    status.className = mark === "✓" ? "right" : mark === "✗" ? "wrong" : "";
  }

  const entries = (count) => count === 1 ? "1 entry" : `${count} entries`;

  const digitsGiven = ({ digits, scientific }) => `${digits} ${scientific ? "digits" : digits === 1 ? "decimal" : "decimals"}`;

  function headline(answer, array, verdict) {
    const found = verdict.found, count = array.values.length, name = found && found.convention;
    const follows = name ? [" It follows the convention ", make("b", {}, name), "."] : [];
    const slip = verdict.slips && verdict.slips.length && !verdict.right ? [
      ` That is consistent with the slip${verdict.slips.length > 1 ? "s " : " "}`, listed(verdict.slips.map((id) => make("b", {}, id)), " or "),
      ". One call cannot prove it."] : [];
    if (verdict.state === "kind") {
      return answer.boolean ? say("✗", "Numbers, where True and False are expected.", " A mask of numbers means something else: it is added to the scores.")
        : say("✗", "True and False, where numbers are expected.");
    }
    if (verdict.state === "agrees" && verdict.rounded) return say("✓", `Agrees in the ${digitsGiven(verdict.printed)} that you gave.`, follows);
    if (verdict.state === "agrees") return say("✓", "Agrees.", [" " + (count === 1 ? "The entry is" : `All ${entries(count)} are`) +
      (array.boolean ? " as expected." : ` within what ${verdict.dtype} allows.`)].concat(follows));
    if (verdict.state === "few") return say("?", "Too few digits to tell.", " They fit, but so would wrong ones: give four digits or more.");
    if (verdict.state === "shape") {
      return say("✗", verdict.right || verdict.inOrder || verdict.exchanged ? "The right numbers in another shape." : "Another shape.",
        [` Yours is ${times(array.shape)}, expected is ${times(answer.shape)}.`].concat(verdict.right ? follows : slip));
    }
    if (verdict.single && verdict.state === "differs") {
      const compare = button("Compare as float32", () => { dtype.value = "float32"; byHand = true; show(false); dtype.focus(); });
      return say("?", "Differs as float64, agrees as float32.", [" Was any of it computed in float32? ", compare]);
    }
    say("✗", `Differs in ${found.wrong.length} of ${entries(count)}.`, slip);
  }

  function rowsOf(data, answer, array, verdict) {
    const list = make("dl"), found = verdict.found;
    const row = (name, ...parts) => list.append(make("div", {}, make("dt", {}, name), make("dd", {}, parts)));
    row("Read", (file ? file + (array.name && array.name + ".npy" !== file ? `, ${array.name}` : "") + ": " : "") + times(array.shape) +
      (verdict.printed ? `, ${digitsGiven(verdict.printed)}` : ""));
    if (verdict.digits) {
      row("Digits that agree", verdict.digits.all ? `all that ${verdict.printed ? "you gave" : verdict.dtype + " holds"}`
        : answer.expected.length === 1 ? String(verdict.digits.worst)
        : `${verdict.digits.worst} in the worst entry, ${verdict.digits.median} in the median one`);
    }
    if (found && !array.boolean) {
      const worst = found.off.reduce((at, off, i) => found.off[at] >= off || found.off[at] !== found.off[at] ? at : i, 0);
      row("Largest difference", found.off[worst] === 0 ? "none" : shown(found.off[worst], 2) + place(worst, answer.shape, " at ") + ". Allowed: " +
        `${shown(verdict.limits[worst], 2)} in ${verdict.dtype}${verdict.units ? " and " + shown(verdict.units[worst], 2) + " for the last decimal" : ""}.`);
    }
    if (found && found.convention && verdict.state !== "few") {
      const names = answer.conventions.map((one) => one[0]).join(", ");
      row("Convention", make("b", {}, found.convention), ": ", sentence(found.why), " ",
        found.wrong.length ? `This is the nearest; the output follows none of ${names}.` : `Good libraries differ here: ${names} are all accepted.`);
    }
    if (verdict.slips && verdict.slips.length) {
      row(verdict.right ? "More digits would tell it from" : "Looks like", make("ul", {}, verdict.slips.map((id) => (
        make("li", {}, link(`examples/slips.html#${id}`, id), ": ", sentence(data.slips[id]),
          data.sheet.includes(id) ? [" ", link(`${data.id}/index.html#${id}`, "See it on the Sheet")] : "")
      ))));
    }
    if (verdict.state === "shape" && verdict.right) row("To mend", "Leave out the axes of length 1, or add them.");
    if (verdict.exchanged) {
      row("To mend", array.shape.length === 2 ? "Transpose it: then it agrees." : `Exchange the axes ${verdict.exchanged.join(" and ")}: then it agrees.`);
    } else if (verdict.inOrder) row("To mend", `Reshape it to ${times(answer.shape)}: then it agrees.`);
    if (answer.attention && !verdict.right && !verdict.single && !verdict.slips.length && !verdict.exchanged && !verdict.inOrder && !verdict.other && verdict.state !== "few") {
      row("Looks like", "none of the ", link("examples/slips.html", "known slips"), ".");
    }
    if (verdict.other) {
      row("Looks like", make("a", { href: `#${data.id}.${verdict.other.key}` }, code(verdict.other.name)), " of this example.");
    }
    return list;
  }

  const index = (i, shape) => shape.map((size, axis) => Math.floor(i / product(shape.slice(axis + 1))) % size);

  const place = (i, shape, before) => shape.length ? `${before}[${index(i, shape).join(", ")}]` : "";

  function matrix(array, verdict, answer) {
    const { shape } = answer, { found } = verdict, named = shape.length > 1, tables = [];
    const columns = shape.length ? shape.at(-1) : 1, rows = named ? shape.at(-2) : 1;
    const cell = (i) => {
      if (!found.wrong.includes(i)) return make("td", { class: "no" }, shown(array.values[i], 5));
      const [got, wanted] = apart(array.values[i], found.wanted[i]);
      const than = [make("span", { "aria-hidden": "true" }, "≠ "), make("span", { class: "unseen" }, "differs from ")];
      return make("td", { class: "off" }, got, make("small", {}, than, wanted));
    };
    for (let start = 0; start < array.values.length; start += rows * columns) {
      const head = make("tr", {}, named && make("td"), range(columns).map((c) => make("th", { scope: "col" }, String(c))));
      const body = make("tbody", {}, range(rows).map((r) => (
        make("tr", {}, named && make("th", { scope: "row" }, String(r)), range(columns).map((c) => cell(start + r * columns + c)))
      )));
      const label = shape.length > 2 ? `[${index(start, shape).slice(0, -2).join(", ")}]` : "";
      tables.push(make("div", { class: "table", role: "group", "aria-label": `Your numbers ${label}`.trim() },
        make("table", { class: "matrix" }, label ? make("caption", {}, label) : "", make("thead", {}, head), body)));
    }
    return make("div", { class: "slices" }, tables);
  }

  function oneByOne(array, verdict, answer) {
    const found = verdict.found, few = found.wrong.slice(0, 50);
    const titles = ["Entry", "Got", "Expected"].concat(array.boolean ? [] : ["Off by", "Allowed"]);
    return make("details", {}, make("summary", {}, "Entry by entry"), make("div", { class: "table", role: "group", "aria-label": "Entries that differ" },
      make("table", { class: "entry-list" },
        make("thead", {}, make("tr", {}, titles.map((title) => make("th", { scope: "col" }, title)))),
        make("tbody", {}, few.map((i) => {
          const cells = [shown(array.values[i], 17), shown(found.wanted[i], 17)];
          if (!array.boolean) cells.push(shown(found.off[i], 3), shown(verdict.limits[i] + (verdict.units ? verdict.units[i] : 0), 3));
          return make("tr", {}, make("th", { scope: "row" }, place(i, answer.shape, "") || "–"), cells.map((cell) => make("td", {}, cell)));
        })))), found.wrong.length > few.length ? make("p", {}, `and ${found.wrong.length - few.length} more`) : "");
  }

  function draw(answer, array, verdict) {
    headline(answer, array, verdict);
    if (verdict.state === "kind") return;
    report.append(rowsOf(loaded[example.value], answer, array, verdict));
    if (verdict.found?.wrong.length && verdict.state !== "few") {
      report.append(matrix(array, verdict, answer), oneByOne(array, verdict, answer));
    }
    report.querySelectorAll(".table").forEach((table) => bookPage.boxes.observe(table));
  }

  const label = (array, i) => `${array.name || "array " + (i + 1)}, ${times(array.shape)}`;

  // Judges what is there; fresh: the text or the file is new.
  function show(fresh) {
    const answer = answers() && chosen();
    output.rows = Math.max(4, Math.min(24, output.value.split("\n").length));
    if (!answer) return;
    report.textContent = "";
    byId("give").hidden = Boolean(answer.raises);
    if (answer.raises) {
      return say("", "Nothing to paste: this call has to fail.", ` Any error is a refusal, such as ${answer.raises}: ${answer.why}`);
    }
    if (fresh && !file) arrays = null;
    pick.parentNode.hidden = true;
    if (!file && !output.value.trim()) return say("", "", "");
    try {
      if (!arrays) arrays = read(output.value, commas);
    } catch (error) {
      return error.commas ? askCommas(error.commas) : say("✗", "Cannot be read.", ` ${error.message}`);
    }
    let array = choose(arrays, answer);
    const several = arrays.length > 1 && (!array || arrays.includes(array)); // rows one by one are one array
    if (several && (fresh || pick.dataset.of !== String(arrays.length))) {
      pick.dataset.of = arrays.length;
      pick.replaceChildren(...arrays.map((one, i) => make("option", { value: i }, label(one, i))));
      pick.value = array ? String(arrays.indexOf(array)) : "";
    }
    pick.parentNode.hidden = !several;
    if (several) array = arrays[pick.value];
    if (!array) return say("?", "Which array?", ` There are ${arrays.length}, and none is known by its name or its shape. Choose one above.`);
    if (fresh && (array.dtype || !byHand)) dtype.value = array.dtype || "float64";
    draw(answer, array, judge(loaded[example.value], answer, array, dtype.value));
  }

  // What 0,107 means is for the reader to say.
  function askCommas(text) {
    const choice = (meant, title) => [" ", button(title, () => { commas = meant; show(true); output.focus(); })];
    say("?", `Is ${text} one number or more?`, [choice("decimal", "One: a decimal comma"), choice("between", "More: a comma between numbers")]);
  }

  // What the right attention or a slip prints, at this call or at one where it goes wrong.
  function attempt(slip, at) {
    const given = (answer) => (slip ? answer?.slips?.find((one) => one.ids.includes(slip)) : answer?.attention && { output: answer.expected, ...answer });
    if (!given(answers() && chosen())) {
      [example.value, key] = at.split(".");
      tried = () => attempt(slip, at);
      remember();
      return load();
    }
    const { output: values, shape } = given(chosen());
    const nested = (start, [size, ...rest], before) => {
      const step = product(rest), parts = range(size).map((i) => (rest.length ? nested(start + i * step, rest, before + " ") : values[start + i].toFixed(8)));
      return "[" + parts.join(rest.length ? "," + "\n".repeat(rest.length) + before + " " : ", ") + "]";
    };
    output.value = `array(${nested(0, shape, " ".repeat(6))})`;
    file = commas = "";
    byHand = false;
    show(true);
  }

  function ask() {
    what.textContent = "";
    for (const answer of answers()) {
      const parts = (answer.written || "").split(/\(|\)$/), group = parts[0] || "Expected values";
      if (!what.lastChild || what.lastChild.label !== group) what.append(make("optgroup", { label: group }));
      what.lastChild.append(make("option", { value: answer.key }, parts[0] ? `call ${answer.call}: ${parts[1]}${answer.part ? ": " + answer.part : ""}` : answer.name));
    }
    what.value = key;
    if (!what.value) what.selectedIndex = 0;
    task(chosen());
    pick.textContent = "";
    show(false);
    if (tried) tried();
    tried = null;
  }

  function load() {
    const name = example.value;
    if (loaded[name]) return ask();
    what.textContent = "";
    byId("task").textContent = report.textContent = "";
    const script = make("script", { src: `${root}_static/checks/${name}.js` });
    script.onerror = () => say("✗", `The data of ${name} could not be loaded.`, "");
    document.head.append(script);
  }

  function arrived(data) {
    loaded[data.id] = data;
    if (data.id === example.value) ask();
  }

  function remember() {
    try {
      history.replaceState(null, "", `#${example.value}${what.value ? "." + what.value : ""}`);
    } catch { /* the address stays as it was */ }
  }

  // The address says what is chosen: #SA016, #SA016.1, #SA016.weights.
  function restore() {
    const match = /^#(SA\d{3})(?:\.(\w+))?$/.exec(location.hash);
    if (match && example.namedItem(match[1])) {
      example.value = match[1];
      key = match[2] || "";
    }
    load();
  }

  async function take(given) {
    if (!given) return;
    const binary = /\.(np[yz]|safetensors)$/i.test(given.name);
    try {
      arrays = binary ? await readFile(given) : null;
      output.value = binary ? "" : await given.text();
      file = binary ? given.name : "";
      commas = "";
      byHand = false;
      show(true);
    } catch (error) {
      report.textContent = "";
      say("✗", "Cannot be read.", ` ${given.name}: ${error.message}`);
    }
  }

  example.addEventListener("change", () => { key = ""; load(); remember(); });
  what.addEventListener("change", () => { key = what.value; task(chosen()); pick.textContent = ""; show(false); remember(); });
  dtype.addEventListener("change", () => { byHand = true; show(false); });
  pick.addEventListener("change", () => show(false));
  output.addEventListener("input", () => { file = commas = ""; show(true); });
  byId("file").addEventListener("change", (event) => { take(event.target.files[0]); event.target.value = ""; });
  byId("choose").addEventListener("click", () => byId("file").click());
  byId("clear").addEventListener("click", () => { output.value = file = commas = ""; arrays = null; byHand = false; show(true); output.focus(); });
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
  for (const name of ["dragleave", "drop", "dragend"]) box.addEventListener(name, () => box.classList.remove("over"));
  for (const one of box.querySelectorAll("[data-try]")) {
    one.addEventListener("click", () => attempt(one.dataset.try, one.dataset.at));
  }
  addEventListener("hashchange", restore);
  restore();
  return { take: arrived };
})();
