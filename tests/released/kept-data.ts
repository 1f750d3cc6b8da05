import { Database } from "bun:sqlite";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hour } from "../../src/domain/time.ts";
import { administer } from "../support/postgres.ts";
import {
  event,
  nothingPending,
  publish,
  publishAll,
  sendDue,
  settled,
  subscribe,
} from "../support/publishing.ts";
import { channels, users } from "../support/real-data.ts";
import { Clock, json, type TestApplication, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * The small database of a release, with pending deliveries: how it is made, and how a later build is shown to deliver
 * them. The application's webhook URL has a name that exists nowhere; an egress proxy stands for its receiver.
 */

/** What a test has to know about a kept database. The secrets are those of this database alone. */
export interface KeptFacts {
  readonly made_at: string;
  readonly application: TestApplication;
  /** The ids of the pending deliveries. */
  readonly pending: readonly string[];
  /** The answer to an event that was published with an `Idempotency-Key`. */
  readonly answer: unknown;
  /** A cursor of the list of deliveries. */
  readonly cursor: string;
}

/** The event with an `Idempotency-Key`, published then and again in the later build. */
const once = (server: TestServer) =>
  server
    .admin("POST", "/admin/v1/events", event("channel.followed"), { "idempotency-key": "kept" })
    .then((response) => json<unknown>(response));

const webhookUrl = "http://bot.example/webhook";

/** A request as the receiver behind the proxy gets it. */
interface Arrived {
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** An egress proxy that answers each request with this status. */
export async function startProxy(status: number) {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    arrived.push({ url: request.url ?? "", headers: request.headers, body });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, arrived, stop: () => void server.close() };
}

/** Starts a server with these arguments and this clock on the database that is being made or was kept. */
export type StartKept = (args: readonly string[], clock?: Clock) => Promise<TestServer>;

/** Fills an empty database: a platform, an application whose receiver fails, and deliveries of each kind that wait. */
export async function makeKept(start: StartKept): Promise<KeptFacts> {
  const proxy = await startProxy(503);
  const server = await start(["--webhook-proxy", proxy.url]);
  try {
    await server.load("users", users.slice(0, 3));
    await server.load("channels", channels.slice(0, 3));
    const type = { version: 1, schema: { type: "object", required: ["winner"] }, example: { winner: "a" } };
    await server.admin("PUT", "/admin/v1/event-types/raffle.won", type);
    const application = await server.application({ name: "Kept bot", webhook_url: webhookUrl });
    await subscribe(server, application, ["channel.followed", "raffle.won", "kicks.gifted"]);
    await subscribe(server, application, ["channel.followed"], 1002);
    const filters = { filters: { "kicks.gifted": { "gift.amount": { $gte: 1_000_000 } } } };
    await server.send("PATCH", "/public/v1/application", filters, application.token);
    // Attempted, with a retry that waits.
    await publish(server, event("channel.followed"));
    await until(() => proxy.arrived.length > 0);
    await settled(server);
    // Of several events at once, and of one alone, which is stored in another form at first.
    const more = [1001, 1002].flatMap((broadcaster_user_id) =>
      Array.from({ length: 5 }, () => event("channel.followed", { broadcaster_user_id })),
    );
    await publishAll(server, more);
    await publish(server, event("kicks.gifted"));
    await publish(server, event("raffle.won", { data: { winner: "b" } }));
    const answer = await once(server);
    await settled(server);
    const made_at = new Date().toISOString();
    const first = await server.get("/public/v1/events/deliveries?limit=1", application.token);
    const { cursor } = (await json<{ pagination: { cursor: string } }>(first)).pagination;
    return { made_at, application, pending: await pendingOf(server, application), answer, cursor };
  } finally {
    await server.stop();
    proxy.stop();
  }
}

async function pendingOf(server: TestServer, { token }: TestApplication): Promise<string[]> {
  const path = "/public/v1/events/deliveries?status=pending&limit=100";
  const { data } = await json<{ data: { id: string }[] }>(await server.get(path, token));
  return data.map(({ id }) => id).sort();
}

/** What became of a kept database in a later build. */
export interface Delivered {
  /** The ids of the deliveries that arrived, each as often as it arrived. */
  readonly ids: readonly string[];
  /** Whether each had a signature of the application's secret, and went to its URL. */
  readonly areSigned: boolean;
  /** The deliveries that are still pending. */
  readonly pending: readonly string[];
  /** The statuses of requests with the token and with the cursor of that time. */
  readonly statuses: readonly number[];
  /** The answer to the event that is published again with its `Idempotency-Key`. */
  readonly answer: unknown;
  /** The sequence number of the delivery of a new event, and the highest one of its subscription before. */
  readonly sequence: readonly [before: number, after: number];
  /** The text of `/metrics`. */
  readonly metrics: string;
}

/** Opens a kept database six hours after it was made, lets it deliver what is pending, and publishes one more event. */
export async function deliverKept(
  start: StartKept,
  { made_at, application, pending, cursor }: KeptFacts,
): Promise<Delivered> {
  const proxy = await startProxy(204);
  const clock = new Clock(Date.parse(made_at) + 6 * hour);
  const server = await start(["--webhook-proxy", proxy.url], clock);
  const count = async (expected: number) => {
    for (let i = 0; i < 20 && proxy.arrived.length < expected; i++) {
      await sendDue(server, application);
      clock.advance(hour / 60);
    }
  };
  try {
    await count(pending.length);
    const arrived = [...proxy.arrived];
    const answer = await once(server);
    const deliveries = `/public/v1/events/deliveries?limit=1&cursor=${encodeURIComponent(cursor)}`;
    const asked = ["/public/v1/application", deliveries].map((path) => server.get(path, application.token));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    await publish(server, event("channel.followed"));
    await count(pending.length + 1);
    await nothingPending(server, application);
    let metrics = "";
    // Measured in the background.
    await until(async () => {
      metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
      return metrics.includes("onair_data_bytes");
    });
    const sequenceOf = ({ headers }: Arrived) => Number(headers["onair-sequence"]);
    const isSame = ({ body }: Arrived) => /"channel.followed"/.test(body) && body.includes('"user_id":1001');
    const next = proxy.arrived[arrived.length];
    const subscription = next?.headers["onair-subscription-id"];
    const before = arrived.filter(
      (one) => isSame(one) && one.headers["onair-subscription-id"] === subscription,
    );
    return {
      ids: arrived.map(({ headers }) => String(headers["webhook-id"])).sort(),
      areSigned: arrived.every((one) => isSigned(one, application.webhook_secret) && one.url === webhookUrl),
      pending: await pendingOf(server, application),
      statuses,
      answer,
      sequence: [Math.max(...before.map(sequenceOf)), next ? sequenceOf(next) : 0],
      metrics,
    };
  } finally {
    await server.stop();
    proxy.stop();
  }
}

/** Verifies a signature as Standard Webhooks says. Its libraries compare the time with the clock of the machine. */
function isSigned({ headers, body }: Arrived, secret: string): boolean {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  return String(headers["webhook-signature"]).split(" ").includes(expected);
}

/** Returns the schema of a SQLite file, an object a line. SQLite's own objects are left out. */
export function sqliteSchema(file: string): string[] {
  using db = new Database(file, { readonly: true });
  const rows = db
    .query<{ sql: string }, []>(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  return rows.map(({ sql }) => sql.replaceAll(/\s+/g, " ")).sort();
}

/** Returns the schema of a PostgreSQL database, a column, index, constraint, trigger or function a line. */
export async function postgresSchema(url: string): Promise<string[]> {
  // The parts of the log follow the calendar.
  const isOurs = "n.nspname = current_schema() AND NOT c.relispartition";
  const rows = await administer<{ line: string }>(
    url,
    `SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
         CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
         coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')) AS line
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
       WHERE ${isOurs} AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL SELECT pg_get_indexdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE ${isOurs} AND c.relkind IN ('i', 'I')
     UNION ALL SELECT format('%s %s %s', c.relname, o.conname, pg_get_constraintdef(o.oid))
       FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE ${isOurs} AND o.contype <> 'n'
     UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${isOurs} AND NOT t.tgisinternal
     UNION ALL SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = current_schema() AND p.prokind = 'f'
         AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid AND e.deptype = 'e')`,
  );
  return rows.map(({ line }) => line.trim().replaceAll(/\s+/g, " ")).sort();
}
