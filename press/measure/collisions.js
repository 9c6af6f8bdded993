// Texts that overlap another text, or through which the edge of a mark runs. Allowed: a text wholly on
// a filled mark that is painted before it (a cell and its number), and a text with a halo over marks.
const inside = (corners, point, margin) => corners.every((corner, i) => {
  const next = corners[(i + 1) % 4];
  const [dx, dy] = [next.x - corner.x, next.y - corner.y];
  const length = Math.hypot(dx, dy) || 1;
  const side = (dx * (point.y - corner.y) - dy * (point.x - corner.x)) / length;
  return turn(corners) * side >= -margin;
});
const turn = (corners) => Math.sign( // of the corners, as a drawing may be mirrored
  (corners[1].x - corners[0].x) * (corners[2].y - corners[0].y)
  - (corners[1].y - corners[0].y) * (corners[2].x - corners[0].x)) || 1;
const overlap = (one, other) => [one, other].every((corners) => corners.every((corner, i) => {
  const next = corners[(i + 1) % 4]; // no axis separates the two
  const [nx, ny] = [corner.y - next.y, next.x - corner.x];
  const shadow = (points) => points.map((point) => nx * point.x + ny * point.y);
  const [a, b] = [shadow(one), shadow(other)];
  return Math.min(...a) < Math.max(...b) && Math.min(...b) < Math.max(...a);
}));
const bounds = (corners, margin = 0) => {
  const [xs, ys] = [corners.map((c) => c.x), corners.map((c) => c.y)];
  return { left: Math.min(...xs) - margin, right: Math.max(...xs) + margin,
    top: Math.min(...ys) - margin, bottom: Math.max(...ys) + margin };
};
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// What is left of a mark inside its clip paths, which are rectangles.
const clips = (element) => {
  const found = [];
  for (let e = element; e && e.localName !== "svg"; e = e.parentElement) {
    const id = getComputedStyle(e).clipPath.match(/#([^")]+)/)?.[1];
    const shape = id && document.getElementById(id)?.querySelector("rect");
    if (!shape) continue;
    const [x, y, w, h] = ["x", "y", "width", "height"].map((name) => shape[name].baseVal.value);
    const matrix = e.getScreenCTM();
    found.push(bounds([at(matrix, x, y), at(matrix, x + w, y + h)], 0.5));
  }
  return found;
};
const outline = (mark) => { // points of the edge, about two pixels apart, computed once
  if (mark.points) return mark.points;
  const { element, matrix } = mark;
  if (mark.whole) return mark.points = [];
  const length = element.getTotalLength();
  const step = Math.max(2 / scale(matrix), length / 4000);
  const cut = clips(element);
  mark.points = [];
  for (let s = 0; s <= length; s += step) {
    const local = element.getPointAtLength(s);
    const point = at(matrix, local.x, local.y);
    if (cut.every((c) => point.x >= c.left && point.x <= c.right && point.y >= c.top && point.y <= c.bottom)) {
      mark.points.push(point);
    }
  }
  return mark.points;
};
const name = (mark) => {
  const group = mark.element.closest("g[id]");
  return `${mark.element.localName}${mark.element.id ? `#${mark.element.id}` : ""}${group ? ` in #${group.id}` : ""}`;
};
const faults = [];
const all = drawings.map((svg) => ({ svg, figure: svg.closest("figure") ?? svg, texts: texts(svg), marks: marks(svg) }));
for (const [i, drawing] of all.entries()) {
  for (const [j, text] of drawing.texts.entries()) {
    const others = all.slice(i).filter((other) => other.figure === drawing.figure).flatMap((other) =>
      other === drawing ? drawing.texts.slice(j + 1) : other.texts);
    for (const other of others) {
      if (other.element !== text.element && overlap(text.corners, other.corners)) {
        faults.push(`${text.name} runs into “${other.text.trim().slice(0, 30)}”`);
      }
    }
    for (const mark of drawing.marks) {
      const later = follows(mark.element, text.element);
      if (text.halo && !later) continue;
      const box = mark.element.getBoundingClientRect();
      const near = { left: box.left - mark.half, right: box.right + mark.half, top: box.top - mark.half, bottom: box.bottom + mark.half };
      if (!meet(bounds(text.corners), near)) continue;
      const runs = mark.whole
        ? overlap(text.corners, [[near.left + 1, near.top + 1], [near.right - 1, near.top + 1], [near.right - 1, near.bottom - 1],
            [near.left + 1, near.bottom - 1]].map(([x, y]) => ({ x, y })))
        : outline(mark).some((point) => inside(text.corners, point, mark.half));
      if (runs) faults.push(`${text.name} is crossed by ${name(mark)}`);
      else if (later && filledAt(mark, middle(text.corners))) faults.push(`${text.name} is hidden by ${name(mark)}`);
    }
  }
}
return faults;
