// What a page without script keeps from its reader: text that is hidden and that nothing opens, by its
// place in the page; and what is shown though only a script serves it.
const SERVED = ".controls, .scripted, .filters, .checker";
const APART = `${SERVED}, button, script, style, svg title, svg desc, defs, annotation, `
  + "[role=tooltip]"; // it says what another page says
const visible = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const opens = (box) => box && [...document.querySelectorAll(`[popovertarget="${box.id}"]`)].some(visible);
const reached = (element) => visible(element) || opens(element.closest("[popover]"));
const elements = [...(document.querySelector("main") ?? document.body).querySelectorAll("*")];
let hidden = elements.filter((element) => !element.closest(APART) && [...element.childNodes].some(
  (node) => node.nodeType === Node.TEXT_NODE && /[\p{L}\p{N}]/u.test(node.data)));
hidden = hidden.filter((element) => !reached(element));
// Fold after fold, as a reader would; those of one name would close each other.
for (const fold of document.querySelectorAll("details[name]")) fold.removeAttribute("name");
const folds = [...document.querySelectorAll("details:not([open])")];
for (let closed = folds, found; closed.length; closed = closed.filter((fold) => !found.includes(fold))) {
  found = closed.filter((fold) => visible(fold.querySelector(":scope > summary") ?? fold));
  if (!found.length) break;
  for (const fold of found) fold.open = true;
  hidden = hidden.filter((element) => !reached(element));
}
const idle = [...document.querySelectorAll(`${SERVED}, button, input, select, textarea`)]
  .filter((element) => visible(element) && !element.matches("[popovertarget]")).map(describe);
for (const fold of folds) fold.open = false;
return { hidden: Object.fromEntries(hidden.map((element) => [elements.indexOf(element), describe(element)])), idle };
