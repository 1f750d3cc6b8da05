import { Type } from "@sinclair/typebox";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020";
import { type FieldProblem, invalidFields } from "../errors.ts";
import { second } from "../time.ts";
import { maxProblems } from "../validation.ts";
import { Catalogue } from "./catalogue.ts";
import type { EventType } from "./event-type.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** An event type that an operator registered, as it is kept. */
export interface RegisteredEventType {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the payload. */
  readonly schema: JsonObject;
  readonly example: JsonObject;
  readonly time_to_live_seconds: number | null;
  /** Whether an event of it was ever published. */
  readonly is_published: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

/** What an operator says of a type. */
export type NewEventType = Omit<RegisteredEventType, "is_published" | "created_at" | "updated_at">;

export const eventTypeLimits = { registered: 1_000, schemaBytes: 64 * 1024 } as const;

/** Names have a dot, so that none is mistaken for an event of the stream itself. */
export const eventNamePattern = "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$";

/**
 * The type as the catalogue has it. Throws `invalid_parameter` where the schema is none, or the example does not fit it.
 */
export async function eventTypeOf(registered: NewEventType): Promise<EventType> {
  const { name, version, description, schema, example, time_to_live_seconds } = registered;
  const validate = await compiled(schema);
  const check = (data: unknown, prefix = "data") => misfits(validate, data, prefix, name);
  const wrong = check(example, "example");
  if (wrong.length > 0) throw invalidFields(wrong);
  const timeToLiveMs = time_to_live_seconds === null ? null : time_to_live_seconds * second;
  return { name, version, description, payload: Type.Unsafe(schema), example, timeToLiveMs, check };
}

/** The catalogue of an installation in which these are registered. */
export async function catalogueOf(registered: readonly RegisteredEventType[]): Promise<Catalogue> {
  const catalogue = new Catalogue();
  for (const type of registered) catalogue.put(await eventTypeOf(type));
  return catalogue;
}

async function compiled(schema: JsonObject): Promise<ValidateFunction> {
  const refuse = (message: string) => invalidFields([{ in: "body", field: "schema", message }]);
  if (schema["type"] !== "object") throw refuse('must be that of an object: "type": "object"');
  if (JSON.stringify(schema).length > eventTypeLimits.schemaBytes) {
    throw refuse(`must be at most ${eventTypeLimits.schemaBytes} characters as JSON`);
  }
  // An asynchronous check would be taken for one that succeeds.
  if ("$async" in schema) throw refuse("must not have $async");
  // Loaded only where there is such a type, because it takes longer than the rest of a start.
  const { Ajv2020 } = await import("ajv/dist/2020");
  // One for each schema, so that their ids cannot meet. `format` is a remark, as the draft has it.
  const ajv = new Ajv2020({
    allErrors: true,
    strictTypes: false,
    strictRequired: false,
    validateFormats: false,
    logger: false,
  });
  try {
    return ajv.compile(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refuse(`is not a JSON Schema of draft 2020-12: ${reason.slice(0, 300)}`);
  }
}

function misfits(validate: ValidateFunction, data: unknown, prefix: string, of: string): FieldProblem[] {
  if (validate(data)) return [];
  const messages = new Map<string, string>();
  for (const error of validate.errors ?? []) {
    const { field, message } = problemOf(error, prefix, of);
    if (!messages.has(field)) messages.set(field, message);
    if (messages.size === maxProblems) break;
  }
  return Array.from(messages, ([field, message]) => ({ in: "body", field, message }));
}

function problemOf(
  { instancePath, keyword, params, message }: ErrorObject,
  prefix: string,
  of: string,
): { field: string; message: string } {
  const field = `${prefix}${instancePath.split("/").slice(1).map(segment).join("")}`;
  if (keyword === "required") {
    return { field: `${field}${segment(params["missingProperty"])}`, message: "is required" };
  }
  if (keyword === "additionalProperties") {
    const name = segment(params["additionalProperty"]);
    return { field: `${field}${name}`, message: `is not a field of ${of}` };
  }
  return { field, message: message ?? "is not valid" };
}

function segment(part: unknown): string {
  const name = String(part).replaceAll("~1", "/").replaceAll("~0", "~").slice(0, 100);
  return /^[0-9]+$/.test(name) ? `[${name}]` : `.${name}`;
}
