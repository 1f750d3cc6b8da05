/**
 * The fields and types that the schema of an event type allows, as far as they can be read from it. Lists are
 * transparent: the shape of a list is that of its items.
 */

type Schema = Readonly<Record<string, unknown>>;

/** The type of a value that is not a list. */
export type Kind = "string" | "number" | "boolean" | "object" | "null";

/** A schema with the document that its references refer to. */
interface Located {
  readonly root: Schema;
  readonly schema: Schema;
}

/** The most schemas that are looked at for one shape. Beyond that, it allows anything. */
const mostSchemas = 500;

/** Keywords whose effect on fields depends on the value or cannot be seen. */
const opaque = ["if", "dependentSchemas", "$dynamicRef", "patternProperties", "unevaluatedProperties"];
/** Keywords that combine schemas. */
const composing = ["anyOf", "oneOf", "allOf"];
/** Keywords that say something about the value itself, beside `opaque` and `composing`. */
const telling = ["type", "const", "enum", "properties", "additionalProperties", "items", "prefixItems"];

const kindsOfTypes: Readonly<Record<string, Kind>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  object: "object",
  null: "null",
};

/** The possible forms of one part of a payload. */
export class Shape {
  /** null when the part may be anything. */
  readonly #forms: readonly Located[] | null;

  private constructor(forms: readonly Located[] | null) {
    this.#forms = forms;
  }

  /** Anything. */
  static readonly any = new Shape(null);

  /** The shape of payloads that match one of these schemas. */
  static of(schemas: readonly Schema[]): Shape {
    return Shape.#expanded(schemas.map((root) => ({ root, schema: root })));
  }

  static #expanded(located: readonly Located[]): Shape {
    const forms: Located[] = [];
    const seen = new Set<Schema>();
    const todo = [...located];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const { root, schema } = next;
      if (seen.has(schema)) continue;
      seen.add(schema);
      if (seen.size > mostSchemas || opaque.some((keyword) => keyword in schema)) return Shape.any;
      const inner = innerOf(root, schema);
      if (inner === null) return Shape.any;
      todo.push(...inner.map((part) => ({ root, schema: part })));
      const isComposed = "$ref" in schema || composing.some((keyword) => keyword in schema);
      const tells = telling.some((keyword) => keyword in schema);
      if (!tells && !isComposed) return Shape.any;
      if (tells && !isList(schema)) forms.push(next);
    }
    return new Shape(forms);
  }

  /** The types that a value may have; null for any. Absent values and null are always possible. */
  get kinds(): ReadonlySet<Kind> | null {
    if (this.#forms === null) return null;
    const kinds = new Set<Kind>(["null"]);
    for (const { schema } of this.#forms) {
      const own = kindsOf(schema);
      if (own === null) return null;
      for (const kind of own) kinds.add(kind);
    }
    return kinds;
  }

  /** The only values that are possible; null when there are others. */
  get values(): ReadonlySet<unknown> | null {
    if (this.#forms === null) return null;
    const values = new Set<unknown>([null]);
    for (const { schema } of this.#forms) {
      if (schema["type"] === "null") continue;
      const own = "const" in schema ? [schema["const"]] : schema["enum"];
      if (!Array.isArray(own)) return null;
      for (const value of own) values.add(value);
    }
    return values;
  }

  /** The shape of a field; null when no value can have it. */
  field(name: string): Shape | null {
    if (this.#forms === null) return Shape.any;
    const found: Located[] = [];
    for (const { root, schema } of this.#forms) {
      const field = fieldOf(schema, name);
      if (field === true) return Shape.any;
      if (field !== null) found.push({ root, schema: field });
    }
    return found.length === 0 ? null : Shape.#expanded(found);
  }

  /** The names of its known fields, in the order of the schema. */
  get fields(): readonly string[] {
    return [...new Set((this.#forms ?? []).flatMap(({ schema }) => Object.keys(propertiesOf(schema))))];
  }
}

/** Returns the schemas whose forms a schema shares, null when they may be anything. */
function innerOf(root: Schema, schema: Schema): readonly Schema[] | null {
  const inner: unknown[] = composing.flatMap((keyword) => schema[keyword] ?? []);
  if ("$ref" in schema) inner.push(referred(root, schema["$ref"]));
  if (isList(schema)) {
    const first = schema["prefixItems"] ?? [];
    if (!("items" in schema) || !Array.isArray(first)) return null;
    inner.push(...first);
    if (schema["items"] !== false) inner.push(schema["items"]);
  }
  return inner.every(isSchema) ? inner : null;
}

const isList = (schema: Schema) => schema["type"] === "array";

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the part of the document that a local reference names; undefined for any other reference. */
function referred(root: Schema, reference: unknown): unknown {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) return undefined;
  let here: unknown = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    here = isSchema(here) && Object.hasOwn(here, name) ? here[name] : undefined;
  }
  return here;
}

function kindsOf(schema: Schema): readonly Kind[] | null {
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  if (Array.isArray(values)) return values.map(kindOf);
  const types = [schema["type"]].flat();
  const kinds = types.flatMap((type) => kindsOfTypes[String(type)] ?? []);
  return kinds.length === types.length ? kinds : null;
}

/** The type of a value; lists count as objects. */
export function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" ? type : "object";
}

function propertiesOf(schema: Schema): Schema {
  const properties = schema["properties"];
  return isSchema(properties) ? properties : {};
}

/** Returns the schema of a field, true when it may be anything, and null when there is no such field. */
function fieldOf(schema: Schema, name: string): Schema | true | null {
  if (kindsOf(schema)?.includes("object") === false) return null;
  const properties = propertiesOf(schema);
  const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const field = known ?? schema["additionalProperties"] ?? true;
  if (field === false) return null;
  return isSchema(field) ? field : true;
}
