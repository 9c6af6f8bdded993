// What is pressed and is less than 24 px wide or high, without a link that has other words beside it.
return [...document.querySelectorAll("a[href], button, summary, input, select")].filter((one) => {
  if (!shown(one) || one.matches(".skip, .headerlink")) return false;
  const inline = (box) => getComputedStyle(box).display.startsWith("inline");
  let block = one;
  while (inline(block)) block = block.parentElement;
  const others = block.cloneNode(true);
  for (const link of others.querySelectorAll("a, button")) link.remove();
  if (block !== one && /[a-z]{3}/i.test(others.textContent)) return false;
  const { width, height } = one.getBoundingClientRect(), room = getComputedStyle(one, "::after");
  const more = (name) => room.position === "absolute" && parseFloat(room[name]) || 0;
  return Math.min(Math.max(width, more("width")), Math.max(height, more("height"))) < 23.9;
}).map(describe);
