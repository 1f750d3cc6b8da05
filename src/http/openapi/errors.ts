import { type TSchema, Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import { statusOf } from "../errors.ts";
import { named } from "../fields.ts";
import { component, type Json } from "./components.ts";
import { exampleRequestId } from "./headers.ts";
import { documentSchema } from "./schemas.ts";

/*
 * What the documents of both listeners say of errors.
 */

export const FieldProblemSchema = named("FieldProblem", "A field that is wrong.", {
  in: Type.Union(
    ["body", "query", "path", "header"].map((place) => Type.Literal(place)),
    { description: "Where the field is." },
  ),
  field: Type.String({ description: "Name or path of the field." }),
  message: Type.String({ description: "What is wrong with it." }),
});

/** The schema of every error of a listener. */
export function errorSchema(codes: readonly string[], more: Readonly<Record<string, TSchema>> = {}) {
  return named("Error", "Every error of every path has this shape.", {
    message: Type.String({ description: "What went wrong, for people to read. Its words may change." }),
    code: Type.Union(
      codes.map((code) => Type.Literal(code)),
      { description: "What went wrong, for programs to act on." },
    ),
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

/** What a listener says of its errors. */
interface ErrorWords<Code extends ErrorCode | "internal_error"> {
  readonly samples: Readonly<Record<Code, ErrorSample>>;
  /** When each status comes. */
  readonly statuses: Readonly<Record<number, string>>;
  /** Headers of every answer. */
  readonly headers: Json;
  /** Headers of some errors beyond these. */
  readonly headersOf: Partial<Record<Code, Json>>;
  readonly schema: TSchema;
}

/** Makes the responses for some errors, by status. */
export function errorResponder<Code extends ErrorCode | "internal_error">(words: ErrorWords<Code>) {
  const { samples, statuses, headers, headersOf, schema } = words;
  const exampleOf = (code: Code) => {
    const { message, errors = [], data } = samples[code];
    return { ...(data && { data }), message, code, errors, request_id: exampleRequestId };
  };
  const responseFor = (status: number, codes: readonly Code[]): Json =>
    component(`responses/${codes.map(nameOf).join("Or")}`, {
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
    const byStatus = Map.groupBy(new Set(codes), (code) => statusOf[code]);
    return Object.fromEntries([...byStatus].map(([status, group]) => [status, responseFor(status, group)]));
  };
}

/** `not_found` is `NotFound`. */
function nameOf(code: string): string {
  return code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
