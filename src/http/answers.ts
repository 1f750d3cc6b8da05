import {
  type Static,
  type TProperties,
  type TSchema,
  type TString,
  type TUnsafe,
  type TVoid,
  Type,
} from "@sinclair/typebox";
import { Pagination } from "./cursors.ts";
import { Message } from "./fields.ts";
import { cacheHeaders } from "./openapi/headers.ts";

/*
 * Schemas of answers, for the `response` of a route. They type the handler's result and document it in OpenAPI. They
 * are not checked at run time, which would cost more than making the answer; the tests check them.
 */

/** Documentation of an answer besides its schema. */
interface AnswerAbout {
  /** The name of the schema in the OpenAPI document, and so in generated clients. */
  readonly name?: string;
  readonly description: string;
  readonly example: unknown;
  /** OpenAPI links from the answer to further operations. */
  readonly links?: Readonly<Record<string, Link>>;
  /** Further headers, in OpenAPI's form. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** An OpenAPI link to another operation, with its parameters as runtime expressions. */
interface Link {
  readonly operationId: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Links to operations that take what is at `place` of an answer, as their `parameter`. */
export function linksTo(
  operations: Readonly<Record<string, string>>,
  place = "/id",
  parameter = "id",
): Record<string, Link> {
  const links = Object.entries(operations).map(([operationId, description]) => {
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    return [name, { operationId, description, parameters: { [parameter]: `$response.body#${place}` } }];
  });
  return Object.fromEntries(links);
}

/** A link to the next page of a list, which is had by the same operation. */
export function nextPage(operationId: string): Record<string, Link> {
  const parameters = { cursor: "$response.body#/pagination/cursor" };
  return { NextPage: { operationId, description: "The page behind this one.", parameters } };
}

/** The type that a handler may return for a schema: lists and objects are readonly. */
type Given<Value> = Value extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: Given<Value[Field]> }
    : Value;

/** A JSON object with exactly these fields. */
export function answer<Fields extends TProperties>(fields: Fields, about: AnswerAbout) {
  return answerOf(Type.Object(fields, { additionalProperties: false }), about);
}

/** An answer with this schema, which gets a name in the document when `name` is set. */
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

interface ListAbout extends AnswerAbout {
  /** The order of its items, as a sentence. */
  readonly order: string;
  /** Of an item. */
  readonly example: unknown;
}

/** An answer with one thing, under `data`, by default called like the thing. The example is of that thing. */
export function dataOf<Schema extends TSchema>(schema: Schema, { example, ...about }: AnswerAbout) {
  const shown = { name: `${schema.$id}Answer`, ...about, example: { data: example, message: "OK" } };
  return answer({ data: schema, message: Message }, shown);
}

/** An answer with a whole list, under `data`, by default called like its items. */
export function listOf<Item extends TSchema>(item: Item, { order, example, ...about }: ListAbout) {
  const data = Type.Array(item, { description: order });
  return dataOf(data, { name: `${item.$id}List`, ...about, example: [example] });
}

/** An answer with a page of a list, under `data`, by default called like its items. */
export function pageOf<Item extends TSchema>(item: Item, { order, example, ...about }: ListAbout) {
  const data = Type.Array(item, { description: order });
  const page = { data: [example], pagination: { cursor: "", has_more: false }, message: "OK" };
  const shown = { name: `${item.$id}Page`, ...about, example: page };
  return answer({ data, pagination: Pagination, message: Message }, shown);
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

/** An NDJSON stream. */
export function ndjsonLines(description: string, example: readonly unknown[]): TString {
  return Type.String({
    description,
    examples: [example],
    contentMediaType: "application/x-ndjson",
    noValidate: true,
  });
}

/** A file with a media type and further headers. */
export function file(
  description: string,
  contentMediaType: string,
  headers: NonNullable<AnswerAbout["headers"]> = {},
): TString {
  return Type.String({ description, contentMediaType, headers, noValidate: true });
}

/**
 * 304: the content still has the `ETag` that the client sent. The other answers of the operation have its headers, too.
 * @param seconds for how long they may be kept without asking again, as in `keptFor`
 */
export function notModified(seconds: number): TVoid {
  return noContent("Nothing changed since the answer whose `ETag` you sent.", cacheHeaders(seconds));
}
