/** The controls of re-ranking: diversity, popularity and freshness, in percent; at 0 a model's answer is its own. */

import { START } from "./state.js";

/** The range of each control, the field of a model that says whether it works, and the words for both directions. */
const CONTROLS = {
  diversity: { min: 0, max: 100, needs: null, more: "", less: "" },
  popularity: { min: -100, max: 100, needs: "counts", more: " popular", less: " niche" },
  freshness: { min: 0, max: 100, needs: "dates", more: "", less: "" },
};
const STEP = 10; // of the sliders
export const NAMES = Object.keys(CONTROLS);

const works = (name, model) => CONTROLS[name].needs === null || model[CONTROLS[name].needs];

/** The value of a control as text: "off", "30%", "30% niche". */
export function formatControl(name, value) {
  const { more, less } = CONTROLS[name];
  return value === 0 ? "off" : `${Math.abs(value)}%${value < 0 ? less : more}`;
}

/** The controls in use as text, for the summary of the rules. */
export const summarizeControls = (state) =>
  NAMES.filter((name) => state[name]).map((name) => `${name} ${formatControl(name, state[name])}`);

/** The fields of a request: the controls in use that the model has. @param {import("./api.js").Model} model */
export const requestedControls = (state, model) =>
  Object.fromEntries(NAMES.filter((name) => state[name] && works(name, model)).map((name) => [name, state[name] / 100]));

/** The controls among values from outside, within their ranges. */
export const validControls = (values) => Object.fromEntries(NAMES.map((name) => {
  const { min, max } = CONTROLS[name];
  const value = STEP * Math.round(values[name] / STEP);
  return [name, Number.isFinite(value) ? Math.max(min, Math.min(max, value)) : START[name]];
}));

/** Connect the sliders of the rules with the state. @param {(name: string) => HTMLElement} part */
export function createControls(part, change) {
  for (const name of NAMES) part(name).addEventListener("input", (event) => change(name, Number(event.target.value)));

  /** @param {import("./api.js").Model[]} models the chosen ones */
  function render(state, models) {
    for (const name of NAMES) {
      const text = formatControl(name, state[name]);
      part(`${name}-field`).hidden = !models.some((model) => works(name, model));
      part(name).value = String(state[name]);
      part(name).setAttribute("aria-valuetext", text);
      part(`${name}-value`).textContent = text;
    }
  }

  return { render };
}
