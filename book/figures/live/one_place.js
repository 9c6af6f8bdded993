// One place: drag a word; the plain average of each sentence follows.
"use strict";
{
  const { define, number } = bookFigures;

  const leans = ([money, water]) => {
    const lean = number(water - money);
    if (lean === "0.00") return "does not lean";
    return `leans ${lean.replace("−", "")} toward ${lean.startsWith("−") ? "money" : "water"}`;
  };

  define("one_place", {
    compute({ word }, { sums, counts }) {
      const averages = sums.map((sum, k) => word.map((x, axis) => (x + sum[axis]) / counts[k]));
      const [one, other] = averages.map(([money, water]) => water - money);
      return { averages, apart: Math.abs(one - other) };
    },

    handles: ({ name }) => [{ key: "word", frame: "plane", name, label: "name-word" }],

    draw(view, { word }, { averages }) {
      const place = (at) => view.place("plane", at);
      for (const part of ["word", "name-word"]) view.move(part, place(word));
      averages.forEach((at, k) => {
        view.arrow(`to-${k}`, place([0, 0]), place(at));
        view.move(`name-${k}`, place(at));
      });
    },

    says({ word }, { averages, apart }) {
      return { own: leans(word), lean_0: leans(averages[0]), lean_1: leans(averages[1]), apart: number(apart) };
    },
  });
}
