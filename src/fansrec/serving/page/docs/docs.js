/** The API of the service as it describes itself in /openapi.json: operations, schemas, and a form to try each. */

import { hasKey, storeKey } from "/static/api.js";
import { make, part } from "/static/dom.js";
import { fieldTable, schemaName, typeOf } from "/static/docs/schemas.js";
import { tryIt } from "/static/docs/try_it.js";

const METHODS = ["get", "post", "put", "patch", "delete"]; // GET comes along with HEAD
const anchorOf = (method, path) => `${method}-${path}`.replace(/[^a-z0-9]+/gi, "-").replace(/-$/, "");

async function start() {
  part("key").placeholder = hasKey() ? "A key is stored" : "fans_…";
  part("key").addEventListener("change", ({ target }) => storeKey(target.value.trim()));
  const response = await fetch("/openapi.json", { credentials: "omit" });
  if (!response.ok) throw new Error(`The service answered with status ${response.status}; load the page again.`);
  show(await response.json());
  openTarget();
  addEventListener("hashchange", openTarget);
}

/** @param {Record<string, any>} api */
function show(api) {
  part("about").textContent = `${api.info.summary} Version ${api.info.version}.`;
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((one) => one in methods)) {
      const id = anchorOf(method, path);
      part("operation-links").append(make("li", {}, make("a", { href: `#${id}` }, methods[method].summary)));
      part("operations").append(operationCard(api, id, method, path, methods[method]));
    }
  }
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    part("schema-links").append(make("li", {}, make("a", { href: `#schema-${name}` }, schemaName(name))));
    part("schemas").append(card(`schema-${name}`, [make("code", {}, schemaName(name))],
      () => [describe(schema), fieldTable(schema)]));
  }
}

function operationCard(api, id, method, path, operation) {
  const title = [make("span", { class: `method ${method}` }, method.toUpperCase()), make("code", {}, path),
    make("span", { class: "soft" }, operation.summary)];
  return card(id, title, () => {
    const body = operation.requestBody?.content["application/json"].schema;
    return [
      describe(operation),
      ...(operation.parameters?.length ? [make("h3", {}, "Parameters"), parameterTable(operation.parameters)] : []),
      ...(body ? [make("h3", {}, "Body (JSON)"), fieldTable(body)] : []),
      make("h3", {}, "Answers"), answerTable(operation.responses),
      make("h3", {}, "Try it"), tryIt(method, path, operation, body),
    ];
  });
}

/** A section that is filled when it is opened for the first time. */
function card(id, title, fill) {
  const inside = make("div", { class: "inside" });
  const toggle = () => details.open && !inside.hasChildNodes() && inside.append(...fill().filter(Boolean));
  const details = make("details", { id, toggle }, make("summary", {}, ...title), inside);
  return details;
}

const describe = ({ description }) => (description ? make("p", {}, description) : null);

function table(headings, rows) {
  const head = make("tr", {}, ...headings.map((heading) => make("th", { scope: "col" }, heading)));
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function parameterTable(parameters) {
  return table(["Name", "In", "Type", "Meaning"], parameters.map((one) => make("tr", {},
    make("td", {}, make("code", {}, one.name), one.required ? make("span", { class: "required" }, " required") : ""),
    make("td", {}, one.in), make("td", {}, ...typeOf(one.schema)), make("td", {}, one.description ?? ""))));
}

function answerTable(responses) {
  return table(["Status", "Content", "Meaning"], Object.entries(responses).map(([status, { content, description }]) => {
    const schema = content?.["application/json"]?.schema;
    return make("tr", {}, make("td", {}, make("code", {}, status)), make("td", {}, ...(schema ? typeOf(schema) : [])),
      make("td", {}, status === "200" ? "" : description));
  }));
}

/** Open what the address names, so that a link to an operation shows it. */
function openTarget() {
  const target = document.getElementById(decoded(location.hash.slice(1)));
  if (target?.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
}

/** The text of a fragment; one that is not encoded text names nothing. */
function decoded(fragment) {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return "";
  }
}

start().catch((error) => {
  part("problem").textContent = error.message;
});
