import { everything } from "../../../src/domain/deliveries.ts";
import { noticeLimits } from "../../../src/domain/notices.ts";
import { day } from "../../../src/domain/time.ts";
import { ownListener } from "../listener.ts";
import { loginUrl } from "../oauth.ts";
import { user } from "../rows.ts";
import { Clock, startServer, type TestServer, temporaryDirectory } from "../server.ts";
import { until } from "../until.ts";
import { type Answered, answered, type Call, mayBeCutShort, shown } from "./answer.ts";
import { Counterparts } from "./generated.ts";

/** The default. */
const auditMs = 365 * day;

/** How often a request is repeated whose answer may be cut short. */
const mostRepetitions = 20;

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
    for (let left = mayBeCutShort(call) ? mostRepetitions : 0; ; left--) {
      const { answer, difference } = await this.#answer(call);
      if (difference !== null && left > 0) continue;
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

  /** The OpenAPI document of a listener. Both are asked, because requests are counted. */
  async document(listener: "public" | "admin"): Promise<unknown> {
    const asked = this.servers.map(async ({ publicUrl, adminUrl }) => {
      return (await fetch(`${listener === "public" ? publicUrl : adminUrl}/openapi.json`)).json();
    });
    return (await Promise.all(asked))[0];
  }

  /** Users whom subscriptions and events can be about. */
  async loadUsers(): Promise<void> {
    for (const server of this.servers)
      await server.load(
        "users",
        Array.from({ length: 10 }, (_, i) => user(i + 1)),
      );
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
