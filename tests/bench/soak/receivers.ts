import { Latencies, numberOf } from "./numbers.ts";

const slowMs = 300;
/** Of the failing endpoint one request in so many is refused. */
const failsEach = 5;

/** Endpoints of webhooks by path: prompt, slow, failing. */
export class SoakReceivers extends Latencies {
  /** The numbers of the events that the prompt one has got. */
  readonly prompt = new Set<number>();
  requests = 0;
  readonly #server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const body = await request.text();
      this.requests++;
      if (request.url.endsWith("/slow")) await Bun.sleep(slowMs);
      if (request.url.endsWith("/failing") && this.requests % failsEach === 0)
        return new Response(null, { status: 500 });
      if (request.url.endsWith("/prompt")) {
        const number = numberOf(body);
        this.prompt.add(number);
        this.arrived(number);
      }
      return new Response(null, { status: 204 });
    },
  });

  /** Without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}
