// Texts that overlap another text, or through which the edge of a mark runs. Allowed: a text wholly on
// a filled mark that is painted before it (a cell and its number), and a text with a halo over marks.
const inside = (corners, point, margin) => corners.every((corner, i) => {
  const next = corners[(i + 1) % 4];
  const [dx, dy] = [next.x - corner.x, next.y - corner.y];
  const length = Math.hypot(dx, dy) || 1;
  const side = (dx * (point.y - corner.y) - dy * (point.x - corner.x)) / length;
  return side >= -margin;
});
const overlap = (one, other) => [one, other].every((corners) => corners.every((corner, i) => {
  const next = corners[(i + 1) % 4]; // no axis separates the two
  const [nx, ny] = [corner.y - next.y, next.x - corner.x];
  const shadow = (points) => points.map((point) => nx * point.x + ny * point.y);
  const [a, b] = [shadow(one), shadow(other)];
  return Math.min(...a) < Math.max(...b) && Math.min(...b) < Math.max(...a);
}));
const bounds = (corners) => {
  const [xs, ys] = [corners.map((c) => c.x), corners.map((c) => c.y)];
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
};
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const outline = (mark) => { // points of the edge, about two pixels apart, computed once
  if (mark.points) return mark.points;
  const { element, matrix } = mark;
  const length = element.getTotalLength();
  const step = Math.max(2 / scale(matrix), length / 4000);
  return mark.points = Array.from({ length: Math.floor(length / step) + 1 }, (_, k) => {
    const local = element.getPointAtLength(k * step);
    return at(matrix, local.x, local.y);
  });
};
const faults = [];
const all = drawings.map((svg) => ({ svg, figure: svg.closest("figure") ?? svg, texts: texts(svg), marks: marks(svg) }));
for (const [i, drawing] of all.entries()) {
  for (const [j, text] of drawing.texts.entries()) {
    const others = all.slice(i).filter((other) => other.figure === drawing.figure).flatMap((other) =>
      other === drawing ? drawing.texts.slice(j + 1) : other.texts);
    for (const other of others) {
      if (overlap(text.corners, other.corners)) {
        faults.push(`${text.name} runs into “${other.text.trim().slice(0, 30)}”`);
      }
    }
    for (const mark of drawing.marks) {
      const later = follows(mark.element, text.element);
      if (text.halo && !later) continue;
      const box = mark.element.getBoundingClientRect();
      const near = { left: box.left - mark.half, right: box.right + mark.half, top: box.top - mark.half, bottom: box.bottom + mark.half };
      if (!meet(bounds(text.corners), near)) continue;
      const runs = outline(mark).some((point) => inside(text.corners, point, mark.half));
      if (runs) faults.push(`${text.name} is crossed by ${mark.element.localName}`);
      else if (later && filledAt(mark, middle(text.corners))) faults.push(`${text.name} is hidden by ${mark.element.localName}`);
    }
  }
}
return faults;
