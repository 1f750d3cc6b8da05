import { afterTests, afterThisTest } from "./after-tests.ts";
import { until } from "./until.ts";

/** A delivery as a receiver saw it. */
export interface Received {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Answers a delivery; the number counts from 1. */
export type Answer = (received: Received, number: number) => Response | Promise<Response>;

/** At the top of a file: a receiver that is stopped after its tests. */
export function testReceiver(answer?: Answer): Receiver {
  const receiver = new Receiver(answer);
  afterTests(() => receiver.stop());
  return receiver;
}

/** In a test: a receiver that is stopped after it. */
export function ownReceiver(answer?: Answer): Receiver {
  const receiver = new Receiver(answer);
  afterThisTest(() => receiver.stop());
  return receiver;
}

/** A real webhook receiver on loopback that keeps what arrives. Outside of tests `await using` stops it. */
export class Receiver implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #server: Bun.Server<undefined>;

  constructor(answer: Answer = () => new Response(null, { status: 204 })) {
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const received = { headers: Object.fromEntries(request.headers), body: await request.text() };
        this.received.push(received);
        return answer(received, this.received.length);
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/webhook`;
  }

  /** Resolves when `count` deliveries have arrived in all; rejects after 30 seconds. */
  async arrived(count: number): Promise<readonly Received[]> {
    const { received } = this;
    await until(
      () => received.length >= count,
      () => `only ${received.length} of ${count} arrived`,
    );
    return this.received;
  }

  /** Does what makes the platform send something, and resolves with the next delivery that arrives. */
  async next(act: () => unknown): Promise<Received> {
    const before = this.received.length;
    await act();
    return (await this.arrived(before + 1))[before] as Received;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
