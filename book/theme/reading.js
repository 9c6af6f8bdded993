// Reading: the arrays in what a program printed, and in a file of NumPy or safetensors. It needs no page.
// An array is {name, shape, values, texts, boolean, dtype, loose}: texts are its numbers in decimals, as
// they were written; loose is one without brackets, whose shape is a guess.
const bookReading = (() => {
  "use strict";
  // 1.5, .5e-3, Fortran's 1.5D+00, Julia's 1.5f-3, 1.5f in C, 1.5_f32 in Rust; and hexadecimal, 0x1.8p-3.
  const DECIMAL = /([-+]?(?:\d+\.?\d*|\.\d+))(?:[ed]([-+]?\d+))?(?:_?f(?:16|32|64)|f([-+]?\d+)|[fl])?/.source;
  const HEX = /([-+]?)0x([\da-f]*)\.?([\da-f]*)p([-+]?\d+)[fl]?/.source;
  const PIECES = new RegExp(`[[\\]]|(?:${HEX}|${DECIMAL})(?![\\w.])|[^\\s,;()[\\]]+|[,;()]`, "gi");
  const [IS_DECIMAL, IS_HEX] = [DECIMAL, HEX].map((source) => new RegExp(`^${source}$`, "i"));
  const PROMPTS = /^(?:>>>|\.\.\.|julia>) .*$|^(?:>>>|\.\.\.)$|^In \[\d+\]:.*$|^Out\[\d+\]:/gm;
  // What Julia prints above an array, PyTorch below it in C++, and R at its margins: [1,] and [,1] and [1].
  const KINDS = /^.*\w\{.*\}.*:$|^\[ \w+\{[\d,]*\} \]$|\[,\d+\]|\[\d+,\]|^ *\[\d+\](?= +[-.\d])/gm;
  // What is said beside the numbers, such as dtype=torch.float16 and grad_fn=<MmBackward0>.
  const KEYWORDS = /\b[a-z_]+\s*=\s*(?:<[^<>]*>|\([^()]*\)|(?!inf|nan)[a-z][\w.:]*)/gi;

  function refuse(message, more) { throw Object.assign(new Error(message), more); }

  const product = (shape) => shape.reduce((sum, size) => sum * size, 1);

  const range = (count) => [...Array(count).keys()];

  const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

  function times(shape) {
    return shape.length > 1 ? shape.join(" × ") : shape.length ? shape[0] + (shape[0] === 1 ? " number" : " numbers") : "a single number";
  }

  // A piece as JavaScript would write it, if it is a number in decimals.
  function decimal(piece) {
    const [all, mantissa, exponent, julia] = IS_DECIMAL.exec(piece) || [];
    return all ? mantissa + (exponent || julia ? `e${exponent || julia}` : "") : piece;
  }

  function number(piece) {
    const word = piece.toLowerCase().replace(/^np\.|_$/g, "");
    if (word === "true" || word === "false") return word === "true";
    if (/^[-+]?nan$|^null$/.test(word)) return NaN;
    if (/^[-+]?inf(inity)?$/.test(word)) return word[0] === "-" ? -Infinity : Infinity;
    const [hex, sign, whole, fraction, exponent] = IS_HEX.exec(word) || [];
    if (hex) return Number(`${sign}1`) * parseInt(whole + fraction, 16) * 2 ** (exponent - 4 * fraction.length);
    return IS_DECIMAL.test(word) && isFinite(decimal(word)) ? Number(decimal(word)) : null;
  }

  function shapeOf(list) {
    if (!Array.isArray(list)) return [];
    const shapes = list.map(shapeOf);
    for (const shape of shapes) {
      if (same(shape, shapes[0])) continue;
      if (!shape.length || !shapes[0].length) refuse("Some numbers stand beside a row and not in it: is a bracket lost?");
      refuse(`The rows are not equally long: one has ${times(shapes[0])}, another ${times(shape)}.`);
    }
    return [list.length, ...shapes[0] || []];
  }

  function arrayOf(list, dtype, loose) {
    const texts = [list].flat(Infinity), values = texts.map(number);
    if (values.includes(null)) refuse(`“${texts[values.indexOf(null)]}” is not a number.`);
    const booleans = values.filter((value) => typeof value === "boolean").length;
    if (booleans && booleans < values.length) refuse("True and False stand among numbers.");
    return { name: "", shape: shapeOf(list), values, texts: texts.map(decimal), boolean: booleans > 0, dtype, loose };
  }

  function dtypeOf(text) {
    const [named] = /b?float(?:16|32|64)/i.exec(text) || [];
    if (named) return named.toLowerCase();
    const [suffix, bits] = /\d\.?_?f(16|32|64|[-+]?\d+)?(?!\w)/i.exec(text) || [];
    if (suffix) return bits === "16" || bits === "64" ? `float${bits}` : "float32";
    return /\bdtype\b/.test(text) ? "float64" : /\btensor\(/.test(text) ? "float32" : /\barray\(/.test(text) ? "float64" : "";
  }

  // The pieces of a text without what parts them, and without a word that is followed by a bracket.
  function piecesOf(text) {
    return (text.match(PIECES) || []).filter((piece, i, all) => {
      return !/^[,;()]$/.test(piece) && (/^[[\]]$/.test(piece) || number(piece) !== null || !/^[([]$/.test(all[i + 1]));
    });
  }

  function bracketed(text, dtype) {
    const open = [], found = [];
    // Julia and MATLAB part rows with semicolons.
    for (const piece of piecesOf(text.replace(/\[([^[\]]*;[^[\]]*)\]/g, (all, inside) => `[[${inside.replace(/;/g, "],[")}]]`))) {
      if (piece === "[") open.push([]);
      else if (piece === "]") {
        if (!open.length) refuse("A bracket closes that was not opened: is the beginning of the text lost?");
        const done = open.pop();
        (open.length ? open.at(-1) : found).push(done);
      } else if (open.length) open.at(-1).push(piece);
    }
    if (open.length) refuse("A bracket is not closed: is the end of the text lost?");
    return found.map((list) => arrayOf(list, dtype, false));
  }

  // Rows without brackets, as in a file of comma-separated values.
  function rows(text, dtype) {
    const found = text.split("\n").map((line) => piecesOf(line.replace(/^\s*[A-Za-z_][\w .]*[:=]/, ""))).filter((line) => line.length);
    while (found[0]?.every((piece) => number(piece) === null)) found.shift(); // a line of words is a head
    if (!found.length) refuse("There is no number in it.");
    return [arrayOf(found.length > 1 ? found : found[0].length > 1 ? found[0] : found[0][0], dtype, true)];
  }

  // Two numbers around a comma may be one with a decimal comma, if nothing in the text says otherwise.
  function decimalCommas(text) {
    const chains = /\d\.|\.\d/.test(text) ? [] : text.match(/\d+(?:,\d+)+/g) || [];
    return chains.length && (chains.every((chain) => chain.split(",").length % 2 === 0) || /,\d{3}/.test(text)) ? chains[0] : "";
  }

  // Returns the arrays in a text, and says why if there are none. commas: "decimal" or "between" numbers,
  // which is asked if the text does not tell.
  function read(text, commas) {
    text = text.replace(/\u2212/g, "-").replace(PROMPTS, "").trim();
    if (/^\{\s*"/.test(text)) return named(text);
    if (/\.\.\.|…/.test(text)) {
      refuse("The text is abbreviated: “...” stands for numbers that were not printed. Print them all: numpy.set_printoptions(threshold=10**6) or torch.set_printoptions(profile=\"full\").");
    }
    const dtype = dtypeOf(text);
    text = text.replace(/["']/g, " ").replace(KINDS, "").replace(KEYWORDS, " ");
    const doubtful = decimalCommas(text);
    if (doubtful && !commas) refuse(`Is ${doubtful} one number or more?`, { commas: doubtful });
    if (doubtful && commas === "decimal") text = text.replace(/(\d+),(\d+)/g, "$1.$2");
    if (text.includes("{")) text = text.replace(/\[[^\]]*\]/g, " ").replace(/\{/g, "[").replace(/\}/g, "]"); // C++
    return text.includes("[") ? bracketed(text, dtype) : rows(text, dtype);
  }

  // The arrays of an object in JSON; of a worked example, its inputs and its expected values.
  function named(text) {
    const found = [];
    let object;
    try { object = JSON.parse(text); } catch (error) { refuse(`It begins as JSON does, and is none: ${error.message}.`); }
    if (object.steps) refuse("It is the trace of an example: it has steps in place of arrays.");
    if (object.inputs && object.expected) object = { ...object.inputs, ...object.expected };
    for (const [name, value] of Object.entries(object)) {
      try {
        found.push({ ...read(JSON.stringify(value?.value ?? value), "between")[0], name });
      } catch { /* what is no array stays in the file */ }
    }
    return found.length ? found : refuse("There is no array in it.");
  }

  // Files.

  const letters = (view, start, length) => String.fromCharCode(...new Uint8Array(view.buffer, start, length));

  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
  }

  // bfloat16 is the upper half of a float32.
  const upper = (bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0];

  // How the numbers of a kind are read, and what they mean; NumPy has no name for bfloat16.
  const KIND = {
    f8: ["getFloat64"], f4: ["getFloat32"], f2: ["getUint16", half], V2: ["getUint16", upper], b1: ["getUint8", Boolean],
    i1: ["getInt8"], i2: ["getInt16"], i4: ["getInt32"], i8: ["getBigInt64"],
    u1: ["getUint8"], u2: ["getUint16"], u4: ["getUint32"], u8: ["getBigUint64"],
  };

  function stored(view, start, kind, shape, little, name) {
    const [getter, meant = Number] = KIND[kind], size = Number(kind[1]);
    const values = Array.from({ length: product(shape) }, (_, i) => meant(view[getter](start + i * size, little)));
    const dtype = { f4: "float32", f2: "float16", V2: "bfloat16" }[kind] || "float64";
    return { name, shape, values, texts: null, boolean: kind === "b1", dtype, loose: false };
  }

  function npy(buffer, name = "") {
    const view = new DataView(buffer);
    if (buffer.byteLength < 12 || letters(view, 0, 6) !== "\x93NUMPY") refuse("It is not a file of NumPy.");
    const long = view.getUint8(6) > 1, start = (long ? 12 : 10) + (long ? view.getUint32(8, true) : view.getUint16(8, true));
    const head = letters(view, 10, start - 10);
    const [, order, kind] = /'descr': '([<>|=]?)(\w+)'/.exec(head) || [];
    if (!KIND[kind]) refuse(`The file has no real numbers: ${(/'descr': ([^,]+)/.exec(head) || ["", "?"])[1]}.`);
    const shape = (/'shape': \(([^)]*)\)/.exec(head)[1].match(/\d+/g) || []).map(Number);
    const array = stored(view, start, kind, shape, order !== ">", name);
    if (/'fortran_order': True/.test(head)) array.values = reordered(array.values, [...shape].reverse(), [...shape.keys()].reverse());
    return array;
  }

  function safetensors(buffer) {
    const view = new DataView(buffer), start = 8 + Number(view.getBigUint64(0, true));
    const { __metadata__, ...tensors } = JSON.parse(letters(view, 8, start - 8));
    return Object.entries(tensors).map(([name, { dtype, shape, data_offsets: [first] }]) => {
      const kind = { BF16: "V2", BOOL: "b1" }[dtype] || dtype[0].toLowerCase() + dtype.slice(1) / 8;
      if (!KIND[kind]) refuse(`${name} has no real numbers: ${dtype}.`);
      return stored(view, start + first, kind, shape, true, name);
    });
  }

  // The values of an array with its axes in another order.
  function reordered(values, shape, axes) {
    const strides = shape.map((n, axis) => product(shape.slice(axis + 1))), found = [];
    const walk = (depth, at) => {
      if (depth === axes.length) return found.push(values[at]);
      for (let i = 0; i < shape[axes[depth]]; i++) walk(depth + 1, at + i * strides[axes[depth]]);
    };
    walk(0, 0);
    return found;
  }

  // The files in an archive, by the directory at its end.
  function npz(buffer) {
    const view = new DataView(buffer), files = [];
    let end = buffer.byteLength - 22;
    while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
    if (end < 0) refuse("It is not an archive of NumPy.");
    for (let count = view.getUint16(end + 10, true), at = view.getUint32(end + 16, true); count--;) {
      const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
      const local = view.getUint32(at + 42, true);
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      files.push([letters(view, at + 46, name), view.getUint16(at + 10, true), buffer.slice(start, start + view.getUint32(at + 20, true))]);
      at += 46 + name + extra + comment;
    }
    return Promise.all(files.map(async ([name, method, bytes]) => {
      const stream = method && new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
      return npy(stream ? await new Response(stream).arrayBuffer() : bytes, name.replace(/\.npy$/, ""));
    }));
  }

  // The arrays of a file, which says by its name what it is.
  async function file(given) {
    const content = await given.arrayBuffer(), kind = /\w+$/.exec(given.name)[0].toLowerCase();
    return kind === "npz" ? npz(content) : kind === "npy" ? [npy(content)] : safetensors(content);
  }

  return { read, npy, safetensors, file, product, range, same, times, reordered };
})();
