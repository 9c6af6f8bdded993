// How far the page scrolls sideways, the innermost elements that stand out, and the size of the text.
const root = document.documentElement;
const value = root.scrollWidth - root.clientWidth;
const clipped = (element) => {
  for (let e = element.parentElement; e && e !== document.body; e = e.parentElement) {
    if (getComputedStyle(e).overflowX !== "visible") return true;
  }
  return false;
};
const wide = value <= 0 ? [] : [...document.querySelectorAll("body *")].filter((element) =>
  element.getBoundingClientRect().right + scrollX > root.clientWidth + 0.5 && !clipped(element));
const inner = wide.filter((element) => ![...element.children].some((child) => wide.includes(child)));
return { value, size: parseFloat(getComputedStyle(document.body).fontSize), elements: value > 0 && !inner.length ? ["html"] : inner.slice(0, 5).map(describe) };
