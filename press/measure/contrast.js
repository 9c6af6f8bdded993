// The contrast of each piece of text in HTML with what is behind it; with options.onWhite, the lesser
// of that and its contrast with white paper, where backgrounds are not printed.
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const elements = new Set();
while (walker.nextNode()) {
  if (walker.currentNode.data.trim()) elements.add(walker.currentNode.parentElement);
}
for (const element of elements) {
  if (element.closest("svg, script, style, noscript, template, annotation") || !shown(element)) continue;
  const behind = ground(element);
  const [red, green, blue, alpha] = color(getComputedStyle(element).color);
  const ink = over([red, green, blue, alpha * opacity(element)], behind);
  const value = Math.min(contrast(ink, behind), options.onWhite ? contrast(ink, WHITE) : 21);
  found.push({ element, value });
}
return found.sort((a, b) => a.value - b.value).slice(0, 50)
  .map(({ element, value }) => ({ element: describe(element), value }));
