interface Delivery {
  readonly event: string;
  readonly subscription: string;
  readonly sequence: number;
  /** Hash of the body. */
  readonly body: string;
  succeeded: boolean;
}

/** A receiver that records, in little memory, which deliveries arrive and which rules they break. */
export class DeliveryLedger {
  /** By `webhook-id`. */
  readonly #deliveries = new Map<string, Delivery>();
  readonly #problems = new Set<string>();
  /** The highest sequence of each subscription so far. */
  readonly #highest = new Map<string, number>();
  readonly #overtaken: string[] = [];
  readonly #lastArrivals = new Map<string, number>();
  readonly #server: Bun.Server<undefined>;
  requests = 0;

  /** @param failing the share of deliveries whose first attempt is answered with 500 */
  constructor({ random, failing }: { random: () => number; failing: number }) {
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const delivery = this.#enter(request.headers, await request.text());
        if (delivery.first && random() < failing) return new Response(null, { status: 500 });
        delivery.entry.succeeded = true;
        return new Response(null, { status: 204 });
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** Distinct `webhook-id`s so far. */
  get deliveries(): number {
    return this.#deliveries.size;
  }

  #enter(headers: Headers, bytes: string): { entry: Delivery; first: boolean } {
    this.requests++;
    const text = (name: string) => headers.get(name) ?? "";
    const id = text("webhook-id");
    const event = text("onair-event-id");
    const subscription = text("onair-subscription-id");
    const sequence = Number(headers.get("onair-sequence"));
    this.#lastArrivals.set(subscription, performance.now());
    const body = Bun.hash(bytes).toString(36);
    const known = this.#deliveries.get(id);
    if (!known) {
      const entry = { event, subscription, sequence, body, succeeded: false };
      this.#deliveries.set(id, entry);
      const highest = this.#highest.get(subscription) ?? 0;
      if (sequence < highest) this.#overtaken.push(`${subscription}: ${sequence} came behind ${highest}`);
      this.#highest.set(subscription, Math.max(sequence, highest));
      return { entry, first: true };
    }
    if (known.event !== event || known.subscription !== subscription || known.sequence !== sequence) {
      this.#problems.add(`webhook-id ${id} came with other headers`);
    }
    if (known.body !== body) this.#problems.add(`webhook-id ${id} came with another body`);
    return { entry: known, first: false };
  }

  /** True when a delivery of this event to this subscription was answered with a 2xx. */
  delivered(event: string, subscription: string): boolean {
    return this.#byKey().get(`${event} ${subscription}`)?.succeeded === true;
  }

  #keys: Map<string, Delivery> | null = null;

  #byKey(): Map<string, Delivery> {
    if (this.#keys?.size !== this.#deliveries.size) {
      const entries = [...this.#deliveries.values()];
      this.#keys = new Map(entries.map((one) => [`${one.event} ${one.subscription}`, one]));
    }
    return this.#keys;
  }

  /** The time, by `performance.now`, of the latest delivery to a subscription. */
  lastArrival(subscription: string): number | undefined {
    return this.#lastArrivals.get(subscription);
  }

  /** Descriptions of deliveries that first arrived after one with a higher sequence. */
  get overtaken(): readonly string[] {
    return this.#overtaken;
  }

  /** Descriptions of the broken rules. */
  problems(): string[] {
    const problems = [...this.#problems];
    const ids = new Map<string, string>();
    const bodies = new Map<string, string>();
    const sequences = new Map<string, number[]>();
    for (const [id, { event, subscription, sequence, body }] of this.#deliveries) {
      const key = `${event} ${subscription}`;
      if (ids.has(key)) problems.push(`${event} came to ${subscription} as ${ids.get(key)} and as ${id}`);
      ids.set(key, id);
      if ((bodies.get(event) ?? body) !== body) problems.push(`${event} has several bodies`);
      bodies.set(event, body);
      const known = sequences.get(subscription);
      if (known) known.push(sequence);
      else sequences.set(subscription, [sequence]);
    }
    for (const [subscription, numbers] of sequences) {
      const wrong = numbers.sort((a, b) => a - b).findIndex((number, i) => number !== i + 1);
      if (wrong !== -1) {
        problems.push(`${subscription}: ${numbers[wrong]} stands where ${wrong + 1} should`);
      }
    }
    return problems;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}
