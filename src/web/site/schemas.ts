import { rendered } from "./markdown.ts";

/*
 * JSON Schemas as lists of fields, for the API reference.
 */

/** The keywords that the API reference shows. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

type Schemas = Readonly<Record<string, Schema>>;

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  /** The part of the request; "" where there is only one. */
  readonly place?: string;
}

export const schemaAnchor = (name: string) => `object-${name}`;

const code = (value: unknown) =>
  `<code>${Bun.escapeHTML(typeof value === "string" ? value : JSON.stringify(value))}</code>`;

const namedBy = (schema: Schema) => /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? "")?.[1];

const optionsOf = ({ anyOf, oneOf }: Schema) => anyOf ?? oneOf ?? [];

/** Returns the type of a value in words, in which named objects are links. */
export function typeHtml(schemas: Schemas, schema: Schema): string {
  const name = namedBy(schema);
  if (name !== undefined) return `<a href="#${schemaAnchor(name)}">${Bun.escapeHTML(name)}</a>`;
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(" or ");
  const options = optionsOf(schema);
  if (options.length > 0) return [...new Set(options.map((one) => typeHtml(schemas, one)))].join(" or ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const words = types.map((type) => {
    if (type === "array") return schema.items ? `array of ${typeHtml(schemas, schema.items)}` : "array";
    if (type === "object" && typeof schema.additionalProperties === "object" && !schema.properties)
      return `object with values of ${typeHtml(schemas, schema.additionalProperties)}`;
    const format = schema.format === undefined || schema.format === "int64" ? "" : ` (${schema.format})`;
    return Bun.escapeHTML(type + (type === "string" ? format : ""));
  });
  return words.length > 0 ? words.join(" or ") : "any value";
}

/** Returns the limits of a value in words; "" without any. */
function limits(schema: Schema): string {
  const between = (least: number | undefined, most: number | undefined, of: string) => {
    if (least === undefined && most === undefined) return [];
    if (least === most) return [`exactly ${least}${of}`];
    // The largest safe integer is no limit that a reader needs.
    const upper = most === undefined || most >= Number.MAX_SAFE_INTEGER ? null : most.toLocaleString("en-US");
    const lower = least === undefined || (least === 0 && upper !== null && of !== "") ? null : least;
    if (lower !== null && upper !== null) return [`${lower} to ${upper}${of}`];
    return upper !== null ? [`at most ${upper}${of}`] : lower !== null ? [`at least ${lower}${of}`] : [];
  };
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const words = [
    ...between(minimum, maximum, ""),
    ...between(minLength, maxLength, " characters"),
    ...between(minItems, maxItems, " items"),
    ...(pattern === undefined || pattern.length > 60 ? [] : [`matches ${code(pattern)}`]),
    ...(schema.default === undefined ? [] : [`default ${code(schema.default)}`]),
  ];
  return words.join(", ");
}

/** The schema whose fields are shown below a value: that of a list's items, of a map's values, or of an option. */
function inner(schema: Schema): readonly Schema[] {
  if (schema.properties || schema.allOf) return [schema];
  if (schema.items) return inner(schema.items);
  if (typeof schema.additionalProperties === "object") return inner(schema.additionalProperties);
  return optionsOf(schema).flatMap(inner);
}

function fieldHtml(schemas: Schemas, { name, schema, isRequired, place = "" }: Field): string {
  const facts = [place, isRequired ? "required" : "", limits(schema)].filter(Boolean);
  const description = schema.description ? rendered(schema.description, (path) => path).html : "";
  const below = inner(schema).map((one) => listHtml(schemas, one));
  return `<div class="field-name"><code class="field-key">${Bun.escapeHTML(name)}</code> <span class="field-type">${typeHtml(schemas, schema)}</span>${facts
    .map((fact) => ` <small class="field-fact">${fact}</small>`)
    .join("")}</div>${description}${below.join("")}`;
}

function listHtml(schemas: Schemas, { properties = {}, required = [], allOf = [] }: Schema): string {
  const items = Object.entries(properties).map(
    ([name, schema]) =>
      `<li>${fieldHtml(schemas, { name, schema, isRequired: required.includes(name) })}</li>`,
  );
  const parts = allOf.flatMap(inner).map((one) => listHtml(schemas, one));
  return (items.length > 0 ? `<ul class="fields">${items.join("")}</ul>` : "") + parts.join("");
}

/** Returns the fields of a value, of a named object with a link to it. Of named objects inside it has only the link. */
function allHtml(schemas: Schemas, schema: Schema): string {
  const name = namedBy(schema);
  const fields = name === undefined ? schema : (schemas[name] ?? schema);
  const lists = inner(fields).map((one) => listHtml(schemas, one));
  const isNamed = name !== undefined || schema.items !== undefined;
  return (isNamed ? `<p>${typeHtml(schemas, schema)}</p>` : "") + lists.join("");
}

export const fieldsHtml = { field: fieldHtml, all: allHtml };
