import type { TSchema } from "@sinclair/typebox";
import { webAddressFormat } from "../../domain/validation/fields.ts";
import { component, type Json, mark } from "./components.ts";

/** Keywords that only this project's readers and checks use. */
const ownKeywords = new Set([
  "$id",
  "trim",
  "errorMessage",
  "refine",
  "refineWithin",
  "noValidate",
  "contentMediaType",
]);
const schemaMaps = new Set(["properties", "patternProperties"]);
const schemas = new Set(["items", "additionalProperties"]);

/** Returns a TypeBox schema as plain JSON Schema. A schema with an `$id` becomes a component. */
export function documentSchema(schema: TSchema): Json {
  const plain: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || ownKeywords.has(keyword) || value === webAddressFormat) continue;
    plain[keyword] = keywordValue(keyword, value);
  }
  const shown = Array.isArray(plain["anyOf"]) ? readableUnion(plain, plain["anyOf"]) : plain;
  return schema.$id === undefined ? shown : component(`schemas/${schema.$id}`, shown);
}

function keywordValue(keyword: string, value: unknown): unknown {
  if (keyword === "$ref") return `#/components/schemas/${value}`;
  if (typeof value !== "object" || value === null) return value;
  if (keyword === "anyOf") return (value as TSchema[]).map(documentSchema);
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
