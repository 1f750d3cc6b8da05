import { type TObject, type TSchema, Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import type { Scope } from "../../domain/tokens.ts";

export const Message = Type.String({ description: "A human-readable status.", examples: ["OK"] });
export const IsoTimestamp = Type.String({ format: "date-time", description: "ISO 8601, UTC." });
export const WebUrl = Type.String({ format: "uri" });

/** One answer of an operation, as the reference shows it. */
export interface Answer {
  readonly description: string;
  readonly schema?: TSchema;
  readonly example?: unknown;
  /** It carries the headers of the subscription budget. */
  readonly budget?: boolean;
}

export function answer(description: string, rest: Omit<Answer, "description"> = {}): Answer {
  return { description, ...rest };
}

/** Everything the reference says of a route; the errors that every route of its kind has come by themselves. */
export interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly access: Scope | "anyone";
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: { readonly schema: TSchema; readonly example: unknown };
  readonly answers: Readonly<Record<number, Answer>>;
  /** It has an ETag and answers 304. */
  readonly notModified?: boolean;
  readonly errors?: readonly ErrorCode[];
}

/** The hook of a route: who may call it, and its part of the OpenAPI document. */
export function operation(of: Operation) {
  return { access: of.access, parse: "none" as const, detail: { operationId: of.id, summary: of.summary } };
}
