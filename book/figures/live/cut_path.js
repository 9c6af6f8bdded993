// Cut a path: press an arrow into the second layer, and see which votes are lost.
"use strict";
{
  const { define, number, softmax, dot, mixed } = bookFigures;
  const ROLES = ["value", "key", "query"];
  const TOP = 198, LOW = 254; // of the arrows

  const named = (words, vector) => {
    const most = Math.max(...vector);
    return most > 0.5 ? words[vector.indexOf(most)] : "nothing";
  };

  define("cut_path", {
    untitled: true, // no bold words are the title of numbers below them

    compute({ paths }, { made, clue, scale }) {
      const on = [...paths].map(Number);
      const [values, keys, [query]] = ROLES.map((role, k) => made[role][0].map((row, i) => (
        row.map((part, axis) => on[2 * k] * part + on[2 * k + 1] * made[role][1][i][axis]))));
      const scores = keys.map((key) => dot(query, key)), weights = softmax(scores.map((score) => scale * score));
      return { value: values[clue], key: keys[clue], query, score: scores[clue], weight: weights[clue], votes: mixed(weights, values) };
    },

    switches: ({ text, clue }) => ({
      key: "paths", frame: "paths", label: "Paths into layer 2",
      name: (_, k) => {
        const who = k < 4 ? text[clue] : `the last ${text.at(-1)}`;
        return `${k % 2 ? "From the word itself" : "From layer 1"} to the ${ROLES[Math.floor(k / 2)]} of ${who}`;
      },
    }),

    draw(view, _, result, { state, data }) {
      [...state.paths].forEach((on, k) => {
        const x = (k + 0.5) * view.width / 6, whole = on === "1";
        view.arrow(`path-${k}`, [x, LOW], [x, whole ? TOP : LOW - data.stub * (LOW - TOP)]);
        view.look(`path-${k}`, "pale", !whole);
        view.text(`cut-${k}`, whole ? " " : "cut");
      });
      for (const role of ROLES) view.text(`says-${role}`, named(data.words, result[role]));
      view.text("score", `score ${number(result.score)}`);
      view.text("weight", `weight ${number(result.weight)}`);
      result.votes.forEach((vote, k) => {
        view.text(`vote-text-${k}`, number(vote));
        view.set(`vote-${k}`, { "fill-opacity": data.tint * vote });
      });
    },

    says({ paths }, { votes }, { data }) {
      const right = data.words.indexOf(data.text[data.clue]), most = Math.max(...votes);
      const cuts = paths.replaceAll("1", "").length;
      let finding = "No arrow is cut.";
      if (most === 0) finding = "No word gets a vote.";
      else if (votes[right] < most) finding = `The word ${data.words[votes.indexOf(most)]} leads: the head averages everything it hears.`;
      else if (cuts) finding = `${cuts} ${cuts > 1 ? "arrows are" : "arrow is"} cut, and nothing is lost.`;
      return { now: number(votes[right], 4), finding };
    },
  });
}
