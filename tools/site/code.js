// How many pixels of each block of code are out of sight.
return [...document.querySelectorAll("pre")].filter(shown).map((block) => {
  let value = 0;
  for (let e = block; e && e !== document.body; e = e.parentElement) {
    if (getComputedStyle(e).overflowX !== "visible") value = Math.max(value, e.scrollWidth - e.clientWidth);
  }
  return { element: describe(block), value };
});
