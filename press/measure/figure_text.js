// The size of each text of the figures, and its contrast with what it stands on.
return drawings.flatMap((svg) => {
  const shapes = marks(svg).filter((mark) => mark.fill);
  return texts(svg).map((text) => {
    const center = middle(text.corners);
    let behind = ground(svg);
    for (const mark of shapes) {
      if (follows(text.element, mark.element) && filledAt(mark, center)) {
        const paint = color(mark.style.fill);
        behind = over([...paint.slice(0, 3), paint[3] * mark.style.fillOpacity * mark.alpha], behind);
      }
    }
    if (text.halo) behind = over(color(text.style.stroke), behind);
    const paint = color(text.style.fill);
    const ink = over([...paint.slice(0, 3), paint[3] * text.style.fillOpacity * opacity(text.element)], behind);
    return { element: text.name, size: text.rendered, value: contrast(ink, behind) };
  });
});
