/** Messages: notices that disappear, a banner that stays until the service works, announcements for screen readers. */

import { make, part } from "./dom.js";

const NOTICE_TIME = 4000; // milliseconds

let hiding;

/** @param {string} text  @param {{label: string, run: () => void}|null} action a button beside it */
export function showNotice(text, action = null) {
  const element = part("notice");
  const button = action && make("button", { type: "button", class: "link", click: action.run }, action.label);
  element.replaceChildren(make("span", {}, text), ...(button ? [button] : []));
  element.classList.add("shown");
  clearTimeout(hiding);
  hiding = setTimeout(() => element.classList.remove("shown"), NOTICE_TIME);
}

/** Screen readers read the text; it is not visible. */
export const announce = (text) => { part("announcement").textContent = text; };

export function showBanner(text, retry, label = "Try now") {
  part("banner-text").textContent = text;
  part("banner-retry").textContent = label;
  part("banner").hidden = false;
  part("banner-retry").onclick = retry;
}

export const hideBanner = () => { part("banner").hidden = true; };
