/** One or two models side by side, each with its own requests; items in both continuations are marked. */

import { createColumn, skeleton } from "./answers_view.js";
import { continueList } from "./api.js";
import { make, placeIcons } from "./dom.js";
import { formatFailure } from "./format.js";
import { announce, hideBanner, showBanner } from "./notices.js";
import { createRequester } from "./requester.js";
import { sameItem } from "./state.js";

/** The request to a model for the current state. */
const requestOf = (state, model, limits) => ({
  list: state.list.map((entry) => entry.item),
  model: model.name,
  k: Math.min(state.k, limits.k),
  exclude: state.blocked.map((item) => item.item),
  categories: categoriesOf(state, model),
  max_per_group: model.groups ? state.perGroup : null,
  keep_seen: state.keepSeen,
});

/** The chosen categories that the model has; a link may name others. */
function categoriesOf(state, model) {
  const known = state.only.filter((name) => model.categories.some((category) => category.name === name));
  return known.length ? known : null;
}

export function createColumns(container, actions) {
  const template = document.getElementById("column");
  let columns = [];
  let state;

  function create(index) {
    const root = template.content.firstElementChild.cloneNode(true);
    placeIcons(root);
    const view = createColumn(root, { ...actions, retry: () => column.requester.retry() });
    const select = root.querySelector("select");
    select.addEventListener("change", () => actions.chooseModel(index, select.value));
    const column = { index, view, select, model: null, answer: null, requested: null };
    column.requester = createRequester(continueList, (result) => show(column, result));
    root.querySelector("[data-part=positions]").replaceChildren(...skeleton(state.k));
    container.append(root);
    return column;
  }

  function show(column, { phase, answer, problem, seconds }) {
    column.view.showWaiting(phase === "waiting");
    if (phase === "answered") {
      hideBanner();
      column.answer = answer;
      column.view.showAnswer(answer);
      if (answer.model.hash !== column.model.hash) actions.modelChanged();
    } else if (phase === "failed") {
      if (problem.unreachable) showBanner(formatFailure(problem, seconds), retryAll);
      else column.view.showFailure(problem, seconds);
      if (!problem.temporary) column.answer = null;
      if (problem.needsKey) actions.needsKey();
      if (problem.status === 404) actions.modelChanged();
    }
    if (phase !== "waiting") render();
    if (phase === "answered" && column.index === 0) {
      announce(`${column.model.title} continues with ${column.view.summary()}`);
    }
  }

  const retryAll = () => columns.forEach((column) => column.requester.retry());

  /** Return the function that finds an item in the continuation of the other model. */
  function inOther(column) {
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
      if (column.answer) column.view.render({ first: state.list.length + 1, inOther: inOther(column), taken });
    }
  }

  function showModels(column, models) {
    const none = column.index > 0 ? [make("option", { value: "" }, "No second model")] : [];
    const names = models.map((model) => make("option", { value: model.name }, model.title));
    column.select.replaceChildren(...none, ...names);
    column.select.value = column.model.name;
    column.select.setAttribute("aria-label", column.index > 0 ? "Second model" : "Model");
    column.select.disabled = models.length < 2;
  }

  /** Show the state, and send the requests that have changed. */
  function update(next, models, limits) {
    state = next;
    const chosen = next.models.map((name) => models.find((model) => model.name === name));
    for (const column of columns.splice(chosen.length)) {
      column.requester.cancel();
      column.view.root.remove();
    }
    while (columns.length < chosen.length) columns.push(create(columns.length));
    columns.forEach((column, index) => {
      column.model = chosen[index];
      showModels(column, models);
      const request = requestOf(state, column.model, limits);
      const text = JSON.stringify(request);
      if (text === column.requested) return;
      column.requested = text;
      column.view.showWaiting(true);
      column.requester.request(request);
    });
    container.classList.toggle("pair", columns.length > 1);
    render();
  }

  return { update, retryAll };
}
