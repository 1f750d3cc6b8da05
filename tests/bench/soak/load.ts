import { writeFileSync } from "node:fs";
import { builtInEventTypes } from "../../../src/domain/events/built-in.ts";
import type { ServerProcess } from "../../support/process.ts";
import { subscriber } from "../../support/publishing.ts";
import { ndjson } from "../../support/server.ts";

/** The number of an event of the soak, which its body carries as the id of the follower. */
export function numberOf(body: string): number {
  return (JSON.parse(body) as { data: { follower: { user_id: number } } }).data.follower.user_id;
}

const mostExpected = 10_000;

/** How long after its publishing an event arrives. */
export class Latencies {
  /** When an event was begun to be published, by its number. */
  readonly expected = new Map<number, number>();
  #taken: number[] = [];

  /** Only the first arrival counts; that of an event whose publishing is not answered yet does not. */
  arrived(number: number): void {
    const at = this.expected.get(number);
    if (at === undefined) return;
    this.#taken.push(performance.now() - at);
    this.expected.delete(number);
  }

  /** In milliseconds, since the last call. */
  takeLatencies(): readonly number[] {
    const taken = this.#taken;
    this.#taken = [];
    // What goes elsewhere, or arrived before it was expected, does not come.
    for (const number of this.expected.keys()) {
      if (this.expected.size <= mostExpected) break;
      this.expected.delete(number);
    }
    return taken;
  }
}

const slowMs = 300;
/** Of the failing endpoint one request in so many is refused. */
const failsEach = 5;

/** Endpoints of webhooks by path: prompt, slow, failing. */
class SoakReceivers extends Latencies {
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

/** Clients of the event stream. */
class SoakStreams extends Latencies {
  #open: AbortController[] = [];

  open(server: ServerProcess, token: string, count: number): void {
    for (let i = 0; i < count; i++) this.#openOne(server, token);
  }

  /** Ends the one that is open for the longest, and opens another. */
  reopenOne(server: ServerProcess, token: string): void {
    this.#open.shift()?.abort();
    this.#openOne(server, token);
  }

  close(): void {
    for (const stream of this.#open) stream.abort();
    this.#open = [];
  }

  #openOne(server: ServerProcess, token: string): void {
    const ended = new AbortController();
    this.#open.push(ended);
    this.#read(server, token, ended.signal).catch((error) => {
      if (!ended.signal.aborted) process.stderr.write(`a stream ended: ${error}\n`);
    });
  }

  async #read({ publicUrl }: ServerProcess, token: string, signal: AbortSignal): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${publicUrl}/public/v1/events/stream`, { headers, signal });
    if (!answer.ok || answer.body === null) throw new Error(`${answer.status} ${await answer.text()}`);
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of answer.body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (!line.startsWith("data:")) continue;
        const { body } = JSON.parse(line.slice("data:".length)) as { body?: string };
        if (body !== undefined) this.arrived(numberOf(body));
      }
    }
  }
}

const userCount = 20_000;
const categoryCount = 200;
const channelCount = 1_000;
const broadcasters = Array.from({ length: 20 }, (_, i) => i + 1);
const event = "channel.followed";
const example = builtInEventTypes.find(({ name }) => name === event)?.example as { follower: object };

/** More at once wait for nothing: then it is not done, and that is counted. */
const mostAtOnce = 200;
const drainMs = 60_000;
const range = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

/** All kinds of requests of a platform and its developers at an even rate, and their results. */
export class SoakLoad {
  readonly #receivers = new SoakReceivers();
  readonly #streams = new SoakStreams();
  readonly #timers: Timer[] = [];
  readonly #done = new Map<string, number>();
  readonly #unexpected: string[] = [];
  readonly #latencies = new Map<string, number[]>();
  #atOnce = 0;
  #published = 0;
  #token = "";
  #spare = { id: "", token: "" };
  #streamToken = "";

  constructor(readonly eventsPerSecond: number) {}

  /** The platform's data, and applications whose endpoints are prompt, slow, failing and gone. */
  async prepare(server: ServerProcess): Promise<void> {
    const people = range(userCount).map((id) => ({ id, username: `user${id}`, followers_count: id }));
    const games = range(categoryCount).map((id) => ({ id, name: `Game ${id}`, slug: `game-${id}` }));
    const channels = range(channelCount).map((id) => ({ id, user_id: id, slug: `user${id}` }));
    await server.load("users", people);
    await server.load("categories", games);
    await server.load("channels", channels);
    await server.load("livestreams", range(channelCount).map(livestream));
    const few = [1];
    const { url } = this.#receivers;
    const prompt = await subscriber(server, { webhook_url: `${url}/prompt`, event, broadcasters });
    this.#token = prompt.token;
    for (const webhook_url of [`${url}/slow`, `${url}/failing`, "http://127.0.0.1:9/gone"]) {
      await subscriber(server, { webhook_url, event, broadcasters: few });
    }
    this.#spare = await subscriber(server, {
      webhook_url: `${url}/spare`,
      event: "kicks.gifted",
      broadcasters: few,
    });
    const stream = await subscriber(server, { webhook_url: `${url}/spare`, event, broadcasters: few });
    await expectOk(server.admin("PATCH", `/admin/v1/applications/${stream.id}`, { delivery: "stream" }));
    this.#streamToken = stream.token;
  }

  /** In one request; they count as published. */
  async publishMany(server: ServerProcess, count: number): Promise<void> {
    const events = range(count).map(() => this.#nextEvent());
    await expectOk(server.admin("POST", "/admin/v1/events", ndjson(events)));
  }

  /** Events go around the broadcasters; the number of an event is its follower. */
  #nextEvent(): object {
    const number = ++this.#published;
    const data = { ...example, follower: { ...example.follower, user_id: number } };
    return { name: event, version: 1, broadcaster_user_id: 1 + (number % broadcasters.length), data };
  }

  /** Starts the load; `stop` ends it. */
  start(server: ServerProcess): void {
    const pace = this.eventsPerSecond / 20;
    const any = (count: number) => 1 + Math.floor(Math.random() * count);
    const get = (path: string, token?: string) => expectOk(server.get(`/public/v1/${path}`, token));
    this.#streams.open(server, this.#streamToken, 10);
    this.#every("Get User", 50 * pace, () => get(`users/user${any(userCount)}`, this.#token));
    this.#every("search", 4 * pace, () => get(`users/search?query=ser${any(999)}`, this.#token));
    this.#every("lists of categories", 10 * pace, () => get(`categories?limit=${any(100)}`));
    this.#every("lists of deliveries", pace / 2, () => get("events/deliveries?limit=50", this.#token));
    this.#every("publishing", 20 * pace, async () => {
      const event = this.#nextEvent();
      const number = this.#published;
      const at = performance.now();
      await expectOk(server.admin("POST", "/admin/v1/events", event));
      this.#receivers.expected.set(number, at);
      this.#streams.expected.set(number, at);
    });
    this.#every("subscriptions", pace, async () => {
      const body = {
        events: [{ name: "livestream.status.updated", version: 1 }],
        broadcaster_user_id: any(userCount),
      };
      const { data } = await answered<{ data: { subscription_id: string }[] }>(
        server.post("/public/v1/events/subscriptions", body, this.#spare.token),
      );
      const path = `/public/v1/events/subscriptions?id=${data[0]?.subscription_id}`;
      await expectOk(server.send("DELETE", path, undefined, this.#spare.token));
    });
    this.#every("changes of users", pace, () => {
      const id = any(userCount);
      return expectOk(
        server.admin("PUT", `/admin/v1/users/${id}`, { username: `user${id}`, followers_count: any(1e6) }),
      );
    });
    this.#every("reports of livestreams", 0.2, () => {
      const rows = range(channelCount).map((id) => ({ ...livestream(id), viewers: any(10_000) }));
      return expectOk(server.admin("PUT", "/admin/v1/livestreams?snapshot=true", ndjson(rows)));
    });
    this.#every("applications", 0.2, async () => {
      const { id } = await subscriber(server, {
        webhook_url: "http://127.0.0.1:9/",
        event,
        broadcasters: [2],
      });
      await expectOk(server.admin("POST", `/admin/v1/applications/${id}/client-secret`, {}));
      await expectOk(server.admin("DELETE", `/admin/v1/applications/${id}`));
    });
    this.#every("streams", 0.2, async () => this.#streams.reopenOne(server, this.#streamToken));
    this.#every("backups", 1 / 120, () => expectOk(server.admin("POST", "/admin/v1/backups")));
  }

  #every(name: string, perSecond: number, action: () => unknown): void {
    this.#done.set(name, 0);
    this.#latencies.set(name, []);
    const run = async () => {
      if (this.#atOnce >= mostAtOnce)
        return this.#note(`${name}: not done, ${mostAtOnce} requests are under way`);
      this.#atOnce++;
      const at = performance.now();
      try {
        await action();
        this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
        this.#latencies.get(name)?.push(performance.now() - at);
      } catch (error) {
        this.#note(`${name}: ${error instanceof Error ? error.message : error}`);
      } finally {
        this.#atOnce--;
      }
    };
    this.#timers.push(setInterval(run, 1_000 / perSecond));
  }

  /** The first few unexpected results. */
  #note(what: string): void {
    if (this.#unexpected.length < 10) this.#unexpected.push(what);
  }

  /** How long things took since the last call, in milliseconds. */
  takeLatencies(): Map<string, readonly number[]> {
    const taken = new Map<string, readonly number[]>(this.#latencies);
    for (const name of this.#latencies.keys()) this.#latencies.set(name, []);
    taken.set("publishing to arrival", this.#receivers.takeLatencies());
    taken.set("publishing to a stream", this.#streams.takeLatencies());
    return taken;
  }

  /** Resolves when each event has arrived at the prompt endpoint; after a minute in any case. */
  async allArrived(): Promise<void> {
    const endsAt = performance.now() + drainMs;
    while (this.#receivers.prompt.size < this.#published && performance.now() < endsAt) await Bun.sleep(50);
  }

  async stop() {
    for (const timer of this.#timers) clearInterval(timer);
    await this.allArrived();
    while (this.#atOnce > 0) await Bun.sleep(10);
    this.#streams.close();
    await this.#receivers.stop();
    return {
      done: Object.fromEntries(this.#done),
      arrived: this.#receivers.requests,
      lost: this.#published - this.#receivers.prompt.size,
      unexpected: this.#unexpected,
    };
  }
}

const livestream = (id: number) => ({ channel_id: id, category_id: 1 + (id % categoryCount), viewers: id });

/** Throws when an answer is an error. */
async function expectOk(asked: Promise<Response>): Promise<void> {
  const answer = await asked;
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
}

async function answered<T>(asked: Promise<Response>): Promise<T> {
  const answer = await asked;
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Deliveries that arrived are kept for so long by default. */
const keptMs = 7 * 24 * 60 * 60 * 1_000;
/** Between the end of the past and the begin of the load, about. */
const betweenMs = 20_000;
const stepSeconds = 10;
const [library] = new Bun.Glob("*/faketime/libfaketimeMT.so.1").scanSync({ cwd: "/usr/lib", absolute: true });

/**
 * A week ago: as much is published there as is going to be published later, so that as much is removed then as comes.
 */
export class Past {
  readonly #beginsAt = Date.now() + betweenMs - keptMs;

  /**
   * @param seconds of the load that comes later
   * @param file tells the server's clock how far it is behind
   */
  constructor(
    readonly seconds: number,
    readonly file: string,
  ) {
    this.#moveTo(0);
  }

  /** Whether clocks can be set here. */
  static readonly isPossible = library !== undefined;

  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library ?? "",
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  #moveTo(second: number): void {
    const behindMs = Date.now() - (this.#beginsAt + second * 1_000);
    writeFileSync(this.file, `-${(behindMs / 1_000).toFixed(3)}`);
  }

  /** Publishes it at an even pace of that clock. */
  async publish(load: SoakLoad, server: ServerProcess): Promise<void> {
    for (let second = 0; second < this.seconds; second += stepSeconds) {
      this.#moveTo(second);
      await load.publishMany(server, Math.ceil(stepSeconds * load.eventsPerSecond));
    }
    await load.allArrived();
  }
}
