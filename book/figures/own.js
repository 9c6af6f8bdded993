// A sentence of the reader's own: each word has two numbers, and the one that was pressed listens.
"use strict";
for (const root of document.querySelectorAll("[data-own]")) {
  const { make, button } = bookPage, { number, vector, softmax, dot, mixed } = bookFigures;
  const MOST = 12; // words
  const known = new Map(Object.entries(JSON.parse(root.dataset.own)));
  const field = root.querySelector("input"), body = root.querySelector("tbody"), says = root.querySelector(".says");
  const spoken = make("p", { role: "status", class: "unseen" });
  let words = [], asking = root.dataset.asking.toLowerCase(), asker = 0, later;

  const key = (word) => word.toLowerCase();
  const numbers = (word) => known.get(key(word)) || [0, 0];

  // A row for each word: what it is, its two numbers, its score and its weight.
  function lay() {
    const found = field.value.match(/[\p{L}\p{N}’'-]+/gu) || [];
    words = found.slice(0, MOST);
    root.classList.toggle("cut", found.length > MOST);
    asker = Math.max(0, words.map(key).indexOf(asking));
    body.replaceChildren(...words.map((word, i) => {
      const ask = button(word, () => { asker = i; asking = key(word); tell(); }, { "aria-label": `let ${word} listen` });
      const inputs = ["money", "water"].map((axis, j) => {
        const input = make("input", { type: "number", min: -3, max: 3, step: 1, "aria-label": `${axis} of ${word}` });
        input.oninput = () => {
          const pair = [...numbers(word)];
          pair[j] = Math.max(-3, Math.min(3, Number(input.value) || 0));
          known.set(key(word), pair);
          tell();
        };
        return make("td", { "data-said": "" }, input);
      });
      return make("tr", {}, make("th", { scope: "row", "data-said": word }, ask), inputs, make("td"), make("td", { style: "--role:var(--weight)" }));
    }));
    tell();
  }

  // Say it at once for the eye, and for the ear when the hands rest.
  function tell() {
    says.textContent = words.length ? answer() : "Write a few words.";
    clearTimeout(later);
    later = setTimeout(() => { spoken.textContent = says.textContent; }, 800);
  }

  function answer() {
    const rows = words.map(numbers), scores = rows.map((row) => dot(rows[asker], row)), weights = softmax(scores);
    [...body.rows].forEach((row, i) => {
      row.querySelector("button").setAttribute("aria-pressed", i === asker);
      row.querySelectorAll("input").forEach((input, j) => {
        if (input !== document.activeElement) input.value = rows[i][j];
        input.parentElement.dataset.said = rows[i][j];
      });
      row.cells[3].textContent = number(scores[i], Number.isInteger(scores[i]) ? 0 : 2);
      row.cells[4].textContent = number(weights[i]);
      row.cells[4].style.setProperty("--t", `${Math.round(100 * weights[i])}%`);
    });
    const heard = mixed(weights, rows), average = mixed(rows.map(() => 1 / rows.length), rows);
    const leans = [heard, average].map(([money, water]) => {
      const size = number(Math.abs(money - water));
      return Number(size) ? `leans ${size} toward ${money > water ? "money" : "water"}` : "leans neither way";
    });
    const top = Math.max(...weights), most = words.filter((_, i) => weights[i] > top - 1e-9);
    const whom = most.length === words.length && most.length > 1 ? "to all words alike" : `most to ${most.join(" and ")}`;
    return `“${words[asker]}” listens ${whom}, ${number(top)}${most.length > 1 ? " each" : ""}. It hears ${vector(heard)}, which ${leans[0]}. The plain average ${leans[1]}.` +
      (root.classList.contains("cut") ? ` Only the first ${MOST} words count.` : "");
  }

  field.oninput = lay;
  root.append(spoken);
  root.querySelector(".controls").hidden = false;
  lay();
  clearTimeout(later); // nobody has asked yet
}
