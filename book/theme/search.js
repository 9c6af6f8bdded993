// The search, from a server or from a disk; its index is loaded with the first question.
// What is counted and compared stands first and needs no page; the dialog comes after it.
const bookSearch = (() => {
  "use strict";
  const GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(" ");
  const SIGNS = { "√": "sqrt", "∞": "infinity", "∏": "prod", "∂": "partial", "ϵ": "epsilon", "Σ": "sum" };
  const OPTIONAL = " a an and are as at be by can do does for from has have how i if in is it its my not of on one or so that the there these they this to was what when where which who why will with you your ";
  // What the words of a title are worth, by the kind of what bears it; the text is worth 1.
  const WEIGHTS = { page: 12, section: 4, theorem: 8, function: 11, term: 9, proof: 1.5, exercise: 8, solution: 1.5, figure: 1, source: 1 };
  const WORD = /[√∞∏∂ϵ]|\p{Script=Greek}|[\p{Script=Latin}\p{N}\u0300-\u036f]+(?:[_.'’-][\p{Script=Latin}\p{N}\u0300-\u036f]+)*/gu;

  // Plural and tense: weights, weighted, weighting are one word.
  function stem(word) {
    let w = word;
    if (w.length < 4 || /[\d_]/.test(w)) return w;
    w = w.replace(/ies$/, "y").replace(/(ss|x|ch|sh)es$/, "$1").replace(/([^sui])s$/, "$1");
    const root = w.replace(/(ing|ed)$/, "");
    if (root !== w && root.length > 2 && /[aeiouy]/.test(root)) w = root.replace(/([bdgmnprt])\1$/, "$1");
    return w.length > 3 ? w.replace(/e$/, "") : w;
  }

  // The ways to write a word: whole, and by its parts (causal_mask, FlashAttention, multi-head).
  const written = new Map();
  function forms(word) {
    if (!written.has(word)) written.set(word, spell(word));
    return written.get(word);
  }

  function spell(written) {
    const first = written[0];
    if (SIGNS[first]) return [SIGNS[first]];
    const greek = /\p{Script=Greek}/u.test(first) && first.toLowerCase().charCodeAt(0) - 945;
    if (greek !== false) return GREEK[greek] ? [GREEK[greek]] : [];
    const plain = written.normalize("NFD").replace(/[\u0300-\u036fᵀ]/g, "").replace(/['’]s?$/, "");
    const whole = plain.toLowerCase();
    if (/^\d/.test(whole)) return [whole];
    const parts = plain.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase().split(/[_.'’-]+/);
    if (parts.length === 1) return [whole];
    const joined = parts.join("");
    return joined.length < 4 ? [whole, joined] : [whole, joined, ...parts].filter(Boolean);
  }

  function tokens(text) {
    return [...text.matchAll(WORD)].map(({ 0: word, index }) => ({
      start: index, end: index + word.length, forms: forms(word),
    }));
  }

  // Counts the words: which stand in which line. A line is a sentence, a title or a question.
  function prepare(index) {
    const lines = [], entries = [], postings = new Map();
    function add(entry, text, title) {
      const number = lines.length;
      let count = 0;
      lines.push({ text, entry, title }); // title: what its words are worth
      for (const token of tokens(text)) {
        if (!OPTIONAL.includes(` ${token.forms[0]} `)) count += Math.max(1, token.forms.length - 2);
        for (const form of token.forms) {
          if (!postings.has(form)) postings.set(form, []);
          const list = postings.get(form);
          if (list.at(-1) !== number) list.push(number);
        }
      }
      lines[number].count = count;
    }
    index.pages.forEach(([address, question, , places], page) => {
      const first = entries.length;
      for (const [id, of, title, text] of places) {
        const number = entries.length, kind = index.kinds[of];
        entries.push({ page, kind, title, first, address: address + (id && `#${id}`), line: -1 });
        for (const name of kind === "term" ? title.split(", ") : [title]) if (name) add(number, name, 1);
        if (kind === "page") {
          if (question) add(number, question, 1);
          add(number, address.replace(/(index)?\.html$|[\/-]/g, " "), 0.7);
        }
        if (!text) continue;
        entries[number].line = lines.length;
        for (const sentence of text.split("\n")) add(number, sentence, 0);
      }
    });
    const vocabulary = [...postings.keys()].sort(), stems = new Map();
    for (const word of vocabulary) {
      const root = stem(word);
      if (!stems.has(root)) stems.set(root, []);
      stems.get(root).push(word);
    }
    return { pages: index.pages, lines, entries, postings, vocabulary, stems, known: new Map() };
  }

  // How many letters to change, drop, add or swap; of the beginning of a word while one types.
  function distance(a, b, limit, beginning) {
    let before, last = [], row = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      before = last; last = row; row = [i];
      let least = i;
      for (let j = 1; j <= b.length; j++) {
        let best = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, before[j - 2] + 1);
        row.push(best);
        if (best < least) least = best;
      }
      if (least > limit) return limit + 1;
    }
    return beginning ? Math.min(...row) : row[b.length];
  }

  // The word of the book that was meant: the nearest, and of equally near ones the commonest.
  function nearest(book, word, last) {
    const limit = word.length < 4 ? 0 : word.length < 7 ? 1 : 2;
    let best = null, closest = 9, most = 0;
    if (limit && !/\d/.test(word)) {
      for (const other of book.vocabulary) {
        if (other[0] !== word[0] || other.length < word.length - limit || other === word) continue;
        if (/[_.\d]/.test(other) || stem(other) === stem(word)) continue;
        const whole = other.length <= word.length + limit;
        if (!whole && !last) continue;
        const far = distance(word, other, limit, !whole) + (whole ? 0 : 0.5), often = book.postings.get(other).length;
        if (far > limit + 0.5) continue;
        if (far < closest || (far === closest && often > most)) { closest = far; most = often; best = other; }
      }
    }
    return best && { word: best, far: closest, often: most };
  }

  // The words of the book that stand for a word of the question, each with how well it does.
  function meanings(book, word, last) {
    const key = word + (last ? "*" : "");
    if (book.known.has(key)) return book.known.get(key);
    const found = new Map();
    let instead = "", often = 0;
    const put = (other, quality) => {
      if (!(found.get(other) >= quality)) found.set(other, quality);
    };
    for (const other of book.stems.get(stem(word)) || []) put(other, 0.9);
    if (word.length > 1 && !/^\d/.test(word)) { // 1 is not the beginning of 13
      for (const other of book.vocabulary) {
        if (other.startsWith(word)) put(other, (last ? 0.8 : 0.4) * (0.6 + 0.4 * word.length / other.length));
      }
    }
    if (book.postings.has(word)) put(word, 1);
    for (const [other, quality] of found) if (quality >= 0.9) often += book.postings.get(other).length;
    // A word that the book has hardly ever may be a slip for one that it has often.
    if (!found.size || (often && often < 4 && word.length > 4)) {
      const other = nearest(book, word, last && !found.size);
      if (other && (!found.size || (other.far <= 1 && other.often > 10 * often))) {
        instead = other.word;
        for (const same of book.stems.get(stem(instead)) || []) put(same, found.size ? 0.6 : 0.7);
      }
    }
    const result = { found, instead };
    book.known.set(key, result);
    return result;
  }

  // The two words that were written as one: kvcache is KV cache.
  function apart(book, word) {
    let best = [], most = 0;
    for (let cut = 2; cut < word.length - 1; cut++) {
      const pair = [word.slice(0, cut), word.slice(cut)];
      if (pair.some((half) => OPTIONAL.includes(` ${half} `))) continue;
      const [one, other] = pair.map((half) => book.postings.get(half) || []);
      const lines = new Set(one), often = other.filter((line) => lines.has(line)).length;
      if (often > most) { most = often; best = pair; }
    }
    return best;
  }

  // The words of a question; TeX is read as it is spoken.
  function ask(book, question) {
    const text = question
      .replace(/\\(?:left|right|text|mathrm|operatorname|[td]?frac|top)(?![a-z])|\\[,;:! ]/gi, " ")
      .replace(/([_^])\{([^{}]*)\}/g, "$1$2").replace(/[\\{}]/g, " ")
      .replace(/\b(sa)[ -]?0*(\d{1,3})\b/gi, (all, sa, number) => {
        return /\s$/.test(question) || number.length > 1 || all.length > 4 ? `SA${number.padStart(3, "0")}` : all;
      });
    const asked = [], last = !/\s$/.test(question), all = tokens(text);
    all.forEach((token, i) => {
      const end = last && i === all.length - 1;
      const whole = token.forms[0] && meanings(book, token.forms[0], end);
      let parts = whole && (!whole.found.size || whole.instead) ? token.forms.slice(2) : [];
      if (whole && !whole.found.size && !parts.length) parts = apart(book, token.forms[0]);
      for (const word of parts.length ? parts : token.forms.slice(0, 1)) {
        const { found: words, instead } = meanings(book, word, end);
        let often = 0;
        for (const [other, quality] of words) if (quality >= 0.5) often = Math.max(often, book.postings.get(other).length);
        const rarity = Math.log(1 + book.lines.length / (1 + often));
        const size = parts.length ? 1 : Math.max(1, token.forms.length - 2);
        asked.push({ word, words, instead, rarity, size, needed: /..|\d/.test(word) && !OPTIONAL.includes(` ${word} `) });
      }
    });
    if (!asked.some((one) => one.needed)) for (const one of asked) one.needed = true;
    return asked.slice(0, 12);
  }

  // Finds the entries that have the words asked for, best first, by page.
  function find(book, question) {
    const asked = ask(book, question), hits = new Map();
    asked.forEach((one, n) => {
      for (const [word, quality] of one.words) {
        for (const line of book.postings.get(word)) {
          let seen = hits.get(line);
          if (!seen) hits.set(line, (seen = new Float32Array(asked.length)));
          if (seen[n] < quality) seen[n] = quality;
        }
      }
    });
    const found = new Map();
    for (const [line, seen] of hits) {
      const { entry, title } = book.lines[line];
      if (!found.has(entry)) found.set(entry, { titles: [], lines: [], best: new Float32Array(asked.length) });
      const one = found.get(entry);
      one[title ? "titles" : "lines"].push(line);
      seen.forEach((quality, n) => { one.best[n] = Math.max(one.best[n], quality); });
    }
    const phrase = asked.length > 2 ? question.trim().toLowerCase() : null; // such as the title of a paper
    const worth = (line) => asked.reduce((sum, one, n) => sum + one.rarity * hits.get(line)[n], 0);
    function judge(number, one, whole) {
      const entry = book.entries[number], context = found.get(entry.first);
      let score = 0, missing = 0, all = 0;
      asked.forEach((word, n) => {
        all += word.rarity;
        if (one.best[n]) return;
        const around = context?.titles.some((line) => hits.get(line)[n]);
        if (around) score += 0.3 * word.rarity;
        else if (word.needed) missing += word.rarity;
      });
      if (whole ? missing : missing >= all) return null;
      let title = 0, named = false, entire = false;
      for (const line of one.titles) {
        const seen = hits.get(line), { count, title: value } = book.lines[line];
        let words = 0, exact = true;
        asked.forEach((word, n) => {
          if (seen[n]) words += word.needed ? seen[n] * word.size : 0;
          else if (word.needed) exact = false;
        });
        const share = Math.min(1, words / (entry.kind === "theorem" ? count - 2 : count));
        if (exact) named = true;
        const full = exact && share === 1; // the whole title, and not a part of it
        entire ||= full;
        title = Math.max(title, (full ? 1.5 : 1) * value * worth(line) * (0.4 + 0.6 * share) * (exact ? 1 + share : 1));
      }
      score += title * WEIGHTS[entry.kind];
      let best = -1, most = 0;
      for (const line of one.lines) {
        const text = book.lines[line].text;
        const value = worth(line) / (1 + text.length / 2000) * (/^In the code: | · /.test(text) ? 0.8 : 1);
        if (value > most) { most = value; best = line; }
      }
      score += most * (/proof|solution|source/.test(entry.kind) ? 0.8 : 1) + 0.4 * Math.log(1 + one.lines.length);
      if (phrase && (entire || one.lines.some((line) => book.lines[line].text.toLowerCase().includes(phrase)))) score *= 10;
      const id = asked[0].word.toUpperCase();
      if (/^SA\d{3}\b/.test(entry.title) && one.titles.some((line) => book.lines[line].text.slice(0, 5) === id)) score += 1000;
      // Under a name that says it all stands what it means, elsewhere the sentence that was found.
      return { entry, score: score * (1 - missing / all) ** 2, line: named || best < 0 ? entry.line : best };
    }
    const judged = (whole) => [...found].map(([number, one]) => judge(number, one, whole)).filter(Boolean);
    const complete = judged(true), whole = complete.length > 0;
    const results = (whole ? complete : judged(false)).sort((a, b) => b.score - a.score);
    const groups = new Map();
    for (const result of results) {
      const page = result.entry.page;
      if (!groups.has(page)) groups.set(page, []);
      groups.get(page).push(result);
    }
    const pages = Array.from(groups, ([number, results]) => {
      const [, question, part, places] = book.pages[number];
      return { title: places[0][2], question, part, results };
    });
    const instead = asked.map((one) => one.instead).filter(Boolean).join(" ");
    return { asked, count: results.length, whole, instead, pages };
  }

  // Cuts a text where the words that were found begin and end: [text, found, text, found, …].
  function cut(text, asked) {
    const parts = [], marked = asked.filter((one) => one.needed || asked.length === 1);
    let done = 0;
    for (const { start, end, forms } of tokens(text)) {
      if (!marked.some((one) => forms.some((form) => one.words.has(form)))) continue;
      parts.push(text.slice(done, start), text.slice(start, end));
      done = end;
    }
    return [...parts, text.slice(done)];
  }

  const search = { prepare, find, cut, stem, distance };
  if (typeof document === "undefined") return search;

  // The page: a dialog over any page, or the page of the search itself.

  const source = document.currentScript.src, root = source.slice(0, source.indexOf("_static/"));
  const ROOM = 8, EACH = 3; // pages and places that the dialog shows; the page shows all pages
  const { make } = bookPage;
  let book = null, box = null, dialog = null, later;

  const marked = (text, asked) => cut(text, asked).map((part, i) => i % 2 ? make("mark", {}, part) : part);

  const NAMED = ["function", "term", "source"]; // whose kind is written beside the title

  function link(result, page, asked, beside) {
    const { kind, title, address } = result.entry, sentence = book.lines[result.line]?.text;
    return make("a", { href: root + address, ...beside },
      make("b", {}, marked(title || page.title, asked)),
      NAMED.includes(kind) && make("small", {}, ` ${kind}`),
      sentence && make("span", {}, marked(sentence, asked)));
  }

  // Say it at once for the eye, and for the ear when the hands rest.
  function tell(text) {
    box.told.textContent = text;
    clearTimeout(later);
    const first = box.list.querySelector("b");
    later = setTimeout(() => { box.spoken.textContent = text + (first ? ` First: ${first.textContent}` : ""); }, 800);
  }

  function show() {
    const question = box.input.value.trim();
    box.list.replaceChildren();
    if (!question || /^[a-z]$/i.test(question)) {
      tell("A term, a function, a formula such as √d_k, or an id such as SA016.");
      return;
    }
    if (!book) { tell("Loading …"); return; }
    const found = find(book, box.input.value);
    const shown = found.pages.slice(0, dialog ? ROOM : found.pages.length);
    for (const page of shown) {
      const first = page.results[0].entry.kind === "page";
      const from = first ? page.part : (page.part ? `${page.part} › ` : "") + page.title;
      const id = `found-${box.list.children.length}`, beside = from ? { "aria-describedby": id } : {};
      const links = page.results.slice(0, EACH).map((result) => link(result, page, found.asked, beside));
      box.list.append(make("li", {}, from && make("p", { id }, from), links));
    }
    if (shown.length < found.pages.length) {
      const all = `${root}search.html?q=${encodeURIComponent(question)}`;
      box.list.append(make("li", {}, make("a", { href: all }, make("b", {}, `All ${found.pages.length} pages`))));
    }
    const places = found.count === 1 ? "1 place" : `${found.count} places`;
    const pages = found.pages.length === 1 ? "1 page" : `${found.pages.length} pages`;
    let told = found.count ? `Found in ${places} on ${pages}.` : "Nothing found.";
    if (found.instead) told = `Showing results for “${found.instead}”. ${told}`;
    else if (found.count && !found.whole) told = `No place has all of these words. Some of them: ${told[0].toLowerCase()}${told.slice(1)}`;
    tell(told);
    if (!found.count) {
      box.list.append(make("li", {}, make("p", {},
        "Try fewer or shorter words, an id such as SA016, or look in the ",
        make("a", { href: `${root}reference/glossary.html` }, "glossary"), ", the ",
        make("a", { href: `${root}genindex.html` }, "index"), " or the ",
        make("a", { href: `${root}index.html` }, "contents"), ".")));
    }
  }

  function move(event) {
    const links = [...box.list.querySelectorAll("a")], here = links.indexOf(document.activeElement);
    const typing = here < 0;
    let next;
    if (event.key === "ArrowDown") next = links[here + 1];
    else if (event.key === "ArrowUp" && !typing) next = links[here - 1] || box.input;
    else if (event.key === "Home" && !typing) next = links[0];
    else if (event.key === "End" && !typing) next = links.at(-1);
    else if (event.key === "Enter" && event.target === box.input) {
      if (links.length) links[0].click();
      event.preventDefault();
    } else if (event.key === "Escape") {
      if (!typing) next = box.input;
      else if (dialog) { dialog.close(); event.preventDefault(); }
    } else if (!typing && event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) box.input.focus();
    if (next) { next.focus(); event.preventDefault(); }
  }

  let asked = false;

  function fetchIndex() {
    if (!asked) document.head.append(make("script", { src: `${root}_static/search-index.js` }));
    asked = true;
  }

  function build(place) {
    const input = make("input", { type: "search", id: "question", name: "q", autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "search" });
    box = { input, told: make("p", { class: "told" }), spoken: make("p", { role: "status", class: "unseen" }), list: make("ol", { class: "found" }) };
    const form = make("form", { role: "search", action: `${root}search.html` },
      make("label", { for: "question" }, "Search the book"), input, box.told, box.spoken);
    place.append(form, box.list);
    place.addEventListener("keydown", move);
    form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", () => {
      fetchIndex();
      show();
      try { sessionStorage.question = input.value; } catch { /* the next search begins empty */ }
    });
  }

  search.take = (index) => {
    book = prepare(index);
    if (box) show();
  };

  const takeFocus = () => {
    box.input.focus();
    box.input.select();
  };

  search.open = () => {
    if (!box) {
      dialog = make("dialog", { class: "search", "aria-label": "Search" });
      document.body.append(dialog);
      build(dialog);
      dialog.firstChild.append(bookPage.button("Close", () => dialog.close()));
      try { box.input.value = sessionStorage.question || ""; } catch { /* then it is empty */ }
      dialog.addEventListener("click", (event) => {
        if (event.target === dialog || event.target.closest("a")) dialog.close();
      });
    }
    fetchIndex();
    show();
    if (dialog && !dialog.open) dialog.showModal();
    bookPage.seen.then(takeFocus);
  };

  const place = document.getElementById("search");
  if (place) {
    build(place);
    box.input.value = new URLSearchParams(location.search).get("q") || "";
    if (box.input.value) fetchIndex();
    box.input.addEventListener("input", () => {
      const q = box.input.value;
      try {
        history.replaceState(null, "", q ? `?q=${encodeURIComponent(q)}` : location.pathname);
      } catch { /* the address stays as it was */ }
    });
    bookPage.seen.then(() => box.input.focus());
  }
  return search;
})();
