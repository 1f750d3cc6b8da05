import { everything } from "../../../src/domain/delivery-log.ts";
import { noticeLimits } from "../../../src/domain/operations/notices.ts";
import { day } from "../../../src/domain/time.ts";
import { ownListener } from "../listener.ts";
import { loginUrl } from "../oauth.ts";
import { user } from "../rows.ts";
import { Clock, startServer, type TestServer, temporaryDirectory } from "../server.ts";
import { until } from "../until.ts";
import { type Answered, answered, type Call, shown } from "./answer.ts";
import { Counterparts } from "./generated.ts";

/** The default. */
const auditMs = 365 * day;

/** On PostgreSQL old deliveries are removed later. */
const keepAll = ["delivered", "failed", "bodies"].flatMap((what) => [`--keep-${what}-days`, "3000"]);

const publicUrl = "https://onair.example";

/** Two servers, one with its data in SQLite and one in PostgreSQL, that get the same requests at the same times. */
export class Pair {
  readonly counterparts = new Counterparts();
  /** How many requests there were. */
  calls = 0;

  private constructor(
    readonly clock: Clock,
    /** The URL of webhooks; a path below it names the status that they answer with. */
    readonly webhooks: string,
    /** Of the data on SQLite, and of what stands for it on PostgreSQL. */
    private readonly directories: readonly ReturnType<typeof temporaryDirectory>[],
    private servers: readonly TestServer[],
  ) {}

  static async start(): Promise<Pair> {
    const clock = new Clock();
    const receiver = ownListener(({ url }) => {
      const status = Number(new URL(url).pathname.slice(1));
      return new Response(status === 204 ? null : "Seen", { status });
    });
    const directories = [temporaryDirectory(), temporaryDirectory()];
    return new Pair(clock, receiver.url, directories, await started(clock, directories));
  }

  /**
   * Ends both servers, which store what they have counted then, and starts them with their data. They send nothing more: on
   * PostgreSQL a server begins to do so some time after its start.
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
    const translated = JSON.parse(this.counterparts.translated(JSON.stringify(call))) as Call;
    const asked = this.servers.map((server, i) => answered(server, i === 0 ? call : translated));
    const [one, other] = await Promise.all(asked);
    if (!one || !other) throw new Error("there are two servers");
    const [shownOne, shownOther] = [one, other].map((answer) => shown(answer, call, this.#isStored));
    if (!this.counterparts.areSame(shownOne ?? "", shownOther ?? ""))
      this.differs(`${JSON.stringify(call)}\nSQLite:     ${shownOne}\nPostgreSQL: ${shownOther}`);
    if (call.method !== "GET") await this.settled();
    return one;
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
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    const now = this.clock.now();
    for (const { app } of this.servers) {
      const { tokens, idempotency, notices, audit } = app.engine.store;
      await until(() => tokens.removeExpired(now));
      await idempotency.removeExpired(now);
      await until(() => notices.prune(now - noticeLimits.keepMs));
      await until(() => audit.prune(now - auditMs));
    }
  }

  /** Resolves when nothing is left to do at this time. */
  async settled(): Promise<void> {
    for (const { app } of this.servers) {
      let quiet = 0;
      await until(async () => {
        const { inFlight, queued, unrecorded, waiting } = await app.engine.stats();
        const replays = await app.store.replays.page(everything, 100);
        const isBusy = replays.some(({ state }) => state === "running");
        quiet = isBusy || inFlight + queued + unrecorded + waiting > 0 ? 0 : quiet + 1;
        return quiet === 5;
      });
    }
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
