import { minute } from "../domain/time.ts";

/** The most kinds of lines that are counted separately. */
const mostKinds = 100;

type Fields = Record<string, unknown>;
type Write = (fields: Fields) => void;

/** A kind of line within a minute. */
interface Kind {
  since: number;
  /** How often it occurred since the last line. */
  repeated: number;
  /** Writes what occurred last. */
  writeLast: () => void;
}

/**
 * Lets each kind of line through once a minute, because what fails for a while fails for each request or each second.
 * The first line is written at once. A minute after it, the last one is written with the number of all since
 * (`repeated`).
 */
export class RepeatedLines {
  readonly #kinds = new Map<string, Kind>();
  readonly #now: () => number;
  #isWaiting = false;

  readonly #inAMinute: (work: () => void) => void;

  /** @param inAMinute runs something a minute later, if the process lives on */
  constructor(
    now: () => number,
    inAMinute = (work: () => void): void => void setTimeout(work, minute).unref(),
  ) {
    this.#now = now;
    this.#inAMinute = inAMinute;
  }

  /** @param event the kind of a line for which there is no space to be counted separately */
  add(event: string, reason: string, fields: Fields, write: Write): void {
    const at = this.#now();
    const own = `${event}\n${reason}`;
    if (!this.#kinds.has(own) && this.#kinds.size >= mostKinds) this.#writeDue(at);
    const key = this.#kinds.has(own) || this.#kinds.size < mostKinds ? own : event;
    const kind = this.#kinds.get(key);
    if (!kind) {
      this.#kinds.set(key, { since: at, repeated: 0, writeLast: () => {} });
      this.#wait();
      write(fields);
      return;
    }
    kind.repeated++;
    kind.writeLast = () => write({ ...fields, repeated: kind.repeated });
    if (isOver(kind, at)) this.#writeKind(kind, at);
  }

  /** Writes now what has not been written, as before an end. */
  flush(): void {
    for (const kind of this.#kinds.values()) if (kind.repeated > 0) this.#writeKind(kind, kind.since);
  }

  #writeKind(kind: Kind, since: number): void {
    kind.writeLast();
    kind.repeated = 0;
    kind.since = since;
  }

  /** Writes the kinds whose minute is over. Those that did not occur in it are forgotten. */
  #writeDue(at: number): void {
    for (const [key, kind] of this.#kinds) {
      if (!isOver(kind, at)) continue;
      if (kind.repeated === 0) this.#kinds.delete(key);
      else this.#writeKind(kind, at);
    }
  }

  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#inAMinute(() => {
      this.#isWaiting = false;
      this.#writeDue(this.#now());
      if (this.#kinds.size > 0) this.#wait();
    });
  }
}

/** Absolute, because the clock may have been set back. */
const isOver = ({ since }: Kind, at: number) => Math.abs(at - since) >= minute;
