// The characters of each full line of paragraphs of running text. A paragraph's last line is not full,
// nor one before a break; a line with a formula or a picture in it has no length in characters.
const found = [];
const APART = "figure, aside, table, li, dl, details, nav, header, footer, blockquote, [class*=statement]";
const paragraphs = [...document.querySelectorAll("main p")].filter((p) => !p.closest(APART) && shown(p));
const column = Math.max(...paragraphs.map((p) => p.clientWidth)); // narrower ones stand beside the text
for (const paragraph of paragraphs) {
  if (paragraph.clientWidth < 0.9 * column || paragraph.querySelector("br")) continue;
  if (getComputedStyle(paragraph).textAlign === "center") continue;
  const lines = []; // of { top, bottom, count }
  const range = document.createRange();
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("math, svg")) continue;
    for (const piece of node.data.matchAll(/\S+\s*/g)) {
      range.setStart(node, piece.index);
      range.setEnd(node, piece.index + piece[0].trimEnd().length);
      for (const box of range.getClientRects()) { // more than one where a word is broken
        const middle = (box.top + box.bottom) / 2;
        let line = lines.at(-1);
        if (!line || middle > line.bottom || middle < line.top) {
          lines.push(line = { top: box.top, bottom: box.bottom, count: 0 });
        }
        line.count += piece[0].replace(/\s+/g, " ").length / range.getClientRects().length;
      }
    }
  }
  if (lines.length < 3) continue;
  const apart = [...paragraph.querySelectorAll("math, svg, img")].map((e) => e.getBoundingClientRect());
  for (const line of lines.slice(0, -1)) {
    if (!apart.some((box) => box.top < line.bottom && box.bottom > line.top)) {
      found.push(Math.round(line.count) - 1); // without the space at the end
    }
  }
}
return found;
