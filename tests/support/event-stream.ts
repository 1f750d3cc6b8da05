import { EventSource } from "eventsource";
import type { TestServer } from "./server.ts";

export const streamPath = "/public/v1/events/stream";

/** One event as a client got it. */
export interface StreamedEvent {
  readonly type: string;
  readonly id: string;
  readonly data: { headers: Record<string, string>; body: string };
}

/** A real `EventSource` on the event stream, which keeps what arrives. */
export class StreamClient {
  readonly events: StreamedEvent[] = [];
  /** How often it was connected. */
  opened = 0;
  readonly errors: (number | undefined)[] = [];
  readonly source: EventSource;
  readonly #waiting: { readonly is: () => boolean; readonly resolve: () => void }[] = [];

  /** @param types the events to listen to, beside `gap` */
  constructor(server: TestServer, token: string, types: readonly string[], lastId?: string) {
    this.source = new EventSource(server.app.publicUrl + streamPath, {
      fetch: (url, init) => {
        const headers: Record<string, string> = { ...init.headers, authorization: `Bearer ${token}` };
        if (lastId !== undefined) headers["Last-Event-ID"] ??= lastId;
        return fetch(url, { ...init, headers });
      },
    });
    this.source.addEventListener("open", () => {
      this.opened++;
      this.#changed();
    });
    this.source.addEventListener("error", ({ code }) => {
      this.errors.push(code);
      this.#changed();
    });
    for (const type of [...types, "gap"]) {
      this.source.addEventListener(type, ({ data, lastEventId }) => {
        this.events.push({ type, id: lastEventId, data: JSON.parse(data) });
        this.#changed();
      });
    }
  }

  /** Resolves when it is so; rejects after 10 seconds. */
  async until(is: (client: StreamClient) => boolean): Promise<this> {
    if (is(this)) return this;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`it did not come: ${JSON.stringify(this)}`)), 10_000);
    this.#waiting.push({ is: () => is(this), resolve });
    await promise.finally(() => clearTimeout(timer));
    return this;
  }

  connected(): Promise<this> {
    return this.until(({ opened }) => opened > 0);
  }

  async arrived(count: number): Promise<readonly StreamedEvent[]> {
    return (await this.until(({ events }) => events.length >= count)).events;
  }

  close(): void {
    this.source.close();
  }

  #changed(): void {
    for (const { is, resolve } of this.#waiting) if (is()) resolve();
  }
}
