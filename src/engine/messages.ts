import { DomainError, type ErrorCode, type ErrorDetails } from "../domain/errors.ts";
import type { LogLevel } from "../log.ts";
import { StoreError } from "../store/sqlite/faults.ts";
import { BatchRefused, type BatchResult } from "../store/store.ts";
import type { EngineSettings } from "./engine.ts";

/** The setting that holds the platform's Ed25519 key, made at the first start. */
export const signingKeySetting = "signing_key";

/** To the engine's thread: how to start, then calls, many in one message because each message costs. */
export type ToEngine =
  | { readonly start: EngineSettings; readonly logLevel: LogLevel }
  | { readonly calls: readonly Call[] };

/** A method of the engine or of its store, by its path: `publish`, `store.users.upsert`. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** From the engine's thread. */
export type FromEngine =
  | { readonly started: true }
  | { readonly failed: PlainError }
  | { readonly answers: readonly Answer[] }
  /** Applications that have something new on their event stream. */
  | { readonly streamed: readonly string[] }
  | { readonly log: Uint8Array<ArrayBuffer> };

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError };

/** An error as it can be sent to another thread. */
export type PlainError =
  | {
      readonly kind: "domain";
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: ErrorDetails;
    }
  | { readonly kind: "store"; readonly message: string }
  | { readonly kind: "batch"; readonly results: BatchResult }
  | { readonly kind: "other"; readonly message: string; readonly stack: string | undefined };

export function plainError(error: unknown): PlainError {
  if (error instanceof DomainError) {
    return { kind: "domain", code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof BatchRefused) return { kind: "batch", results: error.results };
  if (error instanceof StoreError) return { kind: "store", message: error.message };
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  return { kind: "other", message, stack };
}

export function thrownError(plain: PlainError): Error {
  if (plain.kind === "domain") return new DomainError(plain.code, plain.message, plain.details);
  if (plain.kind === "batch") return new BatchRefused(plain.results);
  if (plain.kind === "store") return new StoreError(plain.message);
  const error = new Error(plain.message);
  if (plain.stack) error.stack = plain.stack;
  return error;
}
