import { readBytes } from "../../src/http/body.ts";
import { reply } from "../../src/http/exchange.ts";
import { listenPublic } from "../../src/http/public-listening.ts";
import { answerOtherMethods, type Listening, listener } from "../../src/http/server.ts";
import { createLog, type Log } from "../../src/log.ts";
import type { CrowdOptions } from "../../src/wire/crowd.ts";

export const largeBody = new Uint8Array(8 * 1024 * 1024).map((_, i) => 97 + (i % 26));

/** The real public listener in front of an app of a few routes, which do what the tests want to see. */
export class SmallListener {
  readonly listening: Listening;
  /** What happened, in order: requests that wait, and streams that were canceled. */
  readonly events: string[] = [];
  /** Lets the request that waits be answered. */
  release = () => {};
  /** The controller of the last stream. */
  stream: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(log: Log = createLog("off"), port = 0, reusePort = false, crowd?: CrowdOptions) {
    const { events } = this;
    const stream = () =>
      new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            this.stream = controller;
          },
          cancel: () => void events.push("canceled"),
        },
        { highWaterMark: 0 },
      );
    const app = listener({ log, headers: {} })
      .get("/hello", ({ exchange }) => reply(exchange, 200, '"hello"'))
      .get("/large", ({ exchange }) => reply(exchange, 200, largeBody))
      .get("/nothing", ({ exchange }) => reply(exchange, 204, null))
      .get("/throws", () => {
        throw new Error("secret detail");
      })
      .get("/wait", async ({ exchange }) => {
        events.push("waits");
        await new Promise<void>((resolve) => {
          this.release = resolve;
        });
        return reply(exchange, 200, '"waited"');
      })
      .get("/stream", ({ exchange }) => reply(exchange, 200, stream()))
      .post(
        "/echo",
        async ({ exchange, request }) =>
          reply(exchange, 200, new Uint8Array(await readBytes(request, 65_536))),
        { parse: "none" },
      );
    answerOtherMethods(app, {});
    this.listening = listenPublic(app, "127.0.0.1", port, { reusePort, ...(crowd && { crowd }) });
  }

  get url(): string {
    return this.listening.url;
  }
}
