// A lesson as a lecture: its figures, numbered formulas, statements, questions and what is marked as a slide,
// one after another, in large type. Each is the one of the page, moved into a dialog while it is shown, so that
// nothing is there twice and figures go on answering. It is fetched when it is asked for, with its stylesheet.
"use strict";
const bookLecture = (() => {
  const { make, button } = bookPage, main = document.getElementById("main");
  const title = main.querySelector(".kicker, h1").textContent;
  const unfolded = [...main.querySelectorAll("figure, .room, .math[id], .statement, .slide, .tag_slide")].filter((one) => !one.closest("details"));
  const slides = [...new Set(unfolded.map((one) => one.closest(".cell, .room, .statement, .slide") ?? one))];
  const names = slides.map((one) => {
    const own = one.querySelector(":scope.room > .admonition-title, .kind, .caption-number, .eqno") ?? one.closest("section").querySelector("h1, h2");
    return own.firstChild.textContent.replace(/^(?=\()/, "Equation ").trim();
  });
  const place = new Comment(); // of what is shown
  const status = make("p", { role: "status" }), stage = make("div", { class: "stage", role: "region", "aria-label": "Slide", tabindex: -1 });
  const frame = make("div", { class: "frame" }), dialog = make("dialog", { class: "lecture", "aria-label": title }, frame);
  let at = (new URLSearchParams(location.search).get("lecture") || 1) - 1;

  const full = () => (document.fullscreenElement ? document.exitFullscreen() : frame.requestFullscreen());
  const back = button("Back", () => show(at - 1)), next = button("Next", () => show(at + 1));
  const buttons = [back, next, frame.requestFullscreen && button("Full screen", full), button("Leave", () => dialog.close())];
  const keys = make("small", {}, "Keys: ← →, space, Home, End; Enter for the answers, F for the full screen, Esc to leave");
  frame.append(make("header", {}, make("h2", {}, title), status, make("div", { class: "buttons" }, buttons), keys), stage);
  document.body.append(dialog);

  function putBack() {
    if (!place.parentNode) return;
    for (const fold of stage.querySelectorAll(".room details")) fold.open = false;
    place.replaceWith(stage.firstChild);
  }

  function show(number) {
    putBack();
    at = Math.max(0, Math.min(slides.length - 1, number));
    slides[at].replaceWith(place);
    stage.append(slides[at]);
    stage.scrollTop = 0;
    status.textContent = `${at + 1} of ${slides.length}: ${names[at]}`;
    back.disabled = at === 0;
    next.disabled = at === slides.length - 1;
    keys.hidden = at > 0;
    stage.focus();
  }

  // After a click in a figure, the keys are those of the lecture again, unless one types there.
  for (const kind of ["pointerup", "click"]) {
    stage.addEventListener(kind, (event) => {
      if (event.pointerType && !event.target.closest("input:not([type=range]), select, textarea")) setTimeout(() => stage.focus({ preventScroll: true }));
    });
  }

  // What has keys of its own keeps them, except those of a presenter.
  frame.onkeydown = (event) => {
    const { key } = event, own = event.target.closest("button, input, select, textarea, .stage :not(.room > details) > summary, a, [tabindex]") !== stage;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || (own && !key.startsWith("Page"))) return;
    const to = { ArrowRight: at + 1, PageDown: at + 1, ArrowLeft: at - 1, PageUp: at - 1, " ": at + (event.shiftKey ? -1 : 1), Home: 0, End: slides.length - 1 }[key];
    const fold = stage.querySelector(".room details");
    if (to !== undefined) show(to);
    else if (key === "Enter" && fold) {
      fold.open = !fold.open;
      fold.firstElementChild.focus(); // and is heard to be open
    }
    else if (/^f$/i.test(key)) full();
    else return;
    event.preventDefault();
  };
  dialog.onclose = async () => {
    putBack();
    if (document.fullscreenElement) await document.exitFullscreen();
    main.querySelector("button.lecture").focus(); // an address may have opened it
  };

  function open() {
    dialog.showModal();
    show(at);
  }
  const looks = make("link", { rel: "stylesheet", href: new URL("lecture.css", document.currentScript.src) });
  looks.onload = open;
  document.head.append(looks);
  return { open };
})();
