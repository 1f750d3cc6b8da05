import {
  type Static,
  type TProperties,
  type TSchema,
  type TString,
  type TUnsafe,
  type TVoid,
  Type,
} from "@sinclair/typebox";

/*
 * Schemas of answers, for `response` of a route. They hold a handler to its answer when it is compiled and describe it
 * in the OpenAPI document. They do not check answers at run time, which is more work than making them: the tests do.
 */

/** What the reference says of an answer beside its schema. */
interface AnswerAbout {
  /** The name of its schema in the document, by which generated clients call it. */
  readonly name?: string;
  readonly description: string;
  readonly example: unknown;
  /** Operations that go on from it, as the OpenAPI document has them. */
  readonly links?: Readonly<Record<string, Link>>;
  /** Its headers beyond those of all answers, as the OpenAPI document has them. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** How an answer leads to another operation: its parameters, by expressions of OpenAPI. */
interface Link {
  readonly operationId: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Links to these operations, with what each does, by the id at this place of an answer. */
export function linksTo(operations: Readonly<Record<string, string>>, place = "/id"): Record<string, Link> {
  const links = Object.entries(operations).map(([operationId, description]) => {
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    return [name, { operationId, description, parameters: { id: `$response.body#${place}` } }];
  });
  return Object.fromEntries(links);
}

/** What a handler may return for a schema: lists and objects are only read. */
type Given<Value> = Value extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: Given<Value[Field]> }
    : Value;

/** A JSON object with exactly these fields. */
export function answer<Fields extends TProperties>(fields: Fields, about: AnswerAbout) {
  return answerOf(Type.Object(fields, { additionalProperties: false }), about);
}

/** What a schema says, which may have a name of its own in the document. */
export function answerOf<Schema extends TSchema>(
  schema: Schema,
  { name, description, example, ...about }: AnswerAbout,
): TUnsafe<Given<Static<Schema>>> {
  const $id = name ?? schema.$id;
  return Type.Unsafe({
    ...schema,
    description,
    examples: [example],
    noValidate: true,
    ...about,
    shown: $id === undefined ? schema : { description, ...schema, $id },
  });
}

/** An answer without a body. */
export function noContent(description: string, headers: NonNullable<AnswerAbout["headers"]> = {}): TVoid {
  return Type.Void({ description, headers, noValidate: true });
}

/** A stream of server-sent events like `example`. */
export function eventStream(description: string, example: string): TString {
  return Type.String({
    description,
    examples: [example],
    contentMediaType: "text/event-stream",
    noValidate: true,
  });
}

/** A stream of JSON objects, one on each line. */
export function ndjsonLines(description: string, example: readonly unknown[]): TString {
  return Type.String({
    description,
    examples: [example],
    contentMediaType: "application/x-ndjson",
    noValidate: true,
  });
}

/** A file of a media type, with its headers beyond those of all answers. */
export function file(
  description: string,
  contentMediaType: string,
  headers: NonNullable<AnswerAbout["headers"]> = {},
): TString {
  return Type.String({ description, contentMediaType, headers, noValidate: true });
}

/** The answer where nothing changed since the one whose `ETag` the client sent. */
export const NotModified = noContent("Nothing changed since the answer whose `ETag` you sent.");
