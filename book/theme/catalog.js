// The filters of the catalog. The address says what is shown: examples/index.html#topic=masking.
(function () {
  "use strict";
  var form = document.querySelector(".filters"), status = form.querySelector("[role=status]");
  var reset = form.querySelector("[type=reset]");
  var selects = form.querySelectorAll("select");
  var rows = Array.prototype.slice.call(document.querySelectorAll(".catalog tbody tr"));

  function chosen() {
    return Array.prototype.filter.call(selects, function (select) { return select.value; });
  }

  // A row has a class for each value that it can be found by, such as topic-masking.
  function has(row, wanted) {
    return wanted.every(function (name) { return row.classList.contains(name); });
  }

  // What would leave nothing, beside the other choices, is not offered.
  function offer(select) {
    var others = chosen().filter(function (one) { return one !== select; }).map(named);
    Array.prototype.forEach.call(select.options, function (option) {
      option.disabled = option.value && !option.selected && !rows.some(function (row) {
        return has(row, others.concat(select.name + "-" + option.value));
      });
    });
  }

  function named(select) { return select.name + "-" + select.value; }

  function show() {
    var wanted = chosen().map(named);
    var examples = 0, shown = 0, part;
    rows.forEach(function (row) {
      if (row.classList.contains("part-row")) {
        part = row;
        part.hidden = true;
        return;
      }
      row.hidden = !has(row, wanted);
      examples += 1;
      if (row.hidden) return;
      shown += 1;
      part.hidden = false;
    });
    status.textContent = !wanted.length ? examples + " examples"
      : shown ? shown + " of " + examples + " examples" : "No example is all of this.";
    reset.hidden = !wanted.length;
    selects.forEach(offer);
  }

  function read() {
    var said = new URLSearchParams(location.hash.slice(1));
    selects.forEach(function (select) {
      select.value = said.get(select.name) || "";
      if (select.selectedIndex < 0) select.value = ""; // what nobody has
    });
    show();
  }

  function write() {
    var says = new URLSearchParams();
    chosen().forEach(function (select) { says.set(select.name, select.value); });
    history.replaceState(null, "", String(says) ? "#" + says : location.pathname + location.search);
    show();
  }

  form.addEventListener("change", write);
  form.addEventListener("reset", function () {
    selects[0].focus(); // the button goes
    setTimeout(write); // when the browser has emptied them
  });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
