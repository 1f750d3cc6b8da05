import type { TSchema } from "@sinclair/typebox";

/**
 * The number of fields of a value, nested ones included, that its schema does not define. The value must match the
 * schema.
 */
export function unknownFields(schema: TSchema, value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(schema["anyOf"])) {
    const options = schema["anyOf"] as readonly TSchema[];
    const counts = options
      .filter((option) => holds(option, value))
      .map((option) => unknownFields(option, value));
    return counts.length === 0 ? 0 : Math.min(...counts);
  }
  let count = 0;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items) for (const item of value) count += unknownFields(items as TSchema, item);
    return count;
  }
  const properties = schema["properties"] as Readonly<Record<string, TSchema>> | undefined;
  if (!properties) return 0;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known) count += unknownFields(known, fields[name]);
    else count++;
  }
  return count;
}

const holds = (schema: TSchema, value: object) =>
  schema["type"] === (Array.isArray(value) ? "array" : "object") || Array.isArray(schema["anyOf"]);
