/** One or two models side by side, each with its own requests; items in both continuations are marked. */

import { createColumn, skeleton } from "./answers_view.js";
import { continueList } from "./api.js";
import { make, placeIcons } from "./dom.js";
import { choiceOf, knownTo } from "./catalogs.js";
import { requestedControls } from "./controls.js";
import { formatFailure, labelOf } from "./format.js";
import { announce, hideBanner, showBanner } from "./notices.js";
import { createRequester } from "./requester.js";
import { sameItem } from "./state.js";
import { createTabs } from "./tabs.js";

/** The request to a model for the current state. @param {import("./api.js").Model[]} models on the page */
function requestOf(state, models, index, limits) {
  const model = models[index];
  const categories = knownTo(model, state[choiceOf(models, index)]);
  return {
    list: state.list.map((entry) => entry.item),
    model: model.name,
    k: Math.min(state.k, limits.k),
    exclude: state.blocked.map((item) => item.item),
    categories: categories.length ? categories : null,
    max_per_group: model.groups ? state.perGroup : null,
    keep_seen: state.keepSeen,
    ...requestedControls(state, model),
    fallback: "popular", // for a list of which the model knows no item; the answer then says so
  };
}

export function createColumns(container, actions) {
  const template = document.getElementById("column");
  const tabs = createTabs(container);
  let columns = [];
  let state;

  const labelOfId = (id) => labelOf(state.list.find((entry) => String(entry.item) === String(id)) ?? { item: id });

  function create(index) {
    const root = template.content.firstElementChild.cloneNode(true);
    placeIcons(root);
    root.id = `column-${index}`;
    const why = (position) => actions.why(position, column.request);
    const view = createColumn(root, { ...actions, why, retry: () => column.requester.retry() });
    const select = root.querySelector("select");
    select.addEventListener("change", () => actions.chooseModel(index, select.value));
    const column = { index, view, select, model: null, answer: null, request: null, requested: null };
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
      column.view.showAnswer(answer, labelOfId);
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
      const verb = answer.fallback ? "knows no item of the list and shows popular ones," : "continues with";
      announce(`${column.model.name} ${verb} ${column.view.summary()}`);
    }
  }

  const retryAll = () => columns.forEach((column) => column.requester.retry());

  /** Return the function that finds an item in the continuation of the other model. */
  function inOther(column) {
    const other = columns.find((one) => one !== column && one.answer);
    return (position) => {
      const found = other ? other.view.positions.findIndex(sameItem(position)) : -1;
      return found < 0 ? null : { name: other.model.name, position: state.list.length + found + 1 };
    };
  }

  function render() {
    const taken = (position) => !state.keepSeen && state.list.some(sameItem(position));
    for (const column of columns) {
      column.view.describe(column.model, column.answer);
      const scale = column.answer?.fallback ? "linear" : column.model.score_scale; // shares of all occurrences
      const explains = column.model.explains && !column.answer?.fallback && state.list.length > 0;
      const first = state.list.length + 1;
      if (column.answer) column.view.render({ first, inOther: inOther(column), taken, scale, explains });
    }
  }

  function showModels(column, models) {
    const none = column.index > 0 ? [make("option", { value: "" }, "No second model")] : [];
    const names = models.map((model) => make("option", { value: model.name }, model.name));
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
      const request = requestOf(state, chosen, index, limits);
      const text = JSON.stringify(request);
      if (text === column.requested) return;
      column.requested = text;
      column.request = request;
      column.view.showWaiting(true);
      column.requester.request(request);
    });
    container.classList.toggle("pair", columns.length > 1);
    tabs.render(chosen.map((model) => model.name));
    render();
  }

  return { update, retryAll };
}
