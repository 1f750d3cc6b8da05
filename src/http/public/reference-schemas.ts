import type { TSchema } from "@sinclair/typebox";

/** A JSON object of the OpenAPI document. */
export type Json = Record<string, unknown>;

/**
 * Marks a part of the document that is to stand in `components` under this name, such as `schemas/User`; `hoist`
 * moves it there and leaves a reference behind. So every part is written where it is used.
 */
const mark = "x-component";

export function component(name: string, part: Json): Json {
  return { [mark]: name, ...part };
}

/**
 * What a route's hook carries in place of its part of the document, which is made when the document is asked for: to
 * make all of them, and to have Elysia copy them, would take a start some 20 ms.
 */
export function described(describe: () => Json | Promise<Json>): object {
  return { describe };
}

/** The part of the document of a route with this hook; null where it is to have none. */
export async function descriptionOf(hook: { readonly detail?: object }): Promise<Json | null> {
  const { describe } = (hook.detail ?? {}) as { describe?: () => Json | Promise<Json> };
  return describe ? describe() : null;
}

/** Understood only by our own readers and checks. */
const ownKeywords = new Set(["$id", "trim", "errorMessage", "refine", "noValidate"]);
const schemaMaps = new Set(["properties", "patternProperties"]);
const schemaLists = new Set(["anyOf", "allOf", "oneOf"]);
const schemas = new Set(["items", "additionalProperties", "not"]);

/** A TypeBox schema as plain JSON Schema for the document. One with an `$id` becomes a component. */
export function documentSchema(schema: TSchema): Json {
  const plain: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!ownKeywords.has(keyword)) plain[keyword] = keywordValue(keyword, value);
  }
  const shown = Array.isArray(plain["anyOf"]) ? readableUnion(plain, plain["anyOf"]) : plain;
  const name = schema.$id;
  return name === undefined ? shown : component(`schemas/${name}`, shown);
}

function keywordValue(keyword: string, value: unknown): unknown {
  if (keyword === "$ref") return `#/components/schemas/${value}`;
  if (typeof value !== "object" || value === null) return value;
  if (schemaLists.has(keyword)) return (value as TSchema[]).map(documentSchema);
  if (schemas.has(keyword)) return documentSchema(value as TSchema);
  if (!schemaMaps.has(keyword)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, documentSchema(schema)]));
}

/** Unions of constants read better as `enum`, and those with null as a list of types. */
function readableUnion(schema: Json, options: Json[]): Json {
  const { anyOf: _, ...rest } = schema;
  if (options.every((option) => typeof option["const"] === "string")) {
    return { ...rest, type: "string", enum: options.map((option) => option["const"]) };
  }
  const [one = {}, other = {}] = options;
  const isPlain = typeof one["type"] === "string" && !("const" in one || "enum" in one || mark in one);
  if (options.length !== 2 || other["type"] !== "null" || !isPlain) return schema;
  return { ...one, ...rest, type: [one["type"], "null"] };
}

/** Moves the marked parts of a document into its `components`. Throws where one name means two parts. */
export function hoist(document: Json): Json {
  const components: Record<string, Json> = {};
  const place = (name: string, part: Json): Json => {
    const [kind = "", key = ""] = name.split("/");
    components[kind] ??= {};
    const section = components[kind];
    if (key in section && !Bun.deepEquals(section[key], part)) throw new Error(`Two components are ${name}`);
    section[key] = part;
    return { $ref: `#/components/${name}` };
  };
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const part = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
    const { [mark]: name, ...rest } = part;
    return typeof name === "string" ? place(name, rest) : part;
  };
  const { components: given, ...rest } = walk(document) as Json;
  const all: Record<string, Json> = { ...(given as Record<string, Json>) };
  for (const [kind, parts] of Object.entries(components)) {
    const sorted = Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1));
    all[kind] = { ...all[kind], ...Object.fromEntries(sorted) };
  }
  return { ...rest, components: all };
}
