// How many pixels of each block of code are out of sight, also where it is folded.
const folds = [...document.querySelectorAll("details:not([open])")];
for (const fold of folds) fold.open = true;
const found = [...document.querySelectorAll("pre")].filter(shown).map((block) => {
  let value = 0;
  for (let e = block; e && e !== document.body; e = e.parentElement) {
    if (getComputedStyle(e).overflowX !== "visible") value = Math.max(value, e.scrollWidth - e.clientWidth);
  }
  return { element: describe(block), value };
});
for (const fold of folds) fold.open = false;
return found;
