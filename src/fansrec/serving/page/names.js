/** Names in a pasted text: one per line, or separated by commas if there is only one line. */

const NUMBERING = /^\s*(?:[-*•]|\d+[.)])\s+/; // of a list: "1. ", "2) ", "- "

/** @returns {string[]} the names, without the numbering of the lines and without quotes */
export function splitNames(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const names = lines.length > 1 ? lines : (lines[0] ?? "").split(",");
  return names.map((name) => name.replace(NUMBERING, "").trim().replace(/^"(.*)"$/, "$1").trim()).filter(Boolean);
}
