import { type TSchema, Type } from "@sinclair/typebox";
import { oneOf } from "../../domain/validation/fields.ts";
import { named } from "../http/parameters.ts";
import { component, exampleRequestId, type Json } from "./components.ts";
import { documentSchema } from "./schemas.ts";

/*
 * Errors in the OpenAPI documents of both listeners.
 */

export const FieldProblemSchema = named("FieldProblem", "An invalid field of a request.", {
  in: oneOf(["body", "query", "path", "header"], { description: "Part of the request that has the field." }),
  field: Type.String({ description: "Name or path of the field." }),
  message: Type.String({ description: "Description of the problem. The wording may change." }),
});

/** The schema of every error of a listener. */
export function errorSchema(codes: readonly string[], more: Readonly<Record<string, TSchema>> = {}) {
  return named("Error", "An error. All operations return errors in this form.", {
    message: Type.String({ description: "Description of the error for people. The wording may change." }),
    code: oneOf(codes, { description: "Code of the error, for programs." }),
    errors: Type.Array(FieldProblemSchema, {
      description: "All invalid fields of the request; empty for other errors.",
    }),
    request_id: Type.String({ description: "Id of the request; the same as the header `X-Request-Id`." }),
    ...more,
  });
}

/** An example of an error. */
export interface ErrorSample {
  readonly message: string;
  readonly errors?: readonly object[];
  readonly data?: readonly object[];
}

/** Examples of errors that are the same on both listeners. */
export const commonSamples = {
  invalid_json: { message: "The body is not valid JSON" },
  invalid_cursor: {
    message: "cursor belongs to another list or filter",
    errors: [{ in: "query", field: "cursor", message: "belongs to another list or filter" }],
  },
  category_not_found: { message: "There is no category with this id" },
  unsupported_media_type: { message: "The body must be sent with Content-Type: application/json" },
  unavailable: { message: "The service is temporarily unavailable; try again soon" },
  internal_error: { message: "Something went wrong on our side. The request id helps to find out what." },
} as const;

/** The documentation of the errors of a listener, or of OAuth. */
interface ErrorWords<Code extends string> {
  readonly samples: Readonly<Record<Code, ErrorSample>>;
  /** The description of each status. */
  readonly statuses: Readonly<Record<number, string>>;
  /** Headers of every response. */
  readonly headers: Json;
  /** Further headers of some errors. */
  readonly headersOf: Partial<Record<Code, Json>>;
  readonly schema: TSchema;
  statusOf(code: Code): number;
  /** The prefix of the component names. */
  readonly prefix?: string;
  /** Further fields of an error. */
  moreOf?(code: Code, message: string): object;
}

/** Returns a function that makes the responses for error codes, by status. */
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

/** Returns `NotFound` for `not_found`. */
function nameOf(code: string): string {
  return code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
