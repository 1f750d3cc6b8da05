import { DomainError, type ErrorCode, type ErrorDetails } from "../domain/errors.ts";
import type { ErrorEvent, LogLevel } from "../log/log.ts";
import { BatchRefused, type BatchResult } from "../store/batch.ts";
import { StoreError } from "../store/faults.ts";

/** A message to a thread: the arguments of its start, or a message of its link. */
export type ToThread = { readonly start: unknown; readonly logLevel: LogLevel } | LinkMessage;

/** A message from a thread. */
export type FromThread =
  | { readonly started: true }
  | { readonly failed: PlainError }
  /** Lines of the thread's log. */
  | { readonly log: Uint8Array<ArrayBuffer> }
  /** An error of the thread, to be counted. */
  | { readonly logError: ErrorEvent }
  | LinkMessage;

/** Many calls or many answers in one message, because each message has a cost. */
export type LinkMessage =
  | { readonly calls: readonly Call[] }
  | {
      readonly answers: readonly Answer[];
    };

/** A call of a method of the other end by its path, such as `publish` or `store.users.upsert`. */
export interface Call {
  /** null: no answer is sent. */
  readonly id: number | null;
  readonly method: string;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError };

/** An error in a form that can be sent to another thread. */
type PlainError =
  | {
      readonly kind: "domain";
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: ErrorDetails;
    }
  | { readonly kind: "store"; readonly message: string; readonly isMisuse: boolean }
  | { readonly kind: "batch"; readonly results: BatchResult }
  | { readonly kind: "other"; readonly message: string; readonly stack: string | undefined };

/** Returns an error in the form for messages. */
export function plainError(error: unknown): PlainError {
  if (error instanceof DomainError) {
    return { kind: "domain", code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof BatchRefused) return { kind: "batch", results: error.results };
  if (error instanceof StoreError) {
    const { message, isMisuse } = error;
    return { kind: "store", message, isMisuse };
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  return { kind: "other", message, stack };
}

/** Returns the error of a message as an `Error` of its class. */
export function thrownError(plain: PlainError): Error {
  if (plain.kind === "domain") return new DomainError(plain.code, plain.message, plain.details);
  if (plain.kind === "batch") return new BatchRefused(plain.results);
  if (plain.kind === "store") return new StoreError(plain.message, plain.isMisuse);
  const error = new Error(plain.message);
  if (plain.stack) error.stack = plain.stack;
  return error;
}
