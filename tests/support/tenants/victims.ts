import { event, subscribe } from "../publishing.ts";
import { users } from "../real-data.ts";
import { type Received, Receiver } from "../receiver.ts";
import { json, ndjson, type TestApplication, type TestServer } from "../server.ts";

/** What the victims are subscribed to: so much that most subscriptions have nothing queued when something comes. */
export const broadcasters: readonly number[] = users.slice(0, -2).map(({ id }) => id);
export const eventNames = ["chat.message.sent", "channel.followed"] as const;

interface Delivery {
  readonly event_id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  readonly status: string;
  readonly attempts: readonly { readonly at: string }[];
}

/** An application that does nothing wrong, with a receiver that always accepts. */
export class Victim {
  readonly #subscriptions = new Map<string, { readonly broadcaster: number; readonly name: string }>();

  private constructor(
    readonly server: TestServer,
    readonly app: TestApplication,
    readonly receiver: Receiver,
  ) {}

  /** @param latencyMs of its receiver, from 0 to below this */
  static async start(server: TestServer, latencyMs: number, random: () => number): Promise<Victim> {
    const receiver = new Receiver(async () => {
      if (latencyMs > 0) await Bun.sleep(random() * latencyMs);
      return new Response(null, { status: 204 });
    });
    const app = await server.application({ name: "Victim", webhook_url: receiver.url });
    const victim = new Victim(server, app, receiver);
    for (const broadcaster of broadcasters) {
      const ids = await subscribe(server, app, [...eventNames], broadcaster);
      for (const [i, name] of eventNames.entries())
        victim.#subscriptions.set(ids[i] ?? "", { broadcaster, name });
    }
    return victim;
  }

  get subscriptionIds(): readonly string[] {
    return [...this.#subscriptions.keys()];
  }

  /** What it is sent by its own subscriptions of the test, and not by those that come and go. */
  get #arrived(): readonly Received[] {
    return this.receiver.received.filter(({ headers }) =>
      this.#subscriptions.has(headers["onair-subscription-id"] ?? ""),
    );
  }

  /** Whether so many have arrived, and the log knows of it. */
  async hasAll(published: readonly Published[]): Promise<boolean> {
    if (this.#arrived.length < published.length) return false;
    for (const id of this.subscriptionIds) {
      const answer = await this.server.get(`/public/v1/events/subscriptions/${id}`, this.app.token);
      if ((await json<{ data: { pending: number } }>(answer)).data.pending > 0) return false;
    }
    return true;
  }

  /** What must not be, in words: each of these events came once, in order and without a gap, and nothing else. */
  async problems(published: readonly Published[]): Promise<string[]> {
    const found: string[] = [];
    const wrong = (what: string, details: unknown) => found.push(`${what}: ${Bun.inspect(details)}`);
    const deliveries = await this.#deliveries();
    for (const [id, { broadcaster, name }] of this.#subscriptions) {
      const expected = published.filter((one) => one.broadcaster === broadcaster && one.name === name);
      const requests = this.#arrived.filter(({ headers }) => headers["onair-subscription-id"] === id);
      const events = requests.map(({ headers }) => headers["onair-event-id"] ?? "");
      const missing = expected.filter((one) => !events.includes(one.id));
      if (missing.length > 0) wrong(`${missing.length} of ${expected.length} events are missing`, missing[0]);
      if (new Set(events).size !== events.length) wrong("an event came twice", events.length);
      const numbers = requests.map(({ headers }) => Number(headers["onair-sequence"])).sort((a, b) => a - b);
      const gap = numbers.findIndex((number, i) => number !== i + 1);
      if (gap !== -1) wrong("a gap in the sequence", numbers.slice(gap, gap + 3));

      const mine = deliveries.filter((one) => one.subscription_id === id);
      const ended = mine.filter((one) => one.status !== "delivered" || one.attempts.length !== 1);
      if (ended.length > 0)
        wrong(`${ended.length} deliveries are not delivered at the first attempt`, ended[0]);
      const starts = mine
        .sort((a, b) => a.sequence - b.sequence)
        .map(({ attempts }) => attempts[0]?.at ?? "");
      const late = starts.findIndex((at, i) => i > 0 && at < (starts[i - 1] ?? ""));
      if (late !== -1) wrong("a later delivery started earlier", mine.slice(late - 1, late + 1));
    }
    return found;
  }

  async #deliveries(): Promise<Delivery[]> {
    const all: Delivery[] = [];
    for (let cursor = ""; ; ) {
      const path = `/public/v1/events/deliveries?limit=100&cursor=${cursor}`;
      const { data, pagination } = await json<{
        data: Delivery[];
        pagination: { cursor: string; has_more: boolean };
      }>(await this.server.get(path, this.app.token));
      all.push(...data);
      if (!pagination.has_more) return all;
      cursor = pagination.cursor;
    }
  }
}

/** An event whose publishing was acknowledged. */
export interface Published {
  readonly id: string;
  readonly name: string;
  readonly broadcaster: number;
}

/** Publishes some events in one request; those that were acknowledged. */
export async function publishSome(
  server: TestServer,
  some: readonly Published[],
): Promise<{ status: number; published: readonly Published[] }> {
  const events = some.map(({ id, name, broadcaster }) =>
    event(name, { id, broadcaster_user_id: broadcaster }),
  );
  const [first] = events;
  const body = events.length === 1 ? first : ndjson(events);
  const answer = await server.admin("POST", "/admin/v1/events", body);
  await answer.arrayBuffer();
  return { status: answer.status, published: answer.ok ? some : [] };
}
