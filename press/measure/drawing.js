// Helpers of the scripts about figures: their texts and their marks, in the pixels of the screen.
const drawings = [...document.querySelectorAll("main svg")].filter((svg) =>
  shown(svg) && !svg.parentElement.closest("svg"));
const HIDDEN = "defs, clipPath, mask, marker, pattern, symbol, title, desc";
const at = (matrix, x, y) => ({
  x: matrix.a * x + matrix.c * y + matrix.e, y: matrix.b * x + matrix.d * y + matrix.f });
const scale = (matrix) => Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));

// The pieces of a drawing's text: what stands on one line of one style, with the corners of its ink.
const texts = (svg) => [...svg.querySelectorAll("text")].filter((element) =>
  !element.closest(HIDDEN) && element.textContent.trim() && shown(element)).flatMap((element) => {
  const matrix = element.getScreenCTM();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const pieces = [];
  let index = 0; // of the character in the element
  const total = element.getNumberOfChars();
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const style = getComputedStyle(parent);
    let piece = null;
    for (const character of walker.currentNode.data) {
      if (index >= total) break;
      const start = element.getStartPositionOfChar(index);
      const end = element.getEndPositionOfChar(index);
      index += character.length;
      const size = parseFloat(style.fontSize);
      if (!piece || Math.abs(start.y - piece.y) > 0.5 || Math.abs(start.x - piece.end) > size) {
        pieces.push(piece = { element, parent, style, matrix, size, x: start.x, y: start.y, text: "" });
      }
      piece.end = end.x;
      piece.text += character;
    }
  }
  return pieces.filter((piece) => piece.text.trim()).map((piece) => {
    const { style, size } = piece;
    pen.font = `${style.fontStyle} ${style.fontWeight} ${size}px ${style.fontFamily}`;
    const ink = pen.measureText(piece.text.trimEnd());
    const margin = 1 / scale(matrix); // a pixel, against false alarms
    const [left, right] = [piece.x + margin, Math.max(piece.end - margin, piece.x + 2 * margin)];
    const top = piece.y - ink.actualBoundingBoxAscent + margin;
    const bottom = piece.y + ink.actualBoundingBoxDescent - margin;
    const corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
      .map(([x, y]) => at(matrix, x, y));
    const halo = style.paintOrder.startsWith("stroke") && style.stroke !== "none" && parseFloat(style.strokeWidth) > 0;
    const name = `“${piece.text.trim().slice(0, 30)}” of ${describe(svg)}`;
    return { ...piece, corners, halo, name, rendered: size * scale(matrix) };
  });
});

// The marks of a drawing, and what of each is painted.
const MARKS = "path, line, polyline, polygon, circle, ellipse, rect, use, image";
const marks = (svg) => {
  const paper = ground(svg);
  const seen = (paint, alpha) => paint !== "none" && !paint.startsWith("url")
    && contrast(over([...color(paint).slice(0, 3), color(paint)[3] * alpha], paper), paper) > 1.05;
  return [...svg.querySelectorAll(MARKS)].filter((element) => !element.closest(HIDDEN)
    && element.checkVisibility({ visibilityProperty: true })).map((element) => {
    const style = getComputedStyle(element);
    const alpha = opacity(element);
    const width = parseFloat(style.strokeWidth) || 0;
    const whole = ["use", "image"].includes(element.localName);
    const stroke = !whole && width > 0 && seen(style.stroke, style.strokeOpacity * alpha);
    const fill = whole || (element.localName !== "line" && seen(style.fill, style.fillOpacity * alpha));
    const matrix = element.getScreenCTM();
    return { element, style, alpha, matrix, whole, stroke, fill, half: stroke ? (width * scale(matrix)) / 2 : 0 };
  }).filter((mark) => mark.matrix && (mark.stroke || mark.fill));
};
const filledAt = (mark, point) => {
  if (!mark.fill) return false;
  const local = new DOMPoint(point.x, point.y).matrixTransform(mark.matrix.inverse());
  if (!mark.whole) return mark.element.isPointInFill(local);
  const box = mark.element.getBBox();
  return local.x >= box.x && local.x <= box.x + box.width && local.y >= box.y && local.y <= box.y + box.height;
};
const follows = (one, other) => // whether `one` is painted after `other`
  Boolean(other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
const middle = (corners) => ({
  x: (corners[0].x + corners[2].x) / 2, y: (corners[0].y + corners[2].y) / 2 });
