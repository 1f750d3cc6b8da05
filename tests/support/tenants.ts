import { pick } from "../../src/dev/chance.ts";
import { event, subscribe, subscriptionsPath } from "./publishing.ts";
import { users } from "./real-data.ts";
import { type Received, Receiver } from "./receiver.ts";
import { json, ndjson, type TestApplication, type TestServer } from "./server.ts";

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

type Random = () => number;
type Ask = (method: string, path: string, body?: unknown) => Promise<{ status: number; text: string }>;

/** Something that a tenant or the operator may do, which must change nothing for others; how often, and what. */
type Action = readonly [
  weight: number,
  name: string,
  run: (rival: Rival, random: Random) => Promise<unknown>,
];

/** How the receivers of rivals behave, by the path of their URL. */
const moods = ["ok", "gone", "failing", "busy", "slow", "hanging"] as const;
/** Users whom only rivals are subscribed to, and who come and go. */
const ownUsers: readonly number[] = users.slice(-2).map(({ id }) => id);

/** An application that does whatever the API lets it do, and that the operator does everything to. */
class Rival {
  subscriptions: string[] = [];
  constructor(public app: TestApplication) {}
}

/** Applications, their receiver and their operator, who do everything at random. */
export class Rivals {
  readonly done: Record<string, number> = {};
  readonly #rivals: Rival[] = [];
  readonly #over = Promise.withResolvers<void>();
  readonly #receiver: Bun.Server<undefined>;

  constructor(
    readonly server: TestServer,
    readonly victims: readonly Victim[],
    readonly wrong: (what: string) => void,
  ) {
    this.#receiver = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const mood = new URL(request.url).pathname.slice(1);
        if (mood === "hanging") await Promise.race([this.#over.promise, Bun.sleep(2_000)]);
        if (mood === "slow") await Bun.sleep(30);
        const status = { gone: 410, failing: 500, busy: 503 }[mood] ?? 204;
        return new Response(null, { status, headers: mood === "busy" ? { "retry-after": "1" } : {} });
      },
    });
  }

  async begin(count: number, random: Random): Promise<void> {
    for (let i = 0; i < count; i++) {
      const rival = new Rival(await this.#application(random));
      this.#rivals.push(rival);
      await this.#subscribe(rival, random);
    }
  }

  /** One thing at random. */
  async act(random: Random): Promise<void> {
    const [, name, run] = pick(random, this.#weighted);
    await run(pick(random, this.#rivals), random);
    this.done[name] = (this.done[name] ?? 0) + 1;
  }

  /** A DELETE that must change nothing. */
  deleteNothing(random: Random): Promise<void> {
    return this.#deleteNothing(pick(random, this.#rivals), random);
  }

  async #deleteNothing(rival: Rival, random: Random): Promise<void> {
    const foreign = pick(random, this.victims).subscriptionIds;
    const ids = ["01JHJ1V2GQ5Z8N1F4T7Y0XW3C0", pick(random, foreign)];
    await this.#as(rival)("DELETE", `${subscriptionsPath}?id=${ids.join(",")}`);
  }

  /** Whether everything was done at least once. */
  get haveDoneAll(): boolean {
    return this.#actions.every(([, name]) => name in this.done);
  }

  async stop(): Promise<void> {
    this.#over.resolve();
    await this.#receiver.stop(true);
  }

  #url(random: Random): string {
    return `http://127.0.0.1:${this.#receiver.port}/${pick(random, moods)}`;
  }

  #application(random: Random): Promise<TestApplication> {
    return this.server.application({ name: "Rival", webhook_url: this.#url(random) });
  }

  readonly #operator: Ask = async (method, path, body) =>
    this.#seen(`${method} ${path}`, await this.server.admin(method, path, body));

  #as(rival: Rival): Ask {
    return async (method, path, body) => {
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      const text = body === undefined ? null : JSON.stringify(body);
      const answer = await this.server.get(path, rival.app.token, { method, headers, body: text });
      return this.#seen(`${method} ${path}`, answer);
    };
  }

  async #seen(what: string, answer: Response): Promise<{ status: number; text: string }> {
    const text = await answer.text();
    if (answer.status >= 500) this.wrong(`${what} answers ${answer.status}: ${text}`);
    return { status: answer.status, text };
  }

  async #subscribe(rival: Rival, random: Random): Promise<void> {
    const broadcaster = pick(random, [...broadcasters, ...ownUsers]);
    const events = eventNames.map((name) => ({ name, version: 1 }));
    const body = { broadcaster_user_id: broadcaster, events };
    const { status, text } = await this.#as(rival)("POST", subscriptionsPath, body);
    if (status !== 200) return;
    const { data } = JSON.parse(text) as { data: { subscription_id?: string }[] };
    rival.subscriptions.push(...data.flatMap((one) => one.subscription_id ?? []));
  }

  async #deliveryOf(rival: Rival, random: Random): Promise<string | null> {
    const { status, text } = await this.#as(rival)("GET", "/public/v1/events/deliveries?limit=20");
    if (status !== 200) return null;
    const { data } = JSON.parse(text) as { data: { id: string }[] };
    return data.length === 0 ? null : pick(random, data).id;
  }

  readonly #change = ({ app }: Rival, body: object) =>
    this.#operator("PATCH", `/admin/v1/applications/${app.id}`, body);

  readonly #rotate = (id: string) =>
    this.#operator("POST", `/admin/v1/applications/${id}/webhook-secret`, { overlap_seconds: 0 });

  readonly #actions: readonly Action[] = [
    [6, "subscribe", (rival, random) => this.#subscribe(rival, random)],
    [
      12,
      "delete what is nobody's, or a victim's",
      (rival, random) => Promise.all(Array.from({ length: 8 }, () => this.#deleteNothing(rival, random))),
    ],
    [
      6,
      "delete a subscription",
      async (rival, random) => {
        if (rival.subscriptions.length === 0) return;
        const id = pick(random, rival.subscriptions);
        rival.subscriptions = rival.subscriptions.filter((one) => one !== id);
        await this.#as(rival)("DELETE", `${subscriptionsPath}?id=${id}`);
      },
    ],
    [6, "get another URL", (rival, random) => this.#change(rival, { webhook_url: this.#url(random) })],
    [4, "be disabled or enabled", (rival, random) => this.#change(rival, { disabled: random() < 0.4 })],
    [
      4,
      "switch between webhooks and the stream",
      (rival, random) => this.#change(rival, { delivery: pick(random, ["webhook", "stream", "both"]) }),
    ],
    [
      4,
      "have its endpoint enabled",
      ({ app }) => this.#operator("POST", `/admin/v1/applications/${app.id}/endpoint/enable`),
    ],
    [2, "have its secret rotated", ({ app }) => this.#rotate(app.id)],
    [
      2,
      "be removed, and replaced by another",
      async (rival, random) => {
        const { id } = rival.app;
        rival.app = await this.#application(random);
        rival.subscriptions = [];
        await this.#operator("DELETE", `/admin/v1/applications/${id}`);
        await this.#subscribe(rival, random);
      },
    ],
    [
      2,
      "lose what a user consented to",
      async ({ app }, random) => {
        const user = pick(random, [...broadcasters, ...ownUsers]);
        await this.#operator("DELETE", `/admin/v1/users/${user}/consents/${app.id}`);
      },
    ],
    [
      2,
      "a user goes and comes back",
      async (_, random) => {
        const id = pick(random, ownUsers);
        await this.#operator("DELETE", `/admin/v1/users/${id}`);
        await this.#operator("PUT", `/admin/v1/users/${id}`, { username: `user_${id}` });
      },
    ],
    [
      4,
      "an event of its users",
      async (_, random) => {
        const broadcaster_user_id = pick(random, ownUsers);
        const one = event(pick(random, eventNames), { broadcaster_user_id });
        await this.#operator("POST", "/admin/v1/events", one);
      },
    ],
    [
      6,
      "ask for a delivery once more",
      async (rival, random) => {
        const id = await this.#deliveryOf(rival, random);
        if (id !== null) await this.#as(rival)("POST", `/public/v1/events/deliveries/${id}/retry`);
      },
    ],
    [
      2,
      "replay",
      async (rival) => {
        const [from, to] = [Date.now() - 60_000, Date.now()].map((at) => new Date(at).toISOString());
        const made = await this.#as(rival)("POST", "/public/v1/events/replays", { from, to });
        if (made.status !== 202) return;
        const { data } = JSON.parse(made.text) as { data: { id: string } };
        await this.#as(rival)("DELETE", `/public/v1/events/replays/${data.id}`);
      },
    ],
    [
      1,
      "test its webhook",
      (rival, random) =>
        this.#as(rival)("POST", "/public/v1/events/test", { event: pick(random, eventNames) }),
    ],
    [
      1,
      "lose its tokens, and get another",
      async (rival) => {
        const path = `/admin/v1/applications/${rival.app.id}/tokens`;
        await this.#operator("DELETE", path);
        const { status, text } = await this.#operator("POST", path, {});
        if (status >= 300) return;
        const { access_token } = JSON.parse(text) as { access_token: string };
        rival.app = { ...rival.app, token: access_token };
      },
    ],
    [
      4,
      "look at everything",
      async (rival, random) => {
        const paths = ["subscriptions", "deliveries", "replays", "types"];
        await this.#as(rival)("GET", `/public/v1/events/${pick(random, paths)}`);
        await this.#operator(
          "GET",
          pick(random, ["/admin/v1/deliveries", "/admin/v1/endpoints", "/metrics"]),
        );
      },
    ],
    [
      1,
      "a type of events comes and goes",
      async (_, random) => {
        const path = `/admin/v1/event-types/rival.event${Math.floor(random() * 3)}/1`;
        const schema = { type: "object", properties: { n: { type: "integer" } } };
        await this.#operator("PUT", path, { description: "Of a rival.", schema, example: { n: 1 } });
        await this.#operator("DELETE", path);
      },
    ],
    [
      3,
      "a victim subscribes to something else, and ends it",
      async (_, random) => {
        const ask = this.#as(new Rival(pick(random, this.victims).app));
        const events = [{ name: "kicks.gifted", version: 1 }];
        const body = { broadcaster_user_id: pick(random, broadcasters), events };
        const { text } = await ask("POST", subscriptionsPath, body);
        const { data } = JSON.parse(text) as { data: { subscription_id: string }[] };
        await ask("DELETE", `${subscriptionsPath}?id=${data[0]?.subscription_id}`);
      },
    ],
    [
      2,
      "a victim is renamed, and has its secret rotated",
      async (_, random) => {
        const { id } = pick(random, this.victims).app;
        await this.#operator("PATCH", `/admin/v1/applications/${id}`, { name: `Victim ${random()}` });
        await this.#rotate(id);
      },
    ],
  ];

  /** Each as often as it has weight. */
  readonly #weighted = this.#actions.flatMap((action) => Array<Action>(action[0]).fill(action));
}
