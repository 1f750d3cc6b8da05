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
import { cacheHeaders } from "./openapi.ts";
import { Message } from "./parameters.ts";

/*
 * Schemas of responses, for the `response` of a route. They type the handler's result and document it in OpenAPI. They
 * are not checked at run time, which would cost more than making the response; the tests check them.
 */

/** The documentation of a response in addition to its schema. */
interface AnswerAbout {
  /** The name of the schema in the OpenAPI document, and so in generated clients. */
  readonly name?: string;
  readonly description: string;
  readonly example: unknown;
  /** OpenAPI links from the response to further operations. */
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

/** Returns links to operations whose `parameter` is the value at the JSON pointer `pointer` of a response. */
export function linksTo(
  operations: Readonly<Record<string, string>>,
  pointer = "/id",
  parameter = "id",
): Record<string, Link> {
  const links = Object.entries(operations).map(([operationId, description]) => {
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    return [name, { operationId, description, parameters: { [parameter]: `$response.body#${pointer}` } }];
  });
  return Object.fromEntries(links);
}

/** Returns a link to the next page of a list, from the same operation. */
export function nextPage(operationId: string): Record<string, Link> {
  const parameters = { cursor: "$response.body#/pagination/cursor" };
  return { NextPage: { operationId, description: "Gets the next page.", parameters } };
}

/** The type that a handler may return for a schema: lists and objects are readonly. */
type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: DeepReadonly<Value[Field]> }
    : Value;

/** A JSON object with exactly these fields. */
export function answer<Fields extends TProperties>(fields: Fields, about: AnswerAbout) {
  return answerOf(Type.Object(fields, { additionalProperties: false }), about);
}

/** A response with this schema, which is a component of the document if it has a name. */
export function answerOf<Schema extends TSchema>(
  schema: Schema,
  { name, description, example, ...about }: AnswerAbout,
): TUnsafe<DeepReadonly<Static<Schema>>> {
  const $id = name ?? schema.$id;
  return Type.Unsafe({
    ...schema,
    description,
    examples: [example],
    noValidate: true,
    ...about,
    whole: $id === undefined ? schema : { description, ...schema, $id },
  });
}

interface ListAbout extends AnswerAbout {
  /** A sentence about the items and their order. */
  readonly order: string;
  /** An example of an item. */
  readonly example: unknown;
}

/**
 * A response with one object, under `data`. Its default name is that of the object. The example is one of the object.
 */
export function dataOf<Schema extends TSchema>(schema: Schema, { example, ...about }: AnswerAbout) {
  const described = { name: `${schema.$id}Answer`, ...about, example: { data: example, message: "OK" } };
  return answer({ data: schema, message: Message }, described);
}

/** A response with a whole list, under `data`. Its default name is that of the items. */
export function listOf<Item extends TSchema>(item: Item, { order, example, ...about }: ListAbout) {
  const data = Type.Array(item, { description: order });
  return dataOf(data, { name: `${item.$id}List`, ...about, example: [example] });
}

/**
 * A response with a page of a list, under `data`. Its default name is that of the items.
 *
 * @param more optional fields beside the list
 */
export function pageOf<Item extends TSchema, More extends TProperties = Record<never, never>>(
  item: Item,
  { order, example, ...about }: ListAbout,
  more = {} as More,
) {
  const data = Type.Array(item, { description: order });
  const page = { data: [example], pagination: { cursor: "", has_more: false }, message: "OK" };
  const described = { name: `${item.$id}Page`, ...about, example: page };
  return answer({ data, pagination: Pagination, message: Message, ...more }, described);
}

/** A response without a body. */
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
 * The response 304. The other responses of the operation get its headers as well.
 * @param seconds the time for which responses may be cached, as in `cacheHeaders`
 */
export function notModified(seconds: number): TVoid {
  return noContent("The content still has the `ETag` of the request.", cacheHeaders(seconds));
}
