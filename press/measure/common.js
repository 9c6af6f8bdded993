// Helpers of the scripts of this folder. Each script is the body of a function of `options`.
const words = (element) => (element.getAttribute?.("aria-label") || element.textContent || "")
  .trim().replace(/\s+/g, " ").slice(0, 40);
const describe = (element) => {
  const classes = [...element.classList].map((name) => `.${name}`).join("");
  const home = element.parentElement?.closest("[id]");
  const inside = home && home !== document.body ? ` in #${home.id}` : "";
  return `${element.localName}${element.id && `#${element.id}`}${classes} “${words(element)}”${inside}`;
};
const shown = (element) => {
  const { width, height } = element.getBoundingClientRect();
  return width > 1 && height > 1 && element.checkVisibility(
    { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
};

// Colors: any notation of CSS as red, green, blue (0 to 255) and alpha (0 to 1).
const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const colors = new Map();
const color = (name) => {
  if (!colors.has(name)) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = name;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    colors.set(name, [red, green, blue, alpha / 255]);
  }
  return colors.get(name);
};
const over = (upper, lower) => [0, 1, 2]
  .map((i) => upper[i] * upper[3] + lower[i] * (1 - upper[3])).concat(1);
const luminance = (rgb) => {
  const [red, green, blue] = rgb.slice(0, 3)
    .map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const opacities = new Map();
const opacity = (element) => { // of the element and all in which it is
  if (!element) return 1;
  if (!opacities.has(element)) opacities.set(element, getComputedStyle(element).opacity * opacity(element.parentElement));
  return opacities.get(element);
};
const WHITE = [255, 255, 255, 1];
const canvas = (() => { // what a page without a background stands on
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.background = "Canvas";
  const found = color(getComputedStyle(probe).backgroundColor);
  probe.remove();
  return found;
})();
const grounds = new Map();
const ground = (element) => { // what stands behind an element's text
  if (!element) return matchMedia("print").matches ? WHITE : canvas;
  if (!grounds.has(element)) {
    const own = color(getComputedStyle(element).backgroundColor);
    grounds.set(element, over(own, own[3] === 1 ? own : ground(element.parentElement)));
  }
  return grounds.get(element);
};
