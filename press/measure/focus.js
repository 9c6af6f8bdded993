// The elements that take the keyboard and look the same with the focus as without.
const LOOK = ["outlineStyle", "outlineWidth", "outlineColor", "boxShadow", "borderTopColor",
  "borderRightColor", "borderBottomColor", "borderLeftColor", "borderTopWidth", "borderBottomWidth",
  "borderLeftWidth", "backgroundColor", "textDecorationLine", "textDecorationColor",
  "textDecorationThickness", "fill", "stroke", "strokeWidth"];
const look = (element) => {
  const style = getComputedStyle(element);
  const seen = Object.fromEntries(LOOK.map((name) => [name, style[name]]));
  // An outline without width or color is none, whatever else is set.
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) === 0
      || (style.outlineStyle !== "auto" && color(style.outlineColor)[3] === 0)) {
    seen.outlineStyle = seen.outlineWidth = seen.outlineColor = "none";
  }
  return JSON.stringify(seen);
};
const scrolls = (element) => {
  const { overflowX, overflowY } = getComputedStyle(element);
  const roams = (overflow) => overflow === "auto" || overflow === "scroll";
  return (roams(overflowX) && element.scrollWidth > element.clientWidth)
    || (roams(overflowY) && element.scrollHeight > element.clientHeight);
};
document.activeElement?.blur();
const kinds = new Map(); // a page of an index has a thousand links that are styled alike
const candidates = [...document.querySelectorAll("body *")].filter((element) =>
  element.matches("a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])")
  || scrolls(element)).filter((element) => {
  const kind = [element, element.parentElement, element.parentElement?.parentElement]
    .map((e) => `${e?.localName}.${e?.className}`).join(" ");
  kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return kinds.get(kind) <= 8;
});
const before = candidates.map(look); // all at once, as each change of the focus costs a style
const faults = candidates.flatMap((element, i) => {
  element.focus({ preventScroll: true });
  if (document.activeElement !== element) return []; // folded away, or no stop of the keyboard
  if (!element.matches(":focus-visible")) return [`${describe(element)}: is not :focus-visible`];
  if (!shown(element)) return [`${describe(element)}: hidden while it has the focus`];
  return look(element) === before[i] ? [`${describe(element)}: looks as without the focus`] : [];
});
document.activeElement?.blur();
scrollTo(0, 0);
return faults;
