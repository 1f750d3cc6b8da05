import { createHmac, timingSafeEqual } from "node:crypto";
import type { Position } from "./order.ts";

const signatureBytes = 12;
const markBytes = 6;

/** What a cursor holds. */
export interface Place {
  readonly takenAt: number;
  readonly position: Position;
  isFor(filter: string): boolean;
}

/**
 * Makes and reads the cursors of the category list: opaque, URL-safe, and signed, so that nobody can make one. A
 * cursor holds the order it walks through, the position it continues after and the filter it was made with.
 */
export class Cursors {
  /** `key` is secret and stays the same across restarts, so that clients can go on. */
  constructor(readonly key: string) {}

  /** `takenAt` names the order. */
  make(takenAt: number, { viewers, id }: Position, filter: string): string {
    const payload = [takenAt, viewers, id, this.#mark(filter)].join(" ");
    return `${Buffer.from(payload).toString("base64url")}.${this.#sign(payload, signatureBytes)}`;
  }

  /** What a cursor holds, or null for one that was not made here. */
  read(cursor: string): Place | null {
    const [encoded = ""] = cursor.split(".", 1);
    const payload = Buffer.from(encoded, "base64url").toString();
    if (!sameBytes(cursor, `${encoded}.${this.#sign(payload, signatureBytes)}`)) return null;
    const [takenAt, viewers, id, mark] = payload.split(" ");
    return {
      takenAt: Number(takenAt),
      position: { viewers: Number(viewers), id: Number(id) },
      isFor: (filter) => mark === this.#mark(filter),
    };
  }

  /** Stands for a filter of any length. */
  #mark(filter: string): string {
    return this.#sign(`filter ${filter}`, markBytes);
  }

  #sign(text: string, bytes: number): string {
    return createHmac("sha256", this.key).update(text).digest().subarray(0, bytes).toString("base64url");
  }
}

function sameBytes(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
