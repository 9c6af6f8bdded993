// Two hands: slide two words along a ruler, alone or together; the hands of their query and key turn.
"use strict";
{
  const { define, number, range } = bookFigures;
  const BESIDE = 66, RIM = 16, NEAR = 0.5, STEPS = 16, ROLES = ["query", "key"];

  const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
  const degrees = (angle) => number(Math.abs(angle), 1);

  const slid = ({ i, j }, by, last) => {
    const far = Math.max(-Math.min(i, j), Math.min(last - Math.max(i, j), Math.round(by)));
    return { i: i + far, j: j + far };
  };

  define("two_hands", {
    compute({ i, j }, { hands, frequencies }) {
      const places = [Math.round(i), Math.round(j)];
      const angles = hands.map((pair, n) => pair.map(([x, y], who) => Math.atan2(y, x) + places[who] * frequencies[n]));
      const lengths = hands.map((pair) => pair.map((hand) => Math.hypot(...hand)));
      const parts = angles.map(([asks, found], n) => lengths[n][0] * lengths[n][1] * Math.cos(asks - found));
      const apart = angles.map(([asks, found]) => wrapped(asks - found) * 180 / Math.PI);
      return { angles, lengths, apart, parts, score: parts[0] + parts[1] };
    },

    handles({ words, last }) {
      const word = (key, row, role, name) => ({
        key, frame: "ruler", name, label: `name-${role}`, at: (state) => [state[key], row], text: (state) => `position ${number(state[key], 0)}`,
        put: (_, [x]) => ({ [key]: Math.round(x) }), press: (state, [right, up]) => ({ [key]: state[key] + right + up }),
      });
      return [word("i", 1, "query", words[0]), word("j", -1, "key", words[1]), {
        key: "bar", frame: "ruler", label: "both", name: "the bar with both words", reach: [0, last], at: ({ i, j }) => [(i + j) / 2, 0],
        text: ({ i, j }) => `${words[0]} at ${number(i, 0)}, ${words[1]} at ${number(j, 0)}`,
        put: (state, [x]) => slid(state, x - (state.i + state.j) / 2, last), press: (state, [right, up]) => slid(state, right + up, last),
      }];
    },

    draw(view, { i, j }, { angles, lengths, apart, parts, score }, { data: { words } }) {
      const [low, high] = [Math.min(i, j), Math.max(i, j)].map((at) => view.place("ruler", [at, 0])[0]);
      view.set("bar", { x: low - 9, width: high - low + 18 });
      view.move("both", [high, 60]);
      view.show("both", high + BESIDE < view.width);
      ROLES.forEach((role, who) => {
        const place = [i, j][who], row = 1 - 2 * who, [x, y] = view.place("ruler", [place, row]);
        view.move(role, [x, y]);
        view.move(`name-${role}`, [Math.min(Math.max(x, BESIDE), view.width - BESIDE), y - 20 * row]);
        view.text(`name-${role}`, `${role} of ${words[who]}, at ${number(place, 0)}`);
      });
      const longest = 1.08 * Math.max(...lengths.flat());
      angles.forEach(([asks, found], n) => {
        const on = (angle, far) => view.place(`dial-${n}`, [far * Math.cos(angle), far * Math.sin(angle)]);
        const [query, key] = lengths[n].map((long) => long / longest), middle = on(0, 0), tip = on(found, key), between = wrapped(asks - found);
        view.path(`between-${n}`, [middle, ...range(0, STEPS).map((step) => on(found + between * step / STEPS, 0.5))], true);
        view.path(`key-${n}`, [middle, tip]);
        view.move(`tip-${n}`, tip);
        view.arrow(`query-${n}`, middle, on(asks, query));
        const aside = Math.max(0, NEAR - Math.abs(between)) / 2 * (between < 0 ? -1 : 1), rim = 1 + RIM / view.frames[`dial-${n}`][2];
        view.move(`around-query-${n}`, on(asks + aside, rim));
        view.move(`around-key-${n}`, on(found - aside, rim));
        view.text(`made-${n}`, `${number(lengths[n][0])} × ${number(lengths[n][1])} × cos ${degrees(apart[n])}°`);
        view.text(`part-${n}`, number(parts[n]));
      });
      view.text("score", `= ${number(score)}`);
    },

    says: ({ i, j }, { apart, parts, score }) => ({
      i: number(i, 0), j: number(j, 0), difference: number(Math.round(i) - Math.round(j), 0),
      apart_0: degrees(apart[0]), apart_1: degrees(apart[1]), score: number(score),
      sum: `${number(parts[0])} ${parts[1] < 0 ? "−" : "+"} ${number(Math.abs(parts[1]))}`,
    }),
  });
}
