// What a reader can do without: the theme, copying, searching, menus that close, boxes that scroll by keyboard.
(function () {
  "use strict";
  var root = document.documentElement;
  var dark = matchMedia("(prefers-color-scheme: dark)");
  try {
    if (localStorage.theme) root.dataset.theme = localStorage.theme;
  } catch (refused) { /* a reader who stores nothing gets the theme of the system */ }

  function shown() {
    return root.dataset.theme || (dark.matches ? "dark" : "light");
  }

  function themes(button) {
    function tell() {
      button.setAttribute("aria-label", "Theme: " + shown());
    }
    button.hidden = false;
    button.onclick = function () {
      var next = shown() === "dark" ? "light" : "dark";
      var usual = next === (dark.matches ? "dark" : "light"); // then follow the system again
      if (usual) delete root.dataset.theme;
      else root.dataset.theme = next;
      try {
        if (usual) localStorage.removeItem("theme");
        else localStorage.theme = next;
      } catch (refused) { /* it holds for this page */ }
      tell();
    };
    dark.addEventListener("change", tell);
    tell();
  }

  function copies(pre) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.onclick = function () {
      var text = pre.textContent;
      if (/^>>> /m.test(text)) { // a session: what was typed, without prompts and answers
        text = text.split("\n").filter(function (line) { return /^(>>>|\.\.\.)( |$)/.test(line); })
          .map(function (line) { return line.slice(4); }).join("\n") + "\n";
      }
      navigator.clipboard.writeText(text).then(function () {
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = "Copy"; }, 1500);
      });
    };
    pre.parentNode.appendChild(button);
  }

  // A long list begins where the reader is.
  function center(list) {
    var current = list.querySelector("[aria-current]");
    if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
  }

  // Mark the section that is read in the list beside the text.
  function follow(list) {
    var links = Array.prototype.slice.call(list.querySelectorAll("ol ol a")), read = {};
    var observer = new IntersectionObserver(function (changes) {
      changes.forEach(function (change) { read[change.target.id] = change.isIntersecting; });
      var last = links.filter(function (link) { return read[link.hash.slice(1)]; }).pop();
      links.forEach(function (link) {
        if (link === last) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
    }, { rootMargin: "0px 0px -75% 0px" });
    links.forEach(function (link) { observer.observe(document.getElementById(link.hash.slice(1))); });
  }

  // A box that scrolls is a stop for the keyboard, and says what it is.
  function scrolls(box) {
    var wide = box.scrollWidth > box.clientWidth;
    if (wide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    if (box.tagName === "NAV") return;
    if (wide) box.setAttribute("role", "group");
    else box.removeAttribute("role");
    if (wide) box.setAttribute("aria-label", box.tagName === "PRE" ? "Code" : box.className === "table" ? "Table" : "Formula");
    else box.removeAttribute("aria-label");
  }

  // What an example is, beside its id, while the pointer or the keyboard is there.
  function tells(link) {
    var card = document.getElementById("about-" + link.textContent), later;
    if (!card || !card.showPopover) return; // the title of the link says it, too
    function soon(act) {
      return function (event) {
        clearTimeout(later);
        if (event.pointerType !== "touch") later = setTimeout(act, 200);
      };
    }
    function place() {
      var at = link.getBoundingClientRect();
      card.style.left = Math.max(8, Math.min(at.left, root.clientWidth - card.offsetWidth - 8)) + "px";
      var below = at.bottom + 6;
      card.style.top = (below + card.offsetHeight < innerHeight ? below : at.top - card.offsetHeight - 6) + "px";
    }
    function show() { card.showPopover(); place(); }
    function hide() { card.hidePopover(); }
    link.removeAttribute("title"); // or the browser would say it a second time
    link.setAttribute("aria-describedby", card.id);
    link.addEventListener("pointerenter", soon(show));
    link.addEventListener("focus", function () {
      if (link.matches(":focus-visible")) show();
    });
    link.addEventListener("pointerleave", soon(hide));
    link.addEventListener("blur", hide);
    card.addEventListener("pointerenter", function () { clearTimeout(later); });
    card.addEventListener("pointerleave", soon(hide));
    addEventListener("scroll", function () { // a link that is reached by Tab is scrolled to
      if (link.matches(":focus-visible")) place();
      else hide();
    }, { passive: true });
    addEventListener("keydown", function (event) { if (event.key === "Escape") { clearTimeout(later); hide(); } });
  }

  // What an address names inside of a fold is unfolded and brought into view.
  function unfold() {
    var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var fold = target && target.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) {
      fold.open = true;
    }
    if (target && target.closest("details")) target.scrollIntoView();
  }

  // Where several versions are published side by side: which they are, and a notice on an old one.
  function versions(known) {
    var root = document.querySelector("script[src*='_static/versions.js']").src.replace(/[^/]+\/_static\/.*/, "");
    var newest = known.all[0], old = known.here !== "latest" && known.here !== newest;
    var page = location.href.slice(location.href.indexOf("/", root.length) + 1).replace(/[?#].*/, "");
    function lacks(version) {
      return (known.lacks[version] || []).indexOf(page.replace(/(^|\/)$/, "$1index.html")) >= 0;
    }
    function link(version, text) {
      var link = document.createElement("a");
      link.href = root + (version === newest && old ? "latest" : "v" + version) + "/" + (lacks(version) ? "" : page);
      link.textContent = text;
      link.onclick = function () { if (!lacks(version)) link.hash = location.hash; };
      return link;
    }
    function say(place, words, links) {
      place.append(words);
      links.forEach(function (one, i) { place.append(i ? ", " : "", one); });
      place.append(".");
      return place;
    }
    var others = known.all.filter(function (name) {
      return name !== known.here && (known.here !== "latest" || name !== newest);
    });
    var foot = say(document.createElement("p"), "Other versions: ", others.map(function (name) {
      return link(name, name + (lacks(name) ? " (without this page)" : ""));
    }));
    if (known.here === "latest") say(foot, " This version, to cite: ", [link(newest, newest)]);
    document.querySelector(".foot p").after(foot);
    if (!old) return;
    var notice = document.createElement("p");
    notice.className = "outdated";
    notice.setAttribute("role", "note");
    document.querySelector("main").prepend(say(notice, "This is version " + known.here + ", and there is a newer one: ",
      [link(newest, lacks(newest) ? "version " + newest + ", without this page" : "this page in version " + newest)]));
  }

  addEventListener("DOMContentLoaded", function () {
    if (window.bookVersions && window.bookVersions.all.length > 1) versions(window.bookVersions);
    var all = function (selector) {
      return Array.prototype.slice.call(document.querySelectorAll(selector));
    };
    all(".theme").forEach(themes);
    all(".id-link").forEach(tells);
    if (navigator.clipboard) all(".cell_input pre, .highlight-python pre, .doctest pre, .copied pre, .copied > code").forEach(copies);
    var boxes = all("pre, .math-scroll, .table, .strip");
    var measure = function () { boxes.forEach(scrolls); };
    measure();
    addEventListener("resize", measure);
    addEventListener("toggle", measure, true); // what was folded had no width
    var find = document.querySelector(".find");
    function search(event) {
      event.preventDefault();
      bookSearch.open();
    }
    find.addEventListener("click", function (event) {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) search(event);
    });
    addEventListener("keydown", function (event) {
      var key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
      var writes = event.target.closest("input, textarea, select, [contenteditable]");
      if (key === "k" && control && !event.shiftKey && !event.altKey) search(event);
      else if (key === "/" && !control && !event.altKey && !writes) search(event);
    });
    var menus = all("details.menu");
    // A tap beside a menu closes it and does nothing else.
    addEventListener("click", function (event) {
      menus.forEach(function (menu) {
        if (!menu.open || menu.contains(event.target)) return;
        menu.open = false;
        if (!event.target.closest(".bar")) event.preventDefault();
      });
    }, true);
    menus.forEach(function (menu) {
      menu.addEventListener("toggle", function () { center(menu.lastElementChild); });
      menu.addEventListener("focusout", function (event) {
        if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
      });
    });
    addEventListener("keydown", function (event) {
      if (event.key !== "Escape") return;
      menus.forEach(function (menu) {
        if (menu.open) { menu.open = false; menu.firstElementChild.focus(); }
      });
    });
    var strip = document.querySelector(".strip"), here = document.querySelector(".strip .here");
    if (here) strip.scrollLeft = here.offsetLeft - strip.offsetLeft - 24;
    all(".part").forEach(function (list) {
      center(list);
      if (window.IntersectionObserver) follow(list);
    });
    unfold();
    addEventListener("hashchange", unfold);
  });
})();
