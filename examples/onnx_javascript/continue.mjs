// Continues a list with a model that `fans export RUN --format onnx` wrote, without Python:
//
//   node continue.mjs mine.onnx runs/mine/items.jsonl s0001 s0007 -k 5
//
// Prints one item per line, its id and its name, as `fans continue runs/mine s0001 s0007 -k 5` does.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import * as ort from "onnxruntime-node"; // in a browser: "onnxruntime-web", with the same functions

/** Read the items of a model. The graph knows them by their index: the item with index n is on line n + 1. */
export function readItems(path) {
  const items = readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  return { items, indices: new Map(items.map((item, index) => [String(item.id), index])) };
}

/** Return k items that continue each list. All lists of a call are computed together, which is faster than one by one. */
export async function continueLists(session, { items, indices }, lists, k, { exclude = [], keepSeen = false } = {}) {
  // Rows of one length; -1 is skipped: padding, or an item that the model does not know.
  const index = (id) => BigInt(indices.get(id) ?? -1);
  const longest = Math.max(...lists.map((list) => list.length));
  const padded = lists.flatMap((list) => [...list.map(index), ...Array(longest - list.length).fill(-1n)]);
  const int64 = (values, shape) => new ort.Tensor("int64", BigInt64Array.from(values), shape); // indices are 64 bits
  const output = await session.run({
    lists: int64(padded, [lists.length, longest]),
    k: int64([BigInt(k)], []),
    keep_seen: new ort.Tensor("bool", [keepSeen], []),
    exclude: int64(exclude.map(index), [exclude.length]),
  });
  const columns = output.items.dims[1]; // fewer than k if the model has fewer items
  return lists.map((_, row) => {
    const found = [...output.items.data.slice(row * columns, (row + 1) * columns)].map(Number);
    return found.filter((item) => item >= 0).map((item) => items[item]); // -1: no item is left
  });
}

async function main() {
  const options = { k: { type: "string", short: "k", default: "10" }, exclude: { type: "string", multiple: true } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [model, itemsFile, ...list] = positionals;
  const k = Number(values.k);
  if (!itemsFile || !(Number.isInteger(k) && k > 0)) {
    throw new Error("usage: node continue.mjs MODEL.onnx ITEMS.jsonl ITEM... [-k 10] [--exclude ITEM]...");
  }
  const vocabulary = readItems(itemsFile);
  const unknown = list.filter((id) => !vocabulary.indices.has(id));
  if (unknown.length) console.error(`unknown items were skipped: ${unknown.join(", ")}`);
  if (unknown.length && unknown.length === list.length) throw new Error("none of the items is known to the model");
  const session = await ort.InferenceSession.create(model); // takes longer than an answer: do it once
  const [answer] = await continueLists(session, vocabulary, [list], k, { exclude: values.exclude });
  for (const item of answer) console.log([item.id, item.name].filter((text) => text != null).join("\t"));
}

try {
  await main();
} catch (error) {
  console.error(`continue: ${error.message}`);
  process.exitCode = 2;
}
