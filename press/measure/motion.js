// How long each element moves, the longest first.
const seconds = (list) => Math.max(...list.split(",").map((time) => parseFloat(time) || 0));
const found = [];
for (const element of document.querySelectorAll("*")) {
  const style = getComputedStyle(element);
  const value = Math.max(
    style.transitionProperty === "none" ? 0 : seconds(style.transitionDuration),
    style.animationName === "none" ? 0 : seconds(style.animationDuration),
    style.scrollBehavior === "smooth" ? 1 : 0);
  if (value > 0) found.push({ element: describe(element), value });
}
return found.sort((a, b) => b.value - a.value).slice(0, 20);
