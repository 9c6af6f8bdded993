// Text of less than 12 px outside of formulas and drawings.
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
while (walker.nextNode()) {
  const { data, parentElement: one } = walker.currentNode;
  if (!data.trim() || one.closest("math, svg, .unseen, script, noscript") || !shown(one)) continue;
  if (parseFloat(getComputedStyle(one).fontSize) < 12) found.push(describe(one));
}
return found;
