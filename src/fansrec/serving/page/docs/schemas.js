/** JSON schemas as text and tables. */

import { make } from "/static/dom.js";

const REFERENCE = "#/components/schemas/";
const NAMES = { ProblemBody: "Problem", HTTPValidationError: "Validation error" };

export const schemaName = (name) => NAMES[name] ?? name;

/** The type of a schema with its limits, as texts and links to other schemas. */
export function typeOf(schema) {
  if (!schema) return ["any"];
  if (schema.$ref) {
    const name = schema.$ref.slice(REFERENCE.length);
    return [make("a", { href: `#schema-${name}` }, schemaName(name))];
  }
  const kinds = schema.anyOf ?? schema.oneOf;
  if (kinds) return joined(kinds.map(typeOf), " or ");
  if (schema.enum) return joined(schema.enum.map((value) => [make("code", {}, JSON.stringify(value))]), " or ");
  if ("const" in schema) return [make("code", {}, JSON.stringify(schema.const))];
  const plain = schema.type === "array" ? ["array of ", ...grouped(schema.items)] : [schema.type ?? "any"];
  const limits = limitsOf(schema);
  return limits ? [...plain, ` (${limits})`] : plain;
}

/** With parentheses where several types are possible. */
const grouped = (schema) => (schema.anyOf ? ["(", ...typeOf(schema), ")"] : typeOf(schema));

const joined = (parts, between) => parts.flatMap((one, index) => (index ? [between, ...one] : one));

function limitsOf(schema) {
  const number = (value) => (Number.isSafeInteger(value) ? value.toLocaleString("en") : null); // not those of 64 bits
  const range = (least, most) => {
    const [from, to] = [number(least), number(most)];
    return from && to ? `${from} to ${to}` : from ? `at least ${from}` : to ? `at most ${to}` : null;
  };
  const withUnit = (text, unit) => text && `${text} ${unit}`;
  return [range(schema.minimum, schema.maximum), withUnit(range(schema.minItems, schema.maxItems), "entries"),
    withUnit(range(schema.minLength, schema.maxLength), "characters")].filter(Boolean).join(", ");
}

/** The fields of an object with type, default and meaning. */
export function fieldTable(schema) {
  const heads = ["Field", "Type", "Default", "Meaning"].map((heading) => make("th", { scope: "col" }, heading));
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => make("tr", {},
    make("td", {}, make("code", {}, name),
      schema.required?.includes(name) ? make("span", { class: "required" }, " required") : ""),
    make("td", {}, ...typeOf(field)),
    make("td", {}, "default" in field ? make("code", {}, JSON.stringify(field.default)) : ""),
    make("td", {}, field.description ?? "")));
  return make("div", { class: "wide" },
    make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)));
}
