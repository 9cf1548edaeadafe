/** Catalogs: models with the same items and categories share one; two models on the page may have different ones. */

/** @typedef {import("./api.js").Model} Model */

/** Whether the models on the page have different catalogs. @param {Model[]} models */
export const differ = (models) => models.some((model) => model.catalog !== models[0].catalog);

/** The field of the state with the chosen categories of a model on the page. */
export const choiceOf = (/** @type {Model[]} */ models, index) =>
  (models[index].catalog === models[0].catalog ? "only" : "onlyOther");

/** The chosen categories that the model has. */
export const knownTo = (/** @type {Model} */ model, names) =>
  names.filter((name) => model.categories.some((category) => category.name === name));

/** The state with these models on the page; their chosen categories follow them, and those they do not have go.
 * @param {Model[]} before  @param {Model[]} after */
export function withModels(state, before, after) {
  const chosen = new Map(before.map((model, index) => [model.catalog, state[choiceOf(before, index)]]));
  const of = (model) => (model ? knownTo(model, chosen.get(model.catalog) ?? []) : []);
  const other = after.find((model) => model.catalog !== after[0].catalog);
  return { ...state, models: after.map((model) => model.name), only: of(after[0]), onlyOther: of(other) };
}
