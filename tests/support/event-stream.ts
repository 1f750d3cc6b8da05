import { EventSource } from "eventsource";
import type { DeliveryOutcome } from "../../src/domain/outcomes.ts";
import { afterThisTest } from "./after-tests.ts";
import type { TestServer } from "./server.ts";
import { until } from "./until.ts";

export const streamPath = "/public/v1/events/stream";

/** One event as a client got it. */
export interface StreamedEvent {
  readonly type: string;
  readonly id: string;
  readonly data: { headers: Record<string, string>; body: string };
}

/** In a test: a client on the event stream, connected, and closed after the test. */
export function openStream(...given: ConstructorParameters<typeof StreamClient>): Promise<StreamClient> {
  return resumeStream(...given).connected();
}

/** The same, without waiting for the connection. */
export function resumeStream(...given: ConstructorParameters<typeof StreamClient>): StreamClient {
  const client = new StreamClient(...given);
  afterThisTest(() => client.close());
  return client;
}

/** A real `EventSource` on the event stream, which keeps what arrives. */
export class StreamClient {
  readonly events: StreamedEvent[] = [];
  /** How often it was connected. */
  opened = 0;
  readonly errors: (number | undefined)[] = [];
  readonly source: EventSource;

  /** @param types the events to listen to, beside `gap` */
  constructor(
    server: Pick<TestServer, "publicUrl">,
    token: string,
    types: readonly string[],
    lastId?: string,
    path = streamPath,
  ) {
    this.source = new EventSource(server.publicUrl + path, {
      fetch: (url, init) => {
        const headers: Record<string, string> = { ...init.headers, authorization: `Bearer ${token}` };
        if (lastId !== undefined) headers["Last-Event-ID"] ??= lastId;
        return fetch(url, { ...init, headers });
      },
    });
    this.source.addEventListener("open", () => {
      this.opened++;
    });
    this.source.addEventListener("error", ({ code }) => {
      this.errors.push(code);
    });
    for (const type of [...types, "gap"]) {
      this.source.addEventListener(type, ({ data, lastEventId }) => {
        this.events.push({ type, id: lastEventId, data: JSON.parse(data) });
      });
    }
  }

  /** Resolves when it is so; rejects after 10 seconds. */
  async until(is: (client: StreamClient) => boolean): Promise<this> {
    await until(
      () => is(this),
      () => `it did not come, but ${JSON.stringify(this)},`,
    );
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
}

export interface Outcomes {
  outcomes: (Omit<DeliveryOutcome, "at"> & { at: string })[];
  left_out: number;
}

/** In a test: what arrives on a stream of outcomes, as long as the test lasts. */
export function watching(body: ReadableStream<Uint8Array> | null) {
  const seen: { parts: Outcomes[]; text: string; isEnded: boolean } = { parts: [], text: "", isEnded: false };
  const reader = body?.getReader();
  if (!reader) throw new Error("there is no stream");
  afterThisTest(() => reader.cancel());
  void (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      seen.text += new TextDecoder().decode(value);
      const frames = seen.text.split("\n\n").filter((frame) => /^event: outcomes$/m.test(frame));
      seen.parts = frames.map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as Outcomes);
    }
    seen.isEnded = true;
  })();
  return Object.assign(seen, { cancel: () => reader.cancel() });
}

/** The outcomes that a stream has shown so far. */
export const all = (seen: { parts: readonly Outcomes[] }) => seen.parts.flatMap(({ outcomes }) => outcomes);

/** The topics that a stream has named so far. */
export const named = ({ text }: { text: string }) =>
  new Set(
    [...text.matchAll(/^event: changed\ndata: (.*)$/gm)].flatMap(([, topics]) => topics?.split(" ") ?? []),
  );
