// The height of what each figure shows, without its caption.
return [...document.querySelectorAll("main figure")].filter(shown).map((figure) => {
  const boxes = [...figure.children].filter((e) => e.localName !== "figcaption" && shown(e))
    .map((e) => e.getBoundingClientRect());
  const value = Math.max(...boxes.map((box) => box.bottom)) - Math.min(...boxes.map((box) => box.top));
  return { element: describe(figure), value: boxes.length ? value : 0 };
});
