import { DomainError } from "../../domain/errors.ts";
import type { DeliveryOutcome, OutcomeBatch } from "../../domain/operations/outcomes.ts";
import { isoTime, second } from "../../domain/time.ts";
import type { Engine } from "../../engine/engine.ts";

/** Streams of one application, and of operators, that may be open at once. */
const mostStreams = { application: 10, operator: 50 } as const;
/** Outcomes that wait for a reader at most; more are left out. */
const mostWaiting = 200;
const heartbeatMs = 15 * second;
/** How soon a client should connect again. */
const opening = "retry: 1000\n";

interface OutcomeStreamOptions {
  /** null: outcomes of all applications. */
  readonly applicationId: string | null;
  /** Whether the reader may still read; asked before each part. */
  isAllowed(): Promise<boolean>;
  /** Closes the connection soon, although its peer does not read. */
  cut(): void;
}

interface OpenStream extends OutcomeStreamOptions {
  readonly waiting: DeliveryOutcome[];
  leftOut: number;
  isReminded: boolean;
  /** Wakes a reader that waits. */
  wake: () => void;
  isEnded: boolean;
}

const encoder = new TextEncoder();

/**
 * Open streams of what becomes of deliveries while it happens, for people who look on: a sample where there is more than
 * can be read. A reader that is slow loses outcomes and is told how many; nobody else does.
 */
export class OutcomeStreams {
  readonly #engine: Pick<Engine, "watchOutcomes" | "onOutcomes">;
  readonly #open = new Set<OpenStream>();
  readonly #timer: Timer;
  #isClosed = false;

  /** @param remindMs the time between heartbeats; a reader that takes nothing in that time is cut off */
  constructor(engine: Pick<Engine, "watchOutcomes" | "onOutcomes">, remindMs = heartbeatMs) {
    this.#engine = engine;
    engine.onOutcomes((batches) => this.#hand(batches));
    this.#timer = setInterval(() => this.#remind(), remindMs);
    this.#timer.unref();
  }

  /** Opens a stream. Throws `rate_limited` where too many are open, `unavailable` while the server stops. */
  open(options: OutcomeStreamOptions): ReadableStream<Uint8Array> {
    const { applicationId } = options;
    if (this.#isClosed)
      throw new DomainError("unavailable", "The server is stopping", { retryAfterSeconds: 5 });
    const same = [...this.#open].filter((one) => one.applicationId === applicationId).length;
    const most = applicationId === null ? mostStreams.operator : mostStreams.application;
    if (same >= most) {
      const message = `${most} of these streams are open already; close one`;
      throw new DomainError("rate_limited", message, { retryAfterSeconds: 5 });
    }
    const stream: OpenStream = {
      ...options,
      waiting: [],
      leftOut: 0,
      isReminded: false,
      wake: () => {},
      isEnded: false,
    };
    this.#open.add(stream);
    this.#watch();
    let isOpened = false;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (!isOpened) {
            isOpened = true;
            return controller.enqueue(encoder.encode(opening));
          }
          const text = await this.#next(stream);
          if (text !== null) return controller.enqueue(encoder.encode(text));
          this.#end(stream);
          controller.close();
        },
        cancel: () => this.#end(stream),
      },
      { highWaterMark: 0 },
    );
  }

  /** Ends all streams and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const stream of this.#open) {
      stream.isEnded = true;
      stream.wake();
    }
  }

  /** The next part of a stream; null: it ends. */
  async #next(stream: OpenStream): Promise<string | null> {
    while (!stream.isEnded && stream.waiting.length === 0 && !stream.isReminded) {
      await new Promise<void>((resolve) => {
        stream.wake = resolve;
      });
    }
    if (stream.isEnded || !(await stream.isAllowed())) return null;
    stream.isReminded = false;
    if (stream.waiting.length === 0) return ":\n";
    const outcomes = stream.waiting.splice(0).map((one) => ({ ...one, at: isoTime(one.at) }));
    const data = { outcomes, left_out: stream.leftOut };
    stream.leftOut = 0;
    return `event: outcomes\ndata: ${JSON.stringify(data)}\n\n`;
  }

  #hand(batches: readonly OutcomeBatch[]): void {
    for (const { application_id, outcomes, left_out } of batches) {
      for (const stream of this.#open) {
        if (stream.applicationId !== application_id) continue;
        const room = mostWaiting - stream.waiting.length;
        stream.waiting.push(...outcomes.slice(0, room));
        stream.leftOut += left_out + Math.max(0, outcomes.length - room);
        stream.wake();
      }
    }
  }

  #remind(): void {
    for (const stream of this.#open) {
      if (stream.isReminded) {
        // Nobody has read since the last time.
        this.#end(stream);
        stream.cut();
        continue;
      }
      stream.isReminded = true;
      stream.wake();
    }
  }

  #end(stream: OpenStream): void {
    stream.isEnded = true;
    stream.wake();
    if (this.#open.delete(stream)) this.#watch();
  }

  #watch(): void {
    const watched = [...this.#open].map(({ applicationId }) => applicationId);
    const applications = new Set(watched.filter((id) => id !== null));
    void this.#engine.watchOutcomes({ all: watched.includes(null), applications: [...applications] });
  }
}
