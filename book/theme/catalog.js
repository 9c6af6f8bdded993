// The filters of the catalog. The address says what is shown: examples/index.html#topic=masking.
"use strict";
{
  const form = document.querySelector(".filters"), status = form.querySelector("[role=status]");
  const reset = form.querySelector("[type=reset]");
  const selects = [...form.querySelectorAll("select")];
  const rows = [...document.querySelectorAll(".catalog tbody tr")];

  const chosen = () => selects.filter((select) => select.value);

  const named = (select) => `${select.name}-${select.value}`;

  // A row has a class for each value that it can be found by, such as topic-masking.
  const has = (row, wanted) => wanted.every((name) => row.classList.contains(name));

  // What would leave nothing, beside the other choices, is not offered.
  function offer(select) {
    const others = chosen().filter((one) => one !== select).map(named);
    for (const option of select.options) {
      const wanted = [...others, `${select.name}-${option.value}`];
      option.disabled = option.value && !option.selected && !rows.some((row) => has(row, wanted));
    }
  }

  function show() {
    const wanted = chosen().map(named);
    let examples = 0, shown = 0, part;
    for (const row of rows) {
      if (row.classList.contains("part-row")) {
        part = row;
        part.hidden = true;
        continue;
      }
      row.hidden = !has(row, wanted);
      examples += 1;
      if (row.hidden) continue;
      shown += 1;
      part.hidden = false;
    }
    status.textContent = !wanted.length ? `${examples} examples`
      : shown ? `${shown} of ${examples} examples` : "No example is all of this.";
    reset.hidden = !wanted.length;
    selects.forEach(offer);
  }

  function read() {
    const said = new URLSearchParams(location.hash.slice(1));
    for (const select of selects) {
      select.value = said.get(select.name) || "";
      if (select.selectedIndex < 0) select.value = ""; // what nobody has
    }
    show();
  }

  function write() {
    const says = new URLSearchParams();
    for (const select of chosen()) says.set(select.name, select.value);
    history.replaceState(null, "", String(says) ? `#${says}` : location.pathname + location.search);
    show();
  }

  form.addEventListener("change", write);
  form.addEventListener("reset", () => {
    selects[0].focus(); // the button goes
    setTimeout(write); // when the browser has emptied them
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
}
