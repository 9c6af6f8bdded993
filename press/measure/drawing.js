// Helpers of the scripts about figures: their texts and their marks, in the pixels of the screen.
const drawings = [...document.querySelectorAll("main svg")].filter((svg) =>
  shown(svg) && !svg.parentElement.closest("svg"));
const HIDDEN = "defs, title, desc";
for (const svg of drawings) { // a mark of another kind would pass unmeasured
  const other = svg.querySelector(":not(g, a, path, circle, rect, text, defs, defs *, title, desc)");
  if (other) throw new Error(`${describe(svg)} has <${other.localName}>, which nothing measures`);
}
const at = (matrix, x, y) => ({
  x: matrix.a * x + matrix.c * y + matrix.e, y: matrix.b * x + matrix.d * y + matrix.f });
const scale = (matrix) => Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));

// The texts of a drawing, each on one line and in one style, with the corners of its ink.
const texts = (svg) => [...svg.querySelectorAll("text")].filter((element) =>
  !element.closest(HIDDEN) && element.textContent.trim() && shown(element)).map((element) => {
  const matrix = element.getScreenCTM();
  const style = getComputedStyle(element);
  const text = element.textContent;
  const size = parseFloat(style.fontSize);
  const start = element.getStartPositionOfChar(0);
  const end = element.getEndPositionOfChar(element.getNumberOfChars() - 1);
  pen.font = `${style.fontStyle} ${style.fontWeight} ${size}px ${style.fontFamily}`;
  const ink = pen.measureText(text.trimEnd());
  const margin = 1 / scale(matrix); // a pixel, against false alarms
  const [left, right] = [start.x + margin, Math.max(end.x - margin, start.x + 2 * margin)];
  const top = start.y - ink.actualBoundingBoxAscent + margin;
  const bottom = start.y + ink.actualBoundingBoxDescent - margin;
  const corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
    .map(([x, y]) => at(matrix, x, y));
  const halo = style.paintOrder.startsWith("stroke") && style.stroke !== "none" && parseFloat(style.strokeWidth) > 0;
  const name = `“${text.trim().slice(0, 30)}” of ${describe(svg)}`;
  return { element, style, text, corners, halo, name, rendered: size * scale(matrix) };
});

// The marks of a drawing, and what of each is painted.
const marks = (svg) => {
  const paper = ground(svg);
  const seen = (paint, alpha) => paint !== "none" && !paint.startsWith("url")
    && contrast(over([...color(paint).slice(0, 3), color(paint)[3] * alpha], paper), paper) > 1.05;
  return [...svg.querySelectorAll("path, circle, rect")].filter((element) => !element.closest(HIDDEN)
    && element.checkVisibility({ visibilityProperty: true })).map((element) => {
    const style = getComputedStyle(element);
    const alpha = opacity(element);
    const width = parseFloat(style.strokeWidth) || 0;
    const stroke = width > 0 && seen(style.stroke, style.strokeOpacity * alpha);
    const fill = seen(style.fill, style.fillOpacity * alpha);
    const matrix = element.getScreenCTM();
    return { element, style, alpha, matrix, stroke, fill, half: stroke ? (width * scale(matrix)) / 2 : 0 };
  }).filter((mark) => mark.matrix && (mark.stroke || mark.fill));
};
const filledAt = (mark, point) => {
  if (!mark.fill) return false;
  const local = new DOMPoint(point.x, point.y).matrixTransform(mark.matrix.inverse());
  return mark.element.isPointInFill(local);
};
const follows = (one, other) => // whether `one` is painted after `other`
  Boolean(other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
const middle = (corners) => ({
  x: (corners[0].x + corners[2].x) / 2, y: (corners[0].y + corners[2].y) / 2 });
