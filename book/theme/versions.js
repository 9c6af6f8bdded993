// Which versions stand side by side, and a notice on an old one. What publishes several of them
// (press/edition/publish.py) writes this behind `bookVersions`, which says which there are.
{
  const { here, all, lacks: lacking } = bookVersions, newest = all[0], old = here !== "latest" && here !== newest;
  const root = document.currentScript.src.replace(/[^/]+\/_static\/.*/, "");
  const page = location.href.slice(location.href.indexOf("/", root.length) + 1).replace(/[?#].*/, "");
  const lacks = (version) => lacking[version]?.includes(page.replace(/(^|\/)$/, "$1index.html"));
  const link = (version, text) => {
    const folder = version === newest && old ? "latest" : `v${version}`;
    const one = bookPage.make("a", { href: `${root}${folder}/${lacks(version) ? "" : page}` }, text);
    one.onclick = () => { if (!lacks(version)) one.hash = location.hash; };
    return one;
  };
  const others = all.filter((name) => name !== here && (here !== "latest" || name !== newest));
  const links = others.map((name) => link(name, name + (lacks(name) ? " (without this page)" : "")));
  const cited = here === "latest" && [" This version, to cite: ", link(newest, newest), "."];
  document.querySelector(".foot p").after(bookPage.make("p", {}, "Other versions: ", links.map((one, i) => [i && ", ", one]), ".", cited));
  if (old) {
    const newer = link(newest, lacks(newest) ? `version ${newest}, without this page` : `this page in version ${newest}`);
    const words = `This is version ${here}, and there is a newer one: `;
    document.querySelector("main").prepend(bookPage.make("p", { class: "outdated", role: "note" }, words, newer, "."));
  }
}
