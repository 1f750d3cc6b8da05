import { type TObject, type TProperties, type TString, type TVoid, Type } from "@sinclair/typebox";

/*
 * Schemas of answers, for `response` of a route. They hold a handler to its answer when it is compiled and describe it
 * in the OpenAPI document. They do not check answers at run time, which is more work than making them: the tests do.
 */

/** What the reference says of an answer beside its schema. */
export interface AnswerAbout {
  readonly description: string;
  readonly example: unknown;
  /** It carries the headers of the subscription budget. */
  readonly budget?: boolean;
  /** Its headers beyond those of all answers, as the OpenAPI document has them. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** A JSON object with exactly these fields. */
export function answer<Fields extends TProperties>(
  fields: Fields,
  { description, example, ...about }: AnswerAbout,
): TObject<Fields> {
  const options = { description, examples: [example], noValidate: true, additionalProperties: false };
  return Type.Object(fields, { ...options, ...about });
}

/** An answer without a body. */
export function noContent(description: string): TVoid {
  return Type.Void({ description, noValidate: true });
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

/** A file of a media type. */
export function file(description: string, contentMediaType: string): TString {
  return Type.String({ description, contentMediaType, noValidate: true });
}

/** The answer where nothing changed since the one whose `ETag` the client sent. */
export const NotModified = noContent("Nothing changed since the answer whose `ETag` you sent.");
