/** A JSON object of an OpenAPI document. */
export type Json = Record<string, unknown>;

/**
 * The keyword that marks a part of the document as a component with a name, such as `schemas/User`. `hoist` moves the
 * part to `components` and leaves a reference, so that source code can define each part where it is used.
 */
export const mark = "x-component";

export function component(name: string, part: Json): Json {
  return { [mark]: name, ...part };
}

/** Returns a response header, as a component that responses share. */
export function header(
  name: string,
  description: string,
  type: "string" | "integer" | "boolean",
  example: string | number | boolean,
): Json {
  return component(`headers/${name}`, { description, schema: { type }, example });
}

/** Moves the marked parts of a document to its `components`. Throws if two different parts have the same name. */
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
    return typeof name === "string" ? place(name, rest) : rest;
  };
  const { components: given, ...rest } = walk(document) as Json;
  const all: Record<string, Json> = { ...(given as Record<string, Json>) };
  for (const [kind, parts] of Object.entries(components)) {
    const sorted = Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1));
    all[kind] = { ...all[kind], ...Object.fromEntries(sorted) };
  }
  return { ...rest, components: all };
}
