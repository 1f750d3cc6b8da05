import { everything } from "../../src/domain/deliveries.ts";
import { noticeLimits } from "../../src/domain/notices.ts";
import { day } from "../../src/domain/time.ts";
import { streamPath } from "./event-stream.ts";
import { ownListener } from "./listener.ts";
import { loginUrl } from "./oauth.ts";
import { type Documented, documentedOf } from "./requests/documented.ts";
import { adminKey, Clock, startServer, type TestServer, temporaryDirectory, user } from "./server.ts";
import { until } from "./until.ts";

/** A request, in the words of the server on SQLite. */
export interface Call {
  readonly method: string;
  /** With its query. What begins with `/admin` goes to the admin listener, with the operator key. */
  readonly path: string;
  readonly token?: string | undefined;
  /** In place of the operator key that may do everything. */
  readonly key?: string | undefined;
  readonly body?: string | object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of JSON; else an empty object. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request to a server. */
export async function answered(
  server: TestServer,
  { method, path, token, key = adminKey, body, headers }: Call,
): Promise<Answered> {
  const isAdmin = path.startsWith("/admin");
  const bearer = isAdmin ? key : token;
  const answer = await fetch((isAdmin ? server.adminUrl : server.publicUrl) + path, {
    method,
    redirect: "manual",
    headers: {
      "x-request-id": "same",
      ...(bearer && { authorization: `Bearer ${bearer}` }),
      ...(typeof body === "object" && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const isEndless = path.startsWith(streamPath) && answer.ok;
  const text = isEndless ? await begun(answer) : await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json";
  return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** A stream that sends nothing for so long has sent all that there is. */
const quietMs = 50;

/** What a stream sends at once. It has no end. */
async function begun({ body }: Response): Promise<string> {
  const reader = (body ?? new Blob().stream()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const part = await Promise.race([reader.read(), Bun.sleep(quietMs)]);
    if (!part?.value) break;
    text += decoder.decode(part.value, { stream: true });
  }
  await reader.cancel();
  return text;
}

/**
 * Whether an answer may be shorter at times: a stream that is slow, and a list of deliveries, of which SQLite reads for
 * some milliseconds. A difference counts only if it remains when the request is repeated.
 */
const mayBeCutShort = ({ method, path }: Call) =>
  method === "GET" && (path.startsWith(streamPath) || /\/deliveries(\?|$)/.test(path));

/**
 * Whether an answer has counts. Each server stores them every ten seconds of real time, at times of its own, and when it
 * is stopped. A difference counts only if it remains when both have been stopped.
 */
const isOfCounts = ({ path }: Call) => /\/statistics(\?|$)/.test(path);

/** Durations. */
const measured = /("\w+_ms":)(?:null|[\d.]+)/g;

/** Signatures, which depend on secrets, and the date in the answer of a receiver. */
const signature = /\b(v1a?),[\w+/=]{40,}/g;
const receivedAt = /"date":"[^"]*"/g;

/** Settings that name the database, and where the server listens. */
const ownSettings =
  /("name":"(?:data|database|database-connections|port|admin-port)","value":)(?:null|"[^"]*")/g;

/** How far a replay has come by the numbers of deliveries, which have gaps on PostgreSQL. */
const ahead = /("state":"running"[^{}]*"progress":)[\d.]+/g;

/**
 * Frequent changes are counted, and stored every second of real time and at the end, with the id of the last request.
 */
const countedChanges = /"last_at":"[^"]*","count":\d+|"request_id":"[^"]*"/g;

/** Shows the state of an endpoint whose retries are sent at once, and may have failed before the answer. */
const isEnabling = (path: string) => path.endsWith("/endpoint/enable");

const tokenId = /\b[0-9a-f]{24}\b/;

/** Tokens that end at the same time are in no order. Their ids are made at random. */
const tokenRows = /(?<="data":\[)\{"id":"[0-9a-f]{24}","user_id".*(?=\])/;
const withoutId = (row: string) => row.replace(tokenId, "");
const sortedRows = (rows: string) =>
  rows
    .split(/(?<=\}),/)
    .sort((a, b) => (withoutId(a) < withoutId(b) ? -1 : 1))
    .join();

/** What is compared of an answer. `isStored`: all that was counted was stored before. */
export function shown({ status, headers, text }: Answered, { path }: Call, isStored: boolean): string {
  const compared = [...headers].filter(([name]) => !["date", "content-length"].includes(name));
  const isCounted = path.startsWith("/admin/v1/audit") && !isStored;
  const known = text
    .replace(measured, "$1…")
    .replace(signature, "$1…")
    .replace(receivedAt, "…")
    .replace(ownSettings, "$1…")
    .replace(ahead, "$1…")
    .replace(tokenRows, sortedRows);
  const kept = status === 200 && isEnabling(path) ? "" : known;
  const body = isCounted ? kept.replace(countedChanges, "…") : kept;
  return `${status} ${JSON.stringify(Object.fromEntries(compared))}\n${body}`;
}

/**
 * What a server makes at random: ids, secrets and their first characters, cursors, positions of event streams, ETags of answers
 * with cursors.
 */
const generated =
  /[0-7][0-9A-HJKMNP-TV-Z]{25}|\b[0-9a-f]{24}\b|onair_[a-z]+_[\w-]+|whsec_[\w+/=]+|(?<="cursor":"|^id: )[\w-]+|(?<="etag":"\\")[^\\]+/gm;

/** A value that stands for one thing. A cursor may have several counterparts, because numbers have gaps on PostgreSQL. */
const named = /^(?:[0-7][0-9A-HJKMNP-TV-Z]{25}$|onair_|whsec_)/;

/** Where a text of a request can hold something of that kind. */
const words = /[\w-]{13,}/g;

/** Which generated value of one server stands for which of the other, by their first appearance in the same place. */
class Counterparts {
  readonly #toOther = new Map<string, string>();
  readonly #toOne = new Map<string, string>();

  /** A text of a request to the one server, as the other one has to get it. */
  translated(text: string): string {
    return text.replace(words, (word) => this.#toOther.get(word) ?? word);
  }

  /**
   * Whether two texts of answers are the same but for generated values, each of which always has the same counterpart.
   */
  areSame(one: string, other: string): boolean {
    const [ofOne, ofOther] = [one.match(generated) ?? [], other.match(generated) ?? []];
    const isSameRest = one.replace(generated, "…") === other.replace(generated, "…");
    return isSameRest && ofOne.every((value, i) => this.#arePaired(value, ofOther[i] ?? ""));
  }

  #arePaired(one: string, other: string): boolean {
    if (!named.test(one)) {
      this.#toOther.set(one, other);
      return true;
    }
    const known = this.#toOther.get(one) ?? other;
    const knownBack = this.#toOne.get(other) ?? one;
    this.#toOther.set(one, known);
    this.#toOne.set(other, knownBack);
    return known === other && knownBack === one;
  }
}

/** The default. */
const auditMs = 365 * day;

/** How often a request is repeated whose answer may be cut short. */
const mostRepetitions = 20;
/** How often the servers are restarted before a request for counts is repeated. */
const mostStops = 2;

/** On PostgreSQL old deliveries are removed later, so this is longer than a run, except for `age`. */
const keptDays = 3_000;
const keepAll = ["delivered", "failed", "bodies"].flatMap((what) => [`--keep-${what}-days`, `${keptDays}`]);

const publicUrl = "https://onair.example";

/** What receivers answer. A log of deliveries has the first KiB. */
export const answers: readonly (string | Uint8Array)[] = [
  "Seen",
  "a\u0000b",
  Uint8Array.of(0xff, 0xfe, 0xed, 0xa0, 0x80, 0x22, 0x5c),
  '{"a":"\\u0000 \\"b\\""}',
  '{NULL,\\N,"x\\\\"}',
  `a${"😀".repeat(400)}`,
  "\u2028\u0085\r\n\t",
];

/** Two servers, one with its data in SQLite and one in PostgreSQL, that get the same requests at the same times. */
export class Pair {
  readonly counterparts = new Counterparts();
  /** How many requests there were. */
  calls = 0;

  private constructor(
    readonly clock: Clock,
    /** The URL of webhooks; a path below it names their status, and perhaps which of the `answers` they give. */
    readonly webhooks: string,
    /** Of the data on SQLite, and of what stands for it on PostgreSQL. */
    private readonly directories: readonly ReturnType<typeof temporaryDirectory>[],
    private servers: readonly TestServer[],
  ) {}

  static async start(): Promise<Pair> {
    const clock = new Clock();
    const receiver = ownListener(({ url }) => {
      const [, status, said] = new URL(url).pathname.split("/").map(Number);
      if (status === 204) return new Response(null, { status });
      const headers: Record<string, string> = said === undefined ? {} : { "retry-after": "120" };
      return new Response(answers[said ?? 0] ?? "Seen", { status: status ?? 500, headers });
    });
    const directories = [temporaryDirectory(), temporaryDirectory()];
    return new Pair(clock, receiver.url, directories, await started(clock, directories));
  }

  /**
   * Ends both servers, which store what they have counted then, and starts them with their data. They send nothing
   * more: on PostgreSQL a server begins to do so some time after its start.
   */
  async restart(): Promise<void> {
    for (const server of this.servers) await server.stop();
    this.servers = await started(this.clock, this.directories, ["--hold-deliveries"]);
    this.#isStored = true;
  }
  #isStored = false;

  /** Sends a request to both. Throws if the answers differ. */
  async call(call: Call): Promise<Answered> {
    this.calls++;
    const repetitions = isOfCounts(call) ? mostStops : mayBeCutShort(call) ? mostRepetitions : 0;
    for (let left = repetitions; ; left--) {
      const { answer, difference } = await this.#answer(call);
      if (difference !== null && left > 0) {
        if (isOfCounts(call)) await this.restart();
        continue;
      }
      if (difference !== null) this.differs(difference);
      if (call.method !== "GET") await this.settled();
      return answer;
    }
  }

  async #answer(call: Call): Promise<{ readonly answer: Answered; readonly difference: string | null }> {
    const translated = JSON.parse(this.counterparts.translated(JSON.stringify(call))) as Call;
    const asked = this.servers.map((server, i) => answered(server, i === 0 ? call : translated));
    const [one, other] = await Promise.all(asked);
    if (!one || !other) throw new Error("there are two servers");
    const [shownOne, shownOther] = [one, other].map((answer) => shown(answer, call, this.#isStored));
    const areSame = this.counterparts.areSame(shownOne ?? "", shownOther ?? "");
    const both = `${JSON.stringify(call)}\nSQLite:     ${shownOne}\nPostgreSQL: ${shownOther}`;
    return { answer: one, difference: areSame ? null : both };
  }

  /** The operations of the documents. Both servers are asked, because requests are counted. */
  async documented(): Promise<Documented[]> {
    const [operations = []] = await Promise.all(this.servers.map(documentedOf));
    return operations;
  }

  /** Users whom subscriptions and events can be about. */
  async loadUsers(): Promise<void> {
    for (const server of this.servers)
      await server.load("users", [...Array.from({ length: 10 }, (_, i) => user(i + 1)), user(1001)]);
  }

  differs(how: string): void {
    throw new Error(how);
  }

  /** Lets time pass, and has old data removed, which otherwise happens some time later. */
  async advance(ms: number, bodiesMs = keptDays * day): Promise<void> {
    this.clock.advance(ms);
    const now = this.clock.now();
    for (const { app } of this.servers) {
      const { tokens, idempotency, notices, audit, retention, statistics } = app.engine.store;
      await until(() => tokens.removeExpired(now));
      await idempotency.removeExpired(now);
      await until(() => notices.prune(now - noticeLimits.keepMs));
      await until(() => audit.prune(now - auditMs));
      await until(() => statistics.prune(now));
      const kept = { deliveredMs: keptDays * day, failedMs: keptDays * day, bodiesMs };
      await until(() => retention.prune(kept, now));
    }
  }

  /** How much time passes for all to become old. It takes two of it, because PostgreSQL removes parts as a whole. */
  readonly age = { bodiesMs: (keptDays / 10) * day, allMs: (keptDays + 1) * day };

  /** Resolves when nothing is left to do at this time. */
  async settled(): Promise<void> {
    const settling = this.servers.map(async ({ app }) => {
      let quiet = 0;
      await until(async () => {
        const { inFlight, queued, unrecorded, waiting } = await app.engine.stats();
        const replays = await app.store.replays.page(everything, 100);
        const isBusy = replays.some(({ state }) => state === "running");
        quiet = isBusy || inFlight + queued + unrecorded + waiting > 0 ? 0 : quiet + 1;
        return quiet === 5;
      });
    });
    await Promise.all(settling);
  }

  async stop(): Promise<void> {
    for (const server of this.servers) await server.stop();
    for (const directory of this.directories) directory.remove();
  }
}

function started(
  clock: Clock,
  directories: readonly { readonly path: string }[],
  more: readonly string[] = [],
): Promise<readonly TestServer[]> {
  const limits = ["--rate-limit", "100000", ...keepAll];
  const args = [...limits, "--login-url", loginUrl, "--public-url", publicUrl, ...more];
  return Promise.all(
    directories.map(({ path: data }, i) => {
      return startServer({ args, clock, monotonic: clock, data, isOnSqlite: i === 0 });
    }),
  );
}
