// Two banks: drag a word; the weights follow, and the place where the word in question lands.
"use strict";
{
  const { define, number, vector, softmax, dot } = bookFigures;

  define("two_banks", {
    compute(state, { word, sentences }) {
      const weights = {}, context = {};
      for (const sense in sentences) {
        const rows = sentences[sense].map((name) => state[name]);
        weights[sense] = softmax(rows.map((row) => dot(state[word], row)));
        context[sense] = [0, 1].map((axis) => dot(weights[sense], rows.map((row) => row[axis])));
      }
      return { shares: weights[state.sentence], weights, context };
    },

    handles: ["money", "bank", "grows", "river", "flows"].map((key) => ({
      key, frame: "plane", name: key, text: (state) => `money ${number(state[key][0])}, water ${number(state[key][1])}`,
    })),

    draw(view, state, { shares, context }, { data }) {
      const words = data.sentences[state.sentence], [, middle, row, full] = view.frames.ribbons;
      let end = middle - full / 2;
      shares.forEach((share, j) => {
        const wide = full * share;
        view.ribbon(`ribbon-${j}`, [108, middle + (j - 1) * row], [196, end + wide / 2], wide);
        end += wide;
        view.text(`from-${j}`, words[j]);
        view.text(`share-${j}`, number(share));
      });
      const place = (at) => view.place("plane", at), start = place(state[data.word]), names = [];
      view.path("reach", words.map((name) => place(state[name])), true);
      for (const sense in context) {
        view.arrow(`to-${sense}`, start, place(context[sense]));
        view.look(`to-${sense}`, "pale", sense !== state.sentence);
        names.push([`tip-${sense}`, place(context[sense])]);
      }
      for (const name of ["money", "bank", "grows", "river", "flows"]) {
        view.move(name, place(state[name]));
        view.look(name, "pale", !words.includes(name));
        names.push([`name-${name}`, place(state[name])]);
      }
      view.labels(names.reverse()); // the names of the words choose first
    },

    says(state, { shares, context }, { data }) {
      const [money, water] = context[state.sentence], words = data.sentences[state.sentence];
      const lean = number(money) === number(water) ? "as much money as water" : money > water ? "more money than water" : "more water than money";
      const said = { landed: vector([money, water]), sense: lean };
      words.forEach((name, j) => { said[`word_${j}`] = name === data.word ? "itself" : name; said[`share_${j}`] = number(shares[j]); });
      return said;
    },
  });
}
