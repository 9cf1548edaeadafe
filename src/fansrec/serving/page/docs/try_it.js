/** A form that sends a request to the service and shows its answer as it came. */

import { keyHeaders } from "/static/api.js";
import { make } from "/static/dom.js";

const ROWS = 12;

export function tryIt(method, path, operation, body) {
  const fields = (operation.parameters ?? []).map((parameter) => ({ parameter, input: inputFor(parameter) }));
  const content = body ? make("textarea", { rows: ROWS, spellcheck: "false" }) : null;
  if (content) fillExample(content, body);
  const send = make("button", { type: "submit", class: "accent" }, "Send");
  const outcome = make("div", { role: "status" });
  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    outcome.replaceChildren(...(await answerTo(method, () => addressOf(path, fields), headersOf(fields, content), content)));
    send.disabled = false;
  };
  const labels = fields.map(({ parameter, input }) => make("label", {}, labelOf(parameter), input));
  return make("form", { submit }, ...labels, content ? make("label", {}, "Body", content) : null,
    make("div", { class: "line" }, send), outcome);
}

const labelOf = ({ name, schema }) => (isList(schema) ? `${name} (one per line)` : name);

const isList = (schema) => (schema.anyOf ?? [schema]).some(({ type }) => type === "array");

function inputFor({ name, required, schema }) {
  const attributes = { name, required, placeholder: "default" in schema ? String(schema.default) : null };
  return isList(schema) ? make("textarea", { ...attributes, rows: 2 })
    : make("input", { ...attributes, type: "text", autocomplete: "off" });
}

const valuesOf = ({ parameter, input }) =>
  (isList(parameter.schema) ? input.value.split("\n") : [input.value]).filter((value) => value !== "");

function addressOf(path, fields) {
  const query = new URLSearchParams();
  let address = path;
  for (const field of fields) {
    const { name, in: place } = field.parameter;
    if (place === "path") address = address.replace(`{${name}}`, () => encodedSegment(name, field.input.value));
    if (place === "query") for (const value of valuesOf(field)) query.append(name, value);
  }
  return query.size ? `${address}?${query}` : address;
}

/** A value as one segment of a path. Browsers resolve . and .. also where they are encoded, to another path. */
function encodedSegment(name, value) {
  if (value === "." || value === "..") {
    throw new Error(`browsers cannot send “${value}” as ${name}; use another client, such as curl --path-as-is`);
  }
  return encodeURIComponent(value);
}

function headersOf(fields, content) {
  const headers = { ...keyHeaders(), ...(content && { "Content-Type": "application/json" }) };
  for (const field of fields.filter(({ parameter }) => parameter.in === "header")) {
    for (const value of valuesOf(field)) headers[field.parameter.name] = value;
  }
  return headers;
}

/** The elements that show what the service answered. */
async function answerTo(method, makeAddress, headers, content) {
  const started = performance.now();
  try {
    const address = makeAddress();
    const options = { method: method.toUpperCase(), headers, cache: "no-store", credentials: "omit" };
    const response = await fetch(address, content ? { ...options, body: content.value } : options);
    const text = await response.text();
    const milliseconds = Math.round(performance.now() - started);
    const status = make("p", { class: response.ok ? "answered" : "answered refused" },
      `${response.status} ${response.statusText}, ${milliseconds} ms`);
    return [make("pre", {}, make("code", {}, `${options.method} ${address}`)), status, shown(text)];
  } catch (error) {
    return [make("p", { class: "answered refused" }, `No answer: ${error.message}`)];
  }
}

/** The body in a box that the keyboard can scroll. */
function shown(text) {
  let lines = text;
  try {
    lines = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // not JSON: as it came
  }
  return make("pre", { tabindex: "0", role: "region", "aria-label": "Body of the answer" }, make("code", {}, lines));
}

/** Fill in the example of the schema, with items that this service has instead of those of another model. */
async function fillExample(content, { examples }) {
  const example = structuredClone(examples?.[0] ?? {});
  const write = () => {
    content.value = JSON.stringify(example, null, 2);
  };
  write();
  const before = content.value;
  try {
    const response = await fetch("/v1/items?search=a&limit=3", { headers: keyHeaders(), credentials: "omit" });
    const items = response.ok ? (await response.json()).items : [];
    if (!items.length || content.value !== before || !example.lists) return;
    example.lists = [items.map(({ item }) => item)];
    write();
  } catch {
    // the example stays as it is
  }
}
