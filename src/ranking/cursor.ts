import { createHmac, timingSafeEqual } from "node:crypto";
import type { Position } from "./ranking.ts";

/**
 * Makes and reads the cursors of the category list: opaque, URL-safe, and signed, so that nobody can make one. A
 * cursor holds the position it continues after and the filter it was made with.
 */
export class Cursors {
  /** `key` is secret and stays the same across restarts, so that clients can go on. */
  constructor(readonly key: string) {}

  make({ viewers, id }: Position, filter: string): string {
    const payload = `${viewers}.${id}.${this.#sign(`filter ${filter}`, 6)}`;
    return `${Buffer.from(payload).toString("base64url")}.${this.#sign(payload, 12)}`;
  }

  /** What is wrong with a cursor that comes with this filter, or its position. */
  read(cursor: string, filter: string): Position | string {
    const [encoded = "", signature = ""] = cursor.split(".");
    const payload = Buffer.from(encoded, "base64url").toString();
    const expected = `${encoded}.${this.#sign(payload, 12)}`;
    if (!sameBytes(`${encoded}.${signature}`, expected) || cursor !== expected) {
      return "is not one that this server made; take it from the previous answer";
    }
    const [viewers, id, filterMark = ""] = payload.split(".");
    if (filterMark !== this.#sign(`filter ${filter}`, 6)) return "belongs to another name filter";
    return { viewers: Number(viewers), id: Number(id) };
  }

  #sign(text: string, bytes: number): string {
    return createHmac("sha256", this.key).update(text).digest().subarray(0, bytes).toString("base64url");
  }
}

function sameBytes(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
