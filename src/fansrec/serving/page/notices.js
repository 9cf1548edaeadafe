/** What the page says: notices that go away, a banner that stays until things work, words for screen readers. */

import { make } from "./dom.js";

const NOTICE_SHOWN = 4000; // milliseconds
const part = (name) => document.getElementById(name);

let hiding;

/** @param {string} text  @param {{words: string, run: () => void}|null} action a button beside it */
export function notice(text, action = null) {
  const place = part("notice");
  const button = action && make("button", { type: "button", class: "link", click: action.run }, action.words);
  place.replaceChildren(make("span", {}, text), ...(button ? [button] : []));
  place.classList.add("shown");
  clearTimeout(hiding);
  hiding = setTimeout(() => place.classList.remove("shown"), NOTICE_SHOWN);
}

/** Read out, not seen. */
export const say = (text) => { part("said").textContent = text; };

export function banner(text, again) {
  part("banner-text").textContent = text;
  part("banner").hidden = false;
  part("banner-again").onclick = again;
}

export const noBanner = () => { part("banner").hidden = true; };
