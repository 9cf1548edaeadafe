/** The models that are asked, one or two side by side: each asks for itself; items that both give are marked. */

import { createColumn, skeleton } from "./answers_view.js";
import { continueList } from "./api.js";
import { createAsker } from "./asking.js";
import { make, placeIcons } from "./dom.js";
import { banner, noBanner, say } from "./notices.js";
import { sameItem } from "./state.js";

/** The question to a model about the list as it stands. */
const questionOf = (state, model, limits) => ({
  list: state.list.map((entry) => entry.item),
  model: model.name,
  k: Math.min(state.k, limits.k),
  exclude: state.blocked.map((item) => item.item),
  categories: categoriesOf(state, model),
  max_per_group: model.groups ? state.perGroup : null,
  keep_seen: state.keepSeen,
});

/** Only those that the model has; a link may name others. */
function categoriesOf(state, model) {
  const known = state.only.filter((name) => model.categories.some((category) => category.name === name));
  return known.length ? known : null;
}

export function createColumns(place, actions) {
  const template = document.getElementById("column");
  let columns = [];
  let state;

  function create(at) {
    const root = template.content.firstElementChild.cloneNode(true);
    placeIcons(root);
    const view = createColumn(root, { ...actions, again: () => column.asker.again() });
    const select = root.querySelector("select");
    select.addEventListener("change", () => actions.chooseModel(at, select.value));
    const column = { at, view, select, model: null, answer: null, asked: null };
    column.asker = createAsker(continueList, (result) => hear(column, result));
    root.querySelector("[data-part=positions]").replaceChildren(...skeleton(state.k));
    place.append(root);
    return column;
  }

  function hear(column, { phase, answer, problem, seconds }) {
    column.view.waiting(phase === "asking");
    if (phase === "answered") {
      noBanner();
      column.answer = answer;
      column.view.answered(answer);
      if (answer.model.hash !== column.model.hash) actions.modelChanged();
    } else if (phase === "failed") {
      if (problem.unreachable) banner(`${problem.message} Trying again in ${seconds} s.`, againAll);
      else column.view.failed(problem, seconds);
      if (!problem.passing) column.answer = null;
      if (problem.keyNeeded) actions.keyNeeded();
      if (problem.status === 404) actions.modelChanged();
    }
    if (phase !== "asking") render();
    if (phase === "answered" && column.at === 0) say(`${column.model.title} continues with ${column.view.summary()}`);
  }

  const againAll = () => columns.forEach((column) => column.asker.again());

  /** Where the other model gives the same item. */
  function beside(column) {
    const other = columns.find((one) => one !== column && one.answer);
    return (position) => {
      const found = other ? other.view.positions.findIndex(sameItem(position)) : -1;
      return found < 0 ? null : { title: other.model.title, position: state.list.length + found + 1 };
    };
  }

  function render() {
    const taken = (position) => !state.keepSeen && state.list.some(sameItem(position));
    for (const column of columns) {
      column.view.describe(column.model, column.answer);
      if (column.answer) column.view.render({ first: state.list.length + 1, beside: beside(column), taken });
    }
  }

  function offer(column, models) {
    const none = column.at > 0 ? [make("option", { value: "" }, "No second model")] : [];
    const names = models.map((model) => make("option", { value: model.name }, model.title));
    column.select.replaceChildren(...none, ...names);
    column.select.value = column.model.name;
    column.select.setAttribute("aria-label", column.at > 0 ? "Second model" : "Model");
    column.select.disabled = models.length < 2;
  }

  /** Shows the state and asks each model whose question has changed. */
  function update(next, models, limits) {
    state = next;
    const asked = next.models.map((name) => models.find((model) => model.name === name));
    for (const column of columns.splice(asked.length)) {
      column.asker.forget();
      column.view.root.remove();
    }
    while (columns.length < asked.length) columns.push(create(columns.length));
    columns.forEach((column, at) => {
      column.model = asked[at];
      offer(column, models);
      const question = questionOf(state, column.model, limits);
      const text = JSON.stringify(question);
      if (text === column.asked) return;
      column.asked = text;
      column.view.waiting(true);
      column.asker.want(question);
    });
    place.classList.toggle("pair", columns.length > 1);
    render();
  }

  return { update, againAll };
}
