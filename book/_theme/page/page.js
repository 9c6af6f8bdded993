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
      navigator.clipboard.writeText(pre.textContent).then(function () {
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = "Copy"; }, 1500);
      });
    };
    pre.parentNode.appendChild(button);
  }

  function scrolls(box) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }

  addEventListener("DOMContentLoaded", function () {
    var all = function (selector) {
      return Array.prototype.slice.call(document.querySelectorAll(selector));
    };
    all(".theme").forEach(themes);
    if (navigator.clipboard) all(".cell_input pre, .highlight-python pre, .copied pre").forEach(copies);
    var boxes = all("pre, .math-scroll, .table, .strip");
    var measure = function () { boxes.forEach(scrolls); };
    measure();
    addEventListener("resize", measure);
    addEventListener("toggle", measure, true); // what was folded had no width
    var find = document.querySelector(".find");
    function search(event) {
      event.preventDefault();
      if (window.bookSearch) return bookSearch.open();
      if (document.querySelector("script[src='" + find.dataset.script + "']")) return;
      var script = document.createElement("script");
      script.src = find.dataset.script;
      script.onload = function () { bookSearch.open(); };
      script.onerror = function () { location = find.href; };
      document.head.appendChild(script);
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
    addEventListener("click", function (event) {
      menus.forEach(function (menu) {
        if (menu.open && !menu.contains(event.target)) menu.open = false;
      });
    });
    addEventListener("keydown", function (event) {
      if (event.key !== "Escape") return;
      menus.forEach(function (menu) {
        if (menu.open) { menu.open = false; menu.firstElementChild.focus(); }
      });
    });
    var strip = document.querySelector(".strip"), here = document.querySelector(".strip .here");
    if (here) strip.scrollLeft = here.offsetLeft - strip.offsetLeft;
  });
})();
