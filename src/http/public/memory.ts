import { holdingBytes } from "../../ranking/shared.ts";
import { Changes } from "../changes.ts";
import { limiterMemory } from "../rate-limit.ts";

/** What all threads of the public listener count together. */
export interface PublicMemory {
  /** Changes of users. */
  readonly users: ArrayBufferLike;
  /** Changes of tokens and applications. */
  readonly callers: ArrayBufferLike;
  readonly limits: ArrayBufferLike;
  /** Which standings hold. */
  readonly holding: ArrayBufferLike;
}

/** @param isShared whether there are several threads */
export function publicMemory(isShared: boolean): PublicMemory {
  const memory = (bytes: number) => (isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes));
  return {
    users: memory(Changes.bytes),
    callers: memory(Changes.bytes),
    limits: limiterMemory(isShared),
    holding: memory(holdingBytes),
  };
}
