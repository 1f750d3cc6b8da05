import { type TSchema, Type } from "@sinclair/typebox";
import { oneOf } from "../../domain/validation/fields.ts";
import { named } from "../fields.ts";
import { component, type Json } from "./components.ts";
import { exampleRequestId } from "./headers.ts";
import { documentSchema } from "./schemas.ts";

/*
 * What the documents of both listeners say of errors.
 */

export const FieldProblemSchema = named("FieldProblem", "A field that is wrong.", {
  in: oneOf(["body", "query", "path", "header"], { description: "Where the field is." }),
  field: Type.String({ description: "Name or path of the field." }),
  message: Type.String({ description: "What is wrong with it." }),
});

/** The schema of every error of a listener. */
export function errorSchema(codes: readonly string[], more: Readonly<Record<string, TSchema>> = {}) {
  return named("Error", "Every error of every path has this shape.", {
    message: Type.String({ description: "What went wrong, for people to read. Its words may change." }),
    code: oneOf(codes, { description: "What went wrong, for programs to act on." }),
    errors: Type.Array(FieldProblemSchema, {
      description: "The fields that are wrong; empty for most errors.",
    }),
    request_id: Type.String({ description: "The same as in the header `X-Request-Id`." }),
    ...more,
  });
}

/** An error as it may come. */
export interface ErrorSample {
  readonly message: string;
  readonly errors?: readonly object[];
  readonly data?: readonly object[];
}

/** What errors look like that are the same on both listeners. */
export const commonSamples = {
  invalid_json: { message: "The body is not valid JSON" },
  invalid_cursor: {
    message: "cursor belongs to another list or filter",
    errors: [{ in: "query", field: "cursor", message: "belongs to another list or filter" }],
  },
  category_not_found: { message: "There is no category with this id" },
  unsupported_media_type: { message: "The body must be sent with Content-Type: application/json" },
  unavailable: { message: "The service cannot answer just now; try again soon" },
  internal_error: { message: "Something went wrong on our side. The request id helps to find out what." },
} as const;

/** What is said of the errors of a listener, or of OAuth. */
interface ErrorWords<Code extends string> {
  readonly samples: Readonly<Record<Code, ErrorSample>>;
  /** When each status comes. */
  readonly statuses: Readonly<Record<number, string>>;
  /** Headers of every answer. */
  readonly headers: Json;
  /** Headers of some errors beyond these. */
  readonly headersOf: Partial<Record<Code, Json>>;
  readonly schema: TSchema;
  statusOf(code: Code): number;
  /** What their components are called before their codes. */
  readonly prefix?: string;
  /** Further fields of an error. */
  moreOf?(code: Code, message: string): object;
}

/** Makes the responses for some errors, by status. */
export function errorResponder<Code extends string>(words: ErrorWords<Code>) {
  const { samples, statuses, headers, headersOf, schema, statusOf, prefix = "", moreOf } = words;
  const exampleOf = (code: Code) => {
    const { message, errors = [], data } = samples[code];
    const more = moreOf?.(code, message);
    return { ...more, ...(data && { data }), message, code, errors, request_id: exampleRequestId };
  };
  const responseFor = (status: number, codes: readonly Code[]): Json =>
    component(`responses/${prefix}${codes.map(nameOf).join("Or")}`, {
      description: statuses[status],
      headers: Object.assign({}, headers, ...codes.map((code) => headersOf[code])),
      content: {
        "application/json": {
          schema: documentSchema(schema),
          examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    });
  return (codes: readonly Code[]): Record<string, Json> => {
    const byStatus = Map.groupBy(new Set(codes), statusOf);
    return Object.fromEntries([...byStatus].map(([status, group]) => [status, responseFor(status, group)]));
  };
}

/** `not_found` is `NotFound`. */
function nameOf(code: string): string {
  return code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
