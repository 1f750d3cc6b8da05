import { Type } from "@sinclair/typebox";
import { DomainError } from "../../../domain/errors.ts";
import type { KnownAnswer } from "../../../domain/idempotency.ts";
import { derivedId } from "../../../domain/ids.ts";
import type { Store } from "../../../store/store.ts";
import { TextParameter } from "../../parameters.ts";

export const IdempotencyHeaders = Type.Object({
  "Idempotency-Key": Type.Optional(
    TextParameter({
      pattern: "^[\\x21-\\x7e]{1,255}$",
      errorMessage: "must be 1 to 255 printable ASCII characters without spaces",
      description:
        "A key of your choice for this request, stored for 7 days. Repeating the request returns the same response with `Idempotent-Replayed: true` and sends nothing. A different body with the same key is a conflict. A request of which nothing was accepted is not stored.",
      examples: ["chat-2026-01-14-000017"],
    }),
  ),
});

/** The header of a response that repeats an earlier one. */
export const replayedHeader = "idempotent-replayed";

/** The response to a request with a key. `isReplayed` is set if it repeats an earlier one. */
export type KeyedAnswer = KnownAnswer & { readonly isReplayed?: boolean };

/** The response to a request, and whether nothing of it was accepted. */
export type WorkAnswer = KnownAnswer & { readonly isRefused?: boolean };

/** Returns the id of the event at an index. Deterministic for one request and key, also after a crash. */
export type IdOf = (index: number) => string;

/**
 * Runs a request once for each key. Event ids are derived from the key, so that a request can run again if the process
 * ended before its response was stored: the store recognises events that it has. A request that is refused as a whole,
 * or a batch of which no line is accepted, is not stored, so that the caller can correct it.
 */
export async function once(
  { idempotency }: Pick<Store, "idempotency">,
  { key, request, now }: { readonly key: string; readonly request: Uint8Array; readonly now: number },
  work: (idOf: IdOf) => Promise<WorkAnswer>,
): Promise<KeyedAnswer> {
  const fingerprint = new Bun.CryptoHasher("sha256").update(request).digest();
  const { firstSeenAt, answer: known } = await idempotency.begin(key, fingerprint, now);
  if (known) return { ...known, isReplayed: true };
  const idOf: IdOf = (index) => {
    const seed = new Bun.CryptoHasher("sha256").update(`${key}\0${index}\0`).update(fingerprint).digest();
    return derivedId(firstSeenAt, seed);
  };
  const begun = { key, fingerprint, firstSeenAt };
  try {
    const { isRefused = false, ...answer } = await work(idOf);
    if (isRefused) {
      await idempotency.release(begun);
      return answer;
    }
    // Of two concurrent requests, the store accepted the events of one; the other is a repetition.
    return { ...answer, isReplayed: !(await idempotency.finish(begun, answer)) };
  } catch (error) {
    if (error instanceof DomainError && error.code !== "unavailable") await idempotency.release(begun);
    throw error;
  }
}
