// Controls that are printed, and folded text that is not.
const controls = [...document.querySelectorAll("nav, button, input, select, .controls")]
  .filter(shown).map((element) => `${describe(element)}: is printed`);
const folded = [...document.querySelectorAll("details > :not(summary)")]
  .filter((element) => words(element) && shown(element.parentElement) && !element.checkVisibility())
  .map((element) => `${describe(element)}: stays folded`);
return [...controls, ...folded];
