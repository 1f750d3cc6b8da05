import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../src/dev/chance.ts";
import { newId } from "../../src/domain/ids.ts";
import { day, isoTime } from "../../src/domain/time.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { writeDeliveries } from "../support/delivery-rows.ts";
import { subscriber } from "../support/publishing.ts";
import { benchmark } from "./support/bench.ts";
import { load, startOnAir } from "./support/onair.ts";
import { firstUserId, sampleUsers, zipfRanks } from "./support/platform.ts";
import { BenchError } from "./support/processes.ts";
import { megabytes, milliseconds, percentile, table, whole } from "./support/report.ts";
import { Wire } from "./support/wire.ts";

/*
 * The response time of a page of deliveries over HTTP, with a long log: bun tests/bench/deliveries.ts --help
 */

const about = `
The rows are written directly into a data directory. Deliveries are distributed over 1,000 applications by Zipf's law: the
large application is the first, the typical one the hundredth, the small one the last.
`;

const applications = 1_000;
const perEvent = 10;
const sizes = { large: 0, typical: 99, small: applications - 1 } as const;
const path = "/public/v1/events/deliveries";
/** Requests before the measurement, to compile code and fill the cache. */
const warmUps = 100;

/** An existing application, and its rank among all applications in the log. */
interface Reader {
  readonly size: string;
  readonly rank: number;
  readonly id: string;
  readonly token: string;
  readonly subscription: string;
}

/** Writes deliveries of the last days, for the readers and for applications that never existed. */
async function writeLog(data: string, rows: number, readers: readonly Reader[], from: number): Promise<void> {
  const random = seeded(7);
  const known = new Map(readers.map((one) => [one.rank, one]));
  const ids = Array.from({ length: applications }, (_, rank) => known.get(rank)?.id ?? newId());
  const subscriptions = ids.map((_, rank) => [known.get(rank)?.subscription ?? newId(), newId(), newId()]);
  const ranks = zipfRanks(applications, rows, random);
  let next = 0;
  const receiver = () => {
    const rank = ranks[next++] ?? 0;
    const application_id = ids[rank] ?? "";
    return { application_id, subscription_id: subscriptions[rank]?.[next % 3] ?? "" };
  };
  const db = new Database(join(data, "onair.db"));
  const everyMs = (3 * day * perEvent) / rows;
  writeDeliveries(db, { deliveries: rows, perEvent, from, everyMs, receiver, random });
  db.close();
  await openStore(data).close();
}

/** Requests one page after the other, and starts again at the end of the log. */
async function pagesOf(wire: Wire, query: string, requests: number) {
  const took: number[] = [];
  let found = 0;
  let cursor = "";
  for (let n = 0; n < requests; n++) {
    const { status, body, ms } = await wire.get(`${path}?${query}&cursor=${cursor}`);
    if (status !== 200) throw new BenchError(`On Air answers ${status}: ${body}`);
    const page = JSON.parse(body) as { data: unknown[]; pagination: { cursor: string } };
    took.push(ms);
    found += page.data.length;
    cursor = page.pagination.cursor;
  }
  return { p50: percentile(took, 0.5), p99: percentile(took, 0.99), longest: percentile(took, 1), found };
}

await benchmark(
  {
    about,
    options: {
      rows: { default: 1_000_000, least: applications, help: "deliveries in the log" },
      requests: { default: 500, help: "pages of each kind" },
    },
    ofExecutable: true,
    pinned: true,
  },
  async (bench, { rows, requests }) => {
    const data = join(bench.directory, "data");
    const first = await startOnAir(bench, { data, args: ["--allow-private-webhooks"] });
    await load(first, "users", sampleUsers(10, "by id"));
    const readers: Reader[] = [];
    for (const [size, rank] of Object.entries(sizes)) {
      const made = await subscriber(first, {
        webhook_url: "http://127.0.0.1:9/hook",
        event: "kicks.gifted",
        broadcasters: [firstUserId],
      });
      readers.push({ size, rank, id: made.id, token: made.token, subscription: made.subscriptions[0] ?? "" });
    }
    await first.stop();
    const from = Date.now() - 3 * day;
    bench.say(`Writing ${whole(rows)} deliveries`);
    await writeLog(data, rows, readers, from);
    const bytes = statSync(join(data, "onair.db")).size;
    const onAir = await startOnAir(bench, { data, args: ["--keep-delivered-days", "30"] });
    await bench.measure("deliveries", async () => {
      const measured = [];
      for (const { size, token, subscription } of readers) {
        const wire = new Wire(onAir.url, { authorization: `Bearer ${token}` });
        await pagesOf(wire, "", warmUps);
        for (const [name, query] of [
          ["newest", ""],
          ["a subscription", `subscription_id=${subscription}`],
          ["failed", "status=failed"],
          ["a type", "type=kicks.gifted"],
          ["before a time", `before=${isoTime(from + 1.5 * day)}`],
        ] as const) {
          measured.push({ name: `${size}, ${name}`, ...(await pagesOf(wire, query, requests)) });
        }
        wire.close();
      }
      return {
        shown: table([
          [`Page of 25 of ${whole(rows)}, ${megabytes(bytes)}`, "p50", "p99", "longest", "found"],
          ...measured.map(({ name, p50, p99, longest, found }) => [
            name,
            ...[p50, p99, longest].map(milliseconds),
            whole(found),
          ]),
        ]),
        figures: { bytes, measured },
      };
    });
    await onAir.stop();
  },
);
