// The search, from a server or from a disk; its index is loaded with the first question.
// What is counted and compared stands first and needs no page; the dialog comes after it.
var bookSearch = (function () {
  "use strict";
  var GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(" ");
  var SIGNS = { "√": "sqrt", "∞": "infinity", "∏": "prod", "∂": "partial", "ϵ": "epsilon", "Σ": "sum" };
  var OPTIONAL = " a an and are as at be by can do does for from has have how i if in is it its my not of on one or so that the there these they this to was what when where which who why will with you your ";
  // What the words of a title are worth, by the kind of what bears it; the text is worth 1.
  var WEIGHTS = { page: 12, section: 4, theorem: 8, "function": 11, term: 9, proof: 1.5, exercise: 8, solution: 1.5, figure: 1, source: 1 };
  var WORD = /[√∞∏∂ϵ]|\p{Script=Greek}|[\p{Script=Latin}\p{N}\u0300-\u036f]+(?:[_.'’-][\p{Script=Latin}\p{N}\u0300-\u036f]+)*/gu;

  // Plural and tense: weights, weighted, weighting are one word.
  function stem(word) {
    var w = word;
    if (w.length < 4 || /[\d_]/.test(w)) return w;
    w = w.replace(/ies$/, "y").replace(/(ss|x|ch|sh)es$/, "$1").replace(/([^sui])s$/, "$1");
    var root = w.replace(/(ing|ed)$/, "");
    if (root !== w && root.length > 2 && /[aeiouy]/.test(root)) w = root.replace(/([bdgmnprt])\1$/, "$1");
    return w.length > 3 ? w.replace(/e$/, "") : w;
  }

  // The ways to write a word: whole, and by its parts (causal_mask, FlashAttention, multi-head).
  var written = new Map();
  function forms(word) {
    var known = written.get(word);
    if (!known) written.set(word, (known = spell(word)));
    return known;
  }

  function spell(written) {
    var first = written[0];
    if (SIGNS[first]) return [SIGNS[first]];
    var greek = /\p{Script=Greek}/u.test(first) && first.toLowerCase().charCodeAt(0) - 945;
    if (greek !== false) return GREEK[greek] ? [GREEK[greek]] : [];
    var plain = written.normalize("NFD").replace(/[\u0300-\u036fᵀ]/g, "").replace(/['’]s?$/, "");
    var whole = plain.toLowerCase();
    if (/^\d/.test(whole)) return [whole];
    var parts = plain.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase().split(/[_.'’-]+/);
    if (parts.length === 1) return [whole];
    var joined = parts.join("");
    return (joined.length < 4 ? [whole, joined] : [whole, joined].concat(parts)).filter(function (form, i, all) {
      return form && all.indexOf(form) === i;
    });
  }

  function tokens(text) {
    var found = [], match;
    WORD.lastIndex = 0;
    while ((match = WORD.exec(text))) {
      found.push({ start: match.index, end: WORD.lastIndex, forms: forms(match[0]) });
    }
    return found;
  }

  // Counts the words: which stand in which line. A line is a sentence, a title or a question.
  function prepare(index) {
    var lines = [], entries = [], postings = new Map();
    function add(entry, text, title) {
      var number = lines.length, count = 0;
      lines.push({ text: text, entry: entry, title: title }); // title: what its words are worth
      tokens(text).forEach(function (token) {
        if (!OPTIONAL.includes(" " + token.forms[0] + " ")) count += Math.max(1, token.forms.length - 2);
        token.forms.forEach(function (form) {
          var list = postings.get(form);
          if (!list) postings.set(form, (list = []));
          if (list[list.length - 1] !== number) list.push(number);
        });
      });
      lines[number].count = count;
    }
    index.pages.forEach(function (page, place) {
      page[3].forEach(function (fields, position) {
        var number = entries.length, kind = index.kinds[fields[1]];
        entries.push({
          page: place, kind: kind, title: fields[2], first: number - position,
          address: page[0] + (fields[0] && "#" + fields[0]), line: -1
        });
        if (fields[2]) add(number, fields[2], 1);
        if (kind === "page") {
          if (page[1]) add(number, page[1], 1);
          add(number, page[0].replace(/(index)?\.html$|[\/-]/g, " "), 0.7);
        }
        if (fields[3]) entries[number].line = lines.length;
        if (fields[3]) fields[3].split("\n").forEach(function (sentence) { add(number, sentence, 0); });
      });
    });
    var vocabulary = Array.from(postings.keys()).sort(), stems = new Map();
    vocabulary.forEach(function (word) {
      var root = stem(word);
      if (!stems.has(root)) stems.set(root, []);
      stems.get(root).push(word);
    });
    return { pages: index.pages, lines: lines, entries: entries, postings: postings, vocabulary: vocabulary, stems: stems, known: new Map() };
  }

  // How many letters to change, drop, add or swap; of the beginning of a word while one types.
  function distance(a, b, limit, beginning) {
    var before, last = [], row = [], i, j;
    for (j = 0; j <= b.length; j++) row.push(j);
    for (i = 1; i <= a.length; i++) {
      before = last; last = row; row = [i];
      var least = i;
      for (j = 1; j <= b.length; j++) {
        var best = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, before[j - 2] + 1);
        row.push(best);
        if (best < least) least = best;
      }
      if (least > limit) return limit + 1;
    }
    return beginning ? Math.min.apply(null, row) : row[b.length];
  }

  // The word of the book that was meant: the nearest, and of equally near ones the commonest.
  function nearest(book, word, last) {
    var limit = word.length < 4 ? 0 : word.length < 7 ? 1 : 2, best = null, closest = 9, most = 0;
    if (limit && !/\d/.test(word)) {
      book.vocabulary.forEach(function (other) {
        if (other[0] !== word[0] || other.length < word.length - limit || other === word) return;
        if (/[_.\d]/.test(other) || stem(other) === stem(word)) return;
        var whole = other.length <= word.length + limit;
        if (!whole && !last) return;
        var far = distance(word, other, limit, !whole), often = book.postings.get(other).length;
        if (!whole) far += 0.5;
        if (far > limit + 0.5) return;
        if (far < closest || (far === closest && often > most)) { closest = far; most = often; best = other; }
      });
    }
    return best && { word: best, far: closest, often: most };
  }

  // The words of the book that stand for a word of the question, each with how well it does.
  function meanings(book, word, last) {
    var key = word + (last ? "*" : "");
    if (book.known.has(key)) return book.known.get(key);
    var found = new Map(), root = stem(word), instead = "";
    function put(other, quality) {
      if (!(found.get(other) >= quality)) found.set(other, quality);
    }
    (book.stems.get(root) || []).forEach(function (other) { put(other, 0.9); });
    if (word.length > 1) {
      var low = 0, high = book.vocabulary.length;
      while (low < high) {
        var middle = (low + high) >> 1;
        if (book.vocabulary[middle] < word) low = middle + 1;
        else high = middle;
      }
      for (; low < book.vocabulary.length && book.vocabulary[low].startsWith(word); low++) {
        put(book.vocabulary[low], (last ? 0.8 : 0.4) * (0.6 + 0.4 * word.length / book.vocabulary[low].length));
      }
    }
    if (book.postings.has(word)) put(word, 1);
    var often = 0;
    found.forEach(function (quality, other) { if (quality >= 0.9) often += book.postings.get(other).length; });
    // A word that the book has hardly ever may be a slip for one that it has often.
    if (!found.size || (often && often < 4 && word.length > 4)) {
      var other = nearest(book, word, last && !found.size);
      if (other && (!found.size || (other.far <= 1 && other.often > 10 * often))) {
        instead = other.word;
        (book.stems.get(stem(instead)) || []).forEach(function (same) { put(same, found.size ? 0.6 : 0.7); });
      }
    }
    var result = { found: found, instead: instead };
    if (book.known.size > 500) book.known.clear();
    book.known.set(key, result);
    return result;
  }

  // The words of a question; TeX is read as it is spoken.
  function ask(book, question) {
    var text = question
      .replace(/\\(?:left|right|text|mathrm|operatorname|[td]?frac|top)(?![a-z])|\\[,;:! ]/gi, " ")
      .replace(/([_^])\{([^{}]*)\}/g, "$1$2").replace(/[\\{}]/g, " ")
      .replace(/\b(sa)[ -]?0*(\d{1,3})\b/gi, function (all, sa, number) {
        return /\s$/.test(question) || number.length > 1 || all.length > 4 ? "SA" + ("00" + number).slice(-3) : all;
      });
    var asked = [], last = !/\s$/.test(question), all = tokens(text);
    all.forEach(function (token, i) {
      var end = last && i === all.length - 1;
      var whole = token.forms[0] && meanings(book, token.forms[0], end);
      var parts = whole && !whole.found.size || whole && whole.instead ? token.forms.slice(2) : [];
      (parts.length ? parts : token.forms.slice(0, 1)).forEach(function (form) {
        var meant = meanings(book, form, end), often = 0;
        meant.found.forEach(function (quality, word) { if (quality >= 0.5) often = Math.max(often, book.postings.get(word).length); });
        asked.push({
          word: form, words: meant.found, instead: meant.instead,
          rarity: Math.log(1 + book.lines.length / (1 + often)),
          needed: form.length > 1 && !OPTIONAL.includes(" " + form + " ")
        });
      });
    });
    if (!asked.some(function (one) { return one.needed; })) asked.forEach(function (one) { one.needed = true; });
    return asked.slice(0, 8);
  }

  // Finds the entries that have the words asked for, best first, by page.
  function find(book, question) {
    var asked = ask(book, question), hits = new Map();
    asked.forEach(function (one, n) {
      one.words.forEach(function (quality, word) {
        book.postings.get(word).forEach(function (line) {
          var seen = hits.get(line);
          if (!seen) hits.set(line, (seen = new Float32Array(asked.length)));
          if (seen[n] < quality) seen[n] = quality;
        });
      });
    });
    var found = new Map();
    hits.forEach(function (seen, line) {
      var number = book.lines[line].entry, one = found.get(number);
      if (!one) found.set(number, (one = { titles: [], lines: [], best: new Float32Array(asked.length) }));
      one[book.lines[line].title ? "titles" : "lines"].push(line);
      seen.forEach(function (quality, n) { if (one.best[n] < quality) one.best[n] = quality; });
    });
    function worth(line) {
      return asked.reduce(function (sum, one, n) { return sum + one.rarity * hits.get(line)[n]; }, 0);
    }
    function judge(number, one, whole) {
      var entry = book.entries[number], context = found.get(entry.first), score = 0, missing = 0, all = 0;
      asked.forEach(function (word, n) {
        all += word.rarity;
        if (one.best[n]) return;
        var around = context && context.titles.some(function (line) { return hits.get(line)[n]; });
        if (around) score += 0.3 * word.rarity;
        else if (word.needed) missing += word.rarity;
      });
      if (whole ? missing : missing >= all) return null;
      var title = 0, named = false;
      one.titles.forEach(function (line) {
        var seen = hits.get(line), words = 0, exact = true;
        asked.forEach(function (word, n) {
          if (seen[n]) words += word.needed ? seen[n] : 0;
          else if (word.needed) exact = false;
        });
        var share = Math.min(1, words / (entry.kind === "theorem" ? book.lines[line].count - 2 : book.lines[line].count));
        if (exact) named = true;
        title = Math.max(title, book.lines[line].title * worth(line) * (0.4 + 0.6 * share) * (exact ? 1 + share : 1));
      });
      score += title * WEIGHTS[entry.kind];
      var best = -1, most = 0;
      one.lines.forEach(function (line) {
        var text = book.lines[line].text;
        var value = worth(line) / (1 + text.length / 2000) * (/^In the code: | · /.test(text) ? 0.8 : 1);
        if (value > most) { most = value; best = line; }
      });
      score += most * (/proof|solution|source/.test(entry.kind) ? 0.8 : 1) + 0.4 * Math.log(1 + one.lines.length);
      if (/^SA\d{3}\b/.test(entry.title) && one.titles.some(function (line) {
        return asked[0].word.toUpperCase() === book.lines[line].text.slice(0, 5);
      })) score += 1000;
      // Under a name that says it all stands what it means, elsewhere the sentence that was found.
      return { entry: entry, score: score * Math.pow(1 - missing / all, 2), line: named || best < 0 ? entry.line : best };
    }
    var whole = true, results = [];
    while (!results.length) {
      found.forEach(function (one, number) {
        var result = judge(number, one, whole);
        if (result) results.push(result);
      });
      if (!whole) break;
      if (!results.length) whole = false;
    }
    results.sort(function (a, b) { return b.score - a.score; });
    var groups = new Map();
    results.forEach(function (result) {
      var page = result.entry.page;
      if (!groups.has(page)) groups.set(page, []);
      groups.get(page).push(result);
    });
    var meant = asked.filter(function (one) { return one.instead; });
    return {
      asked: asked,
      count: results.length,
      whole: whole,
      instead: meant.map(function (one) { return one.instead; }).join(" "),
      pages: Array.from(groups, function (group) {
        var page = book.pages[group[0]];
        return { title: page[3][0][2], question: page[1], part: page[2], results: group[1] };
      })
    };
  }

  // Cuts a text where the words that were found begin and end: [text, found, text, found, …].
  function cut(text, asked) {
    var parts = [], done = 0;
    tokens(text).forEach(function (token) {
      var hit = asked.some(function (one) {
        return (one.needed || asked.length === 1) && token.forms.some(function (form) { return one.words.has(form); });
      });
      if (!hit) return;
      parts.push(text.slice(done, token.start), text.slice(token.start, token.end));
      done = token.end;
    });
    parts.push(text.slice(done));
    return parts;
  }

  var search = { prepare: prepare, find: find, cut: cut, stem: stem, distance: distance };
  if (typeof document === "undefined") return search;

  // The page: a dialog over any page, or the page of the search itself.

  var source = document.currentScript.src, root = source.slice(0, source.indexOf("_static/"));
  var ROOM = 8, EACH = 3; // pages and places that the dialog shows; the page shows all pages
  var book = null, box = null, dialog = null;

  function make(tag, attributes, children) {
    var element = document.createElement(tag);
    Object.keys(attributes || {}).forEach(function (name) { element.setAttribute(name, attributes[name]); });
    (children || []).forEach(function (child) { if (child) element.append(child); });
    return element;
  }

  function marked(text, asked) {
    return cut(text, asked).map(function (part, i) { return i % 2 ? make("mark", {}, [part]) : part; });
  }

  var NAMES = { proof: "", solution: "", exercise: "", figure: "", theorem: "", page: "", section: "", "function": "function", term: "term", source: "source" };

  function link(result, page, asked) {
    var entry = result.entry, name = NAMES[entry.kind];
    var title = entry.title || page.title;
    var sentence = result.line < 0 ? "" : book.lines[result.line].text;
    return make("a", { href: root + entry.address }, [
      make("b", {}, marked(title, asked)), name && make("small", {}, [" " + name]),
      sentence && make("span", {}, marked(sentence, asked))
    ]);
  }

  function show() {
    var question = box.input.value.trim();
    box.list.replaceChildren();
    if (!question || /^[a-z]$/i.test(question)) { box.status.textContent = ""; return; }
    if (!book) { box.status.textContent = "Loading …"; return; }
    var found = find(book, box.input.value);
    var shown = found.pages.slice(0, dialog ? ROOM : found.pages.length);
    shown.forEach(function (page) {
      var first = page.results[0].entry.kind === "page";
      var from = first ? page.part : (page.part ? page.part + " › " : "") + page.title;
      box.list.append(make("li", {}, [from && make("p", {}, [from])].concat(page.results.slice(0, EACH).map(function (result) {
        return link(result, page, found.asked);
      }))));
    });
    if (shown.length < found.pages.length) {
      var all = root + "search.html?q=" + encodeURIComponent(question);
      box.list.append(make("li", {}, [make("a", { href: all }, [make("b", {}, ["All " + found.pages.length + " pages"])])]));
    }
    var places = found.count === 1 ? "1 place" : found.count + " places";
    var pages = found.pages.length === 1 ? "1 page" : found.pages.length + " pages";
    var told = found.count ? "Found in " + places + " on " + pages + "." : "Nothing found.";
    if (found.instead) told = "Showing results for “" + found.instead + "”. " + told;
    else if (found.count && !found.whole) told = "No place has all of these words. Some of them: " + told.charAt(0).toLowerCase() + told.slice(1);
    box.status.textContent = told;
    if (!found.count) {
      box.list.append(make("li", {}, [make("p", {}, [
        "Try fewer or shorter words, an id such as SA016, or look in the ",
        make("a", { href: root + "reference/glossary.html" }, ["glossary"]), ", the ",
        make("a", { href: root + "genindex.html" }, ["index of functions"]), " or the ",
        make("a", { href: root + "index.html" }, ["contents"]), "."
      ])]));
    }
  }

  function move(event) {
    var links = Array.from(box.list.querySelectorAll("a")), here = links.indexOf(document.activeElement);
    var typing = here < 0, next = null;
    if (event.key === "ArrowDown") next = links[here + 1];
    else if (event.key === "ArrowUp" && !typing) next = links[here - 1] || box.input;
    else if (event.key === "Home" && !typing) next = links[0];
    else if (event.key === "End" && !typing) next = links[links.length - 1];
    else if (event.key === "Enter" && event.target === box.input) {
      if (links.length) links[0].click();
      event.preventDefault();
    } else if (event.key === "Escape") {
      if (!typing) next = box.input;
      else if (dialog) { dialog.close(); event.preventDefault(); }
    } else if (!typing && event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) box.input.focus();
    if (next) { next.focus(); event.preventDefault(); }
  }

  var asked = false;

  function fetchIndex() {
    if (!asked) document.head.append(make("script", { src: root + "_static/search-index.js" }));
    asked = true;
  }

  function build(place) {
    var input = make("input", { type: "search", id: "question", name: "q", autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "search" });
    box = {
      input: input,
      status: make("p", { role: "status" }),
      list: make("ol", { "class": "found" })
    };
    var form = make("form", { role: "search", action: root + "search.html" }, [
      make("label", { "for": "question" }, ["Search the book"]), input, box.status
    ]);
    place.append(form, box.list);
    place.addEventListener("keydown", move);
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    input.addEventListener("input", function () {
      fetchIndex();
      show();
      try { sessionStorage.question = input.value; } catch (refused) { /* the next search begins empty */ }
    });
  }

  search.take = function (index) {
    book = prepare(index);
    if (box) show();
  };

  search.open = function () {
    if (!box) {
      dialog = make("dialog", { "class": "search", "aria-label": "Search" });
      document.body.append(dialog);
      build(dialog);
      var close = make("button", { type: "button" }, ["Close"]);
      dialog.firstChild.append(close);
      close.addEventListener("click", function () { dialog.close(); });
      try { box.input.value = sessionStorage.question || ""; } catch (refused) { /* then it is empty */ }
      dialog.addEventListener("click", function (event) {
        if (event.target === dialog || event.target.closest("a")) dialog.close();
      });
    }
    fetchIndex();
    show();
    if (dialog && !dialog.open) dialog.showModal();
    box.input.focus();
    box.input.select();
  };

  var place = document.getElementById("search");
  if (place) {
    build(place);
    box.input.value = new URLSearchParams(location.search).get("q") || "";
    if (box.input.value) fetchIndex();
    box.input.addEventListener("input", function () {
      var q = box.input.value;
      try {
        history.replaceState(null, "", q ? "?q=" + encodeURIComponent(q) : location.pathname);
      } catch (refused) { /* the address stays as it was */ }
    });
    box.input.focus();
  }
  return search;
})();
