// What a reader can do without: the theme, copying, searching, menus that close, boxes that scroll by keyboard.
"use strict";
const bookPage = {
  // Return an element with attributes and children; a child may be a list, and one that is empty is left out.
  make(tag, attributes = {}, ...children) {
    const svg = /^(g|circle|rect|path)$/.test(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.flat(Infinity).filter(Boolean));
    return element;
  },

  button(text, act, attributes = {}) {
    const one = bookPage.make("button", { type: "button", ...attributes }, text);
    one.onclick = act;
    return one;
  },

  // Copy a text, and say on the button that it is done.
  async copy(button, text) {
    const name = button.dataset.name ||= button.textContent;
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  },

  // What scrolls sideways is a stop for the keyboard and says what it is. It is measured after a layout, which forces none.
  boxes: new ResizeObserver((changes) => {
    for (const [box, wide] of changes.map(({ target }) => [target, target.scrollWidth > target.clientWidth])) {
      const label = box.matches("pre") ? "Code" : box.matches(".table") && "Table";
      for (const [name, value] of [["tabindex", 0], ...(label ? [["role", "group"], ["aria-label", label]] : [])]) {
        if (wide) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
    }
  }),
};
{
  const { make, copy, boxes } = bookPage, root = document.documentElement, own = document.currentScript.src;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  try {
    if (localStorage.theme) root.dataset.theme = localStorage.theme;
  } catch { /* a reader who stores nothing gets the theme of the system */ }

  // No line in sight moves when a font comes: all that it needs are here before it is seen, or late.
  const fonts = ["1em Computed Serif", "italic 1em Computed Serif", "600 1em Computed Serif", "1em Computed Sans", "600 1em Computed Sans"];
  const load = (font) => document.fonts.load(font), late = new Promise((done) => setTimeout(done, 500));
  const formulas = new Promise((done) => addEventListener("DOMContentLoaded", done))
    .then(() => document.querySelector("math")?.getBoundingClientRect().top < innerHeight && load("1em STIX Two Math"));
  root.style.visibility = "hidden";
  // Before, nothing can be focused.
  bookPage.seen = Promise.race([late, Promise.allSettled([...fonts.map(load), formulas])]).then(() => root.style.visibility = "");

  const shown = () => root.dataset.theme || (dark.matches ? "dark" : "light");

  function themes(button) {
    const tell = () => button.setAttribute("aria-label", `Theme: ${shown()}`);
    button.hidden = false;
    button.onclick = () => {
      const next = shown() === "dark" ? "light" : "dark";
      const usual = next === (dark.matches ? "dark" : "light"); // then follow the system again
      if (usual) delete root.dataset.theme;
      else root.dataset.theme = next;
      try {
        if (usual) localStorage.removeItem("theme");
        else localStorage.theme = next;
      } catch { /* it holds for this page */ }
      tell();
    };
    dark.addEventListener("change", tell);
    tell();
  }

  function copies(pre) {
    pre.parentNode.append(bookPage.button("Copy", ({ target }) => {
      let text = "here" in pre.dataset ? location.href.split(/[?#]/)[0] : pre.textContent;
      if (/^>>> /m.test(text)) { // a session: what was typed, without prompts and answers
        text = text.split("\n").filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => `${line.slice(4)}\n`).join("");
      }
      copy(target, text);
    }, { class: "copy" }));
  }

  // A long list begins where the reader is.
  function center(list) {
    const current = list.querySelector("[aria-current]");
    if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
  }

  // In a narrow window the bar leaves as one reads on. As one scrolls up it returns, with a list of the sections.
  function returns(bar) {
    const name = make("summary"), first = make("a", { href: "#main" }, document.title.split(" · ")[0]);
    const list = document.querySelector(".part a[href^='#'], .contents a")?.closest("ol").cloneNode(true);
    const now = make("details", { class: "menu now" }, name, make("nav", { "aria-label": "On this page" }, first, list));
    bar.firstElementChild.after(now);
    follow(now, name);
    let before = location.hash ? Infinity : 0; // whom a link brings here sees where that is
    addEventListener("scroll", () => {
      const far = scrollY > bar.offsetHeight;
      if (far && Math.abs(scrollY - before) < 8) return;
      bar.classList.toggle("slim", far);
      bar.classList.toggle("away", far && scrollY > before);
      bar.style.setProperty("--read", scrollY / (root.scrollHeight - innerHeight));
      before = scrollY;
    }, { passive: true });
  }

  // Name the section that is read, and mark it in the lists.
  function follow(now, name) {
    const links = [...now.querySelectorAll("a")], read = new Set();
    const part = (link) => {
      const target = document.getElementById(link.hash.slice(1));
      return target.closest("dt") ? target.parentElement : target; // a function is read below its signature
    };
    const parts = new Map(links.map((link) => [link, part(link)]));
    const observer = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) read[isIntersecting ? "add" : "delete"](target);
      const last = links.filter((link) => read.has(parts.get(link))).at(-1) || links[0];
      name.textContent = last.textContent;
      for (const link of document.querySelectorAll(".part a[href^='#'], .now a")) {
        if (link.hash === last.hash) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }, { rootMargin: "0px 0px -75% 0px" });
    for (const one of parts.values()) observer.observe(one);
  }

  // Where nothing hovers, a heading shows no sign: who taps it has its address.
  function address({ target }) {
    const head = !target.closest("a, button, summary") && target.closest("h1, h2, h3, .head, dt, .eqno, .caption-number");
    const link = head && (head.querySelector(".headerlink") || head.parentElement.querySelector(":scope > .headerlink"));
    if (!link) return;
    navigator.clipboard.writeText(link.href);
    link.classList.add("done");
    setTimeout(() => link.classList.remove("done"), 1500);
  }

  // What an example is, beside its id, while the pointer or the keyboard is there.
  function tells(link) {
    const card = document.getElementById(`about-${link.textContent}`);
    if (!card?.showPopover) return; // the title of the link says it, too
    link.removeAttribute("title"); // or the browser would say it a second time
    const heard = [...card.children].slice(0, 2); // not the names of all its arrays
    heard.forEach((one, i) => { one.id = `${card.id}-${i}`; });
    link.setAttribute("aria-describedby", heard.map((one) => one.id).join(" "));
    beside(link, () => card);
  }

  // A statement or an equation, of this page or kept in it from another one, beside a link to it.
  function previews(link) {
    if (/^\(\d+\)$/.test(link.textContent)) link.setAttribute("aria-label", `equation ${link.textContent}`);
    const name = link.hash.slice(1), kept = document.querySelector(`[data-preview="${name}"]`);
    const target = document.getElementById(name) || kept?.content.firstElementChild;
    if (!target?.showPopover) return;
    beside(link, () => {
      const copy = target.cloneNode(true), card = make("div", { class: "about preview", popover: "manual" }, copy);
      for (const one of card.querySelectorAll(".tested, .cite, .headerlink")) one.remove();
      for (const one of card.querySelectorAll("[id]")) one.removeAttribute("id");
      card.id = `preview-${name}`;
      link.setAttribute("aria-details", card.id);
      link.after(card); // the next to be heard, and to be reached
      return card;
    });
  }

  function beside(link, made) {
    let card, later;
    const soon = (act) => (event) => {
      clearTimeout(later);
      if (event.pointerType !== "touch") later = setTimeout(act, 200);
    };
    const place = () => {
      const at = link.getBoundingClientRect();
      card.style.left = `${Math.max(8, Math.min(at.left, root.clientWidth - card.offsetWidth - 8))}px`;
      const below = at.bottom + 6;
      card.style.top = `${Math.max(8, below + card.offsetHeight < innerHeight ? below : at.top - card.offsetHeight - 6)}px`;
    };
    const hide = () => card?.hidePopover();
    const show = () => {
      if (!card) {
        card = made();
        card.addEventListener("pointerenter", () => clearTimeout(later));
        card.addEventListener("pointerleave", soon(hide));
      }
      card.showPopover();
      place();
    };
    link.addEventListener("pointerenter", soon(show));
    link.addEventListener("focus", () => {
      if (link.matches(":focus-visible")) show();
    });
    link.addEventListener("pointerleave", soon(hide));
    link.addEventListener("blur", hide);
    addEventListener("scroll", () => { // a link that is reached by Tab is scrolled to
      if (card && link.matches(":focus-visible")) place();
      else hide();
    }, { passive: true });
    addEventListener("keydown", (event) => { if (event.key === "Escape") { clearTimeout(later); hide(); } });
  }

  // A lecture is fetched when one asks for it, or the address does.
  function lecture(button) {
    button.onclick = () => {
      button.onclick = () => bookLecture.open();
      document.head.append(make("script", { src: new URL("lecture.js", own) }));
    };
    if (/^\?lecture(=\d+)?$/.test(location.search)) button.click();
  }

  // Who comes back to the front page goes on where they were.
  function goesOn(main) {
    const key = "selfattn-last", own = [location.href.split("#")[0], document.title.split(" · ")[0]];
    try {
      if (document.body.matches(".lesson")) localStorage[key] = JSON.stringify(own);
      const [href, title] = JSON.parse(localStorage[key] || "[]"), ways = main.querySelector(".ways p");
      if (href && ways) ways.prepend(make("a", { href }, `Go on: ${title}`), " ");
    } catch { /* it does not remember */ }
  }

  // What an address names inside of a fold is unfolded and brought into view.
  function unfold() {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { /* #100% names nothing */ }
    const target = document.getElementById(name);
    for (let fold; (fold = target?.closest("details:not([open])"));) fold.open = true;
    if (target?.closest("details")) target.scrollIntoView();
  }

  addEventListener("DOMContentLoaded", () => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    all(".theme").forEach(themes);
    const chosen = new URLSearchParams(location.search).get("path");
    const onPath = all("[data-path]").filter((one) => one.dataset.path === chosen);
    for (const one of onPath) one.hidden = false;
    for (const one of onPath.length ? all(".next:not([data-path])") : []) one.hidden = true;
    all(".front main, .lesson main").forEach(goesOn);
    all(".lecture").forEach(lecture);
    all(".id-link").forEach(tells);
    all('main :is(a[href*="#thm-"], a[href*="#equation-"]):not(.headerlink)').forEach(previews);
    if (navigator.clipboard) all(".cell_input pre, .highlight-python pre, .doctest pre, .copied pre, .copied > code").forEach(copies);
    for (const box of all("pre, .math-scroll, .table, .strip")) boxes.observe(box);
    const search = (event) => {
      event.preventDefault();
      bookSearch.open();
    };
    document.querySelector(".find").addEventListener("click", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) search(event);
    });
    addEventListener("keydown", (event) => {
      const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
      const writes = event.target.closest("input, textarea, select, [contenteditable]");
      if (!event.altKey && (control ? key === "k" && !event.shiftKey : key === "/" && !writes)) search(event);
    });
    if (navigator.clipboard && matchMedia("(hover: none)").matches) addEventListener("click", address);
    all(".bar").forEach(returns);
    const menus = all("details.menu");
    // A tap beside a menu closes it and does nothing else; one on a link in it follows the link.
    addEventListener("click", (event) => {
      for (const menu of menus) {
        if (!menu.open || menu.contains(event.target) && !event.target.closest(".now a")) continue;
        menu.open = false;
        if (!event.target.closest(".bar")) event.preventDefault();
      }
    }, true);
    for (const menu of menus) {
      menu.addEventListener("toggle", () => center(menu.lastElementChild));
      menu.addEventListener("focusout", (event) => {
        if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
      });
      addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !menu.open) return;
        menu.open = false;
        menu.firstElementChild.focus();
      });
    }
    all(".strip").forEach((strip) => strip.addEventListener("focusin", ({ target }) => target.scrollIntoView({ block: "nearest", inline: "nearest" })));
    const strip = document.querySelector(".strip"), here = document.querySelector(".strip .here");
    requestAnimationFrame(() => {
      if (here) strip.scrollLeft = here.offsetLeft - strip.offsetLeft - 24;
      all(".part").forEach(center);
    });
    unfold();
    addEventListener("hashchange", unfold);
  });
}
