// Which word told you: press one, and equal shares give way to the weights.
"use strict";
{
  const { define, number, vector, softmax, dot, mixed } = bookFigures;
  const TOP = 74, LOW = 152;
  const side = (lean) => (lean > 0 ? "money" : "water");
  // Who hears the page is asked first, too.
  function cover({ root, about, data, result }, { sentence, guess }) {
    const words = data.sentences[sentence], word = words[data.asker], { shares, average, attention } = result;
    const told = root.classList.toggle("asks", guess < 0)
      ? `which word told you what ${word} means? Equal ribbons run from each word; press one above.`
      : `${word} listens to them with ${shares.map((share) => number(share)).join(", ")}, and hears ${vector(attention)}; the plain average is ${vector(average)}.`;
    about.textContent = `${words.join(" ")}: ${told}`;
  }

  define("which_word", {
    compute({ sentence }, { embeddings, asker }) {
      const rows = embeddings[sentence], even = rows.map(() => 1 / rows.length);
      const shares = softmax(rows.map((row) => dot(rows[asker], row)));
      const [average, attention] = [even, shares].map((parts) => mixed(parts, rows));
      return { shares, average, attention, leans: [average, attention].map(([money, water]) => money - water) };
    },

    begin(figure) { cover(figure, figure.state); },

    draw(view, state, { shares, attention, leans }, figure) {
      const { sentences, embeddings, asker } = figure.data, words = sentences[state.sentence];
      const [pitch, full] = view.frames.ribbons, [middle, , unit] = view.frames.leans;
      let end = (view.width - full) / 2;
      shares.forEach((share, j) => {
        const wide = full * share;
        view.ribbon(`ribbon-${j}`, [(j + 0.5) * pitch, TOP], [end + wide / 2, LOW], wide);
        end += wide;
        view.text(`word-${j}`, words[j]);
        view.look(`word-${j}`, "pressed", j === state.guess);
        view.text(`numbers-${j}`, vector(embeddings[state.sentence][j], 0));
        view.text(`share-${j}`, number(share));
      });
      view.text("heard", `${words[asker]} hears ${vector(attention)}`);
      ["average", "attention"].forEach((name, i) => {
        const reach = unit * leans[i], part = `lean-${name}`;
        view.set(`bar-${name}`, { x: middle + Math.min(0, reach), width: Math.abs(reach) });
        view.text(part, number(Math.abs(leans[i])));
        view.move(part, [middle + reach + (reach < 0 ? -7 : 7), Number(view.parts[part][0].dataset.at.split(" ")[1])]);
        view.set(part, { "text-anchor": reach < 0 ? "end" : "start" });
      });
      if (!view.gliding) cover(figure, state);
    },

    says({ sentence, guess }, { shares, leans }, { data }) {
      const words = data.sentences[sentence], [plain, lean] = leans, { clue } = data;
      const pressed = guess < 0 || guess === data.asker ? "" : guess === clue ? `You pressed “${words[clue]}”, and attention agrees. ` : `You pressed “${words[guess]}”, which has the weight ${number(shares[guess])}. `;
      return { pressed, clue: words[clue], share: number(shares[clue]), lean: number(Math.abs(lean)), side: side(lean), plain: number(Math.abs(plain)) };
    },
  });
}
