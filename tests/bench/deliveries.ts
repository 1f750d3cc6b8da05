import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../src/domain/ids.ts";
import { day, isoTime } from "../../src/domain/time.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { writeDeliveries } from "../support/delivery-rows.ts";
import { event, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, startServer, temporaryDirectory } from "../support/server.ts";
import { seededRandom, zipfRanks } from "./support/random.ts";
import { megabytes, milliseconds, table, whole } from "./support/report.ts";
import { percentile } from "./support/rounds.ts";

/*
 * How long a page of deliveries takes, over HTTP, with a long log: bun tests/bench/deliveries.ts [rows] [requests]
 *
 * The rows are written straight into a temporary data directory. Deliveries are spread over 1,000 applications by
 * Zipf's law; the large one is the first, the typical one the hundredth, the small one the last.
 */

const rows = Number(process.argv[2] ?? 1_000_000);
const requests = Number(process.argv[3] ?? 500);
const applications = 1_000;
const perEvent = 10;
const typicalRank = 99;

const directory = temporaryDirectory();
const random = seededRandom(7);
let server = await startServer({ engineThread: true, data: directory.path });
try {
  await server.load("users", users);
  const made = await Promise.all(
    [0, typicalRank, applications - 1].map(async (rank) => {
      const app = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
      const [subscription = newId()] = await subscribe(server, app, [event("kicks.gifted").name]);
      return { rank, app, subscription };
    }),
  );
  await server.app.stop();
  const known = new Map(made.map((one) => [one.rank, one]));
  const ids = Array.from({ length: applications }, (_, rank) => known.get(rank)?.app.id ?? newId());
  const subscriptions = ids.map((_, rank) => [known.get(rank)?.subscription ?? newId(), newId(), newId()]);

  const started = performance.now();
  const ranks = zipfRanks(applications, rows, random);
  const from = Date.now() - 3 * day;
  let next = 0;
  const receiver = () => {
    const rank = ranks[next++] ?? 0;
    const application_id = ids[rank] ?? "";
    return { application_id, subscription_id: subscriptions[rank]?.[next % 3] ?? "" };
  };
  const db = new Database(join(directory.path, "onair.db"));
  const everyMs = (3 * day * perEvent) / rows;
  writeDeliveries(db, { deliveries: rows, perEvent, from, everyMs, receiver, random });
  db.close();
  await openStore(directory.path).close();
  const bytes = statSync(join(directory.path, "onair.db")).size;
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${whole(rows)} deliveries in ${megabytes(bytes)}, written in ${seconds.toFixed(0)} s\n`);

  server = await startServer({
    engineThread: true,
    data: directory.path,
    args: ["--keep-delivered-days", "30"],
  });
  // Before anything is measured, code is compiled and the cache is filled.
  for (let n = 0; n < 100; n++)
    await (await server.get("/public/v1/events/deliveries", made[n % 3]?.app.token)).text();
  const report = [["p50", "p99", "longest", "found"]].map((row) => ["page of 25", ...row]);
  for (const { rank, app, subscription } of made) {
    const size = rank === 0 ? "large" : rank === typicalRank ? "typical" : "small";
    const middle = isoTime(from + 1.5 * day);
    for (const [name, query] of [
      ["newest", ""],
      ["a subscription", `subscription_id=${subscription}`],
      ["failed", "status=failed"],
      ["a type", "type=kicks.gifted"],
      ["before a time", `before=${middle}`],
    ] as const) {
      const times: number[] = [];
      let found = 0;
      let cursor = "";
      for (let n = 0; n < requests; n++) {
        const begun = performance.now();
        const path = `/public/v1/events/deliveries?${query}&cursor=${cursor}`;
        const answer = await json<{ data: unknown[]; pagination: { cursor: string } }>(
          await server.get(path, app.token),
        );
        times.push(performance.now() - begun);
        found += answer.data.length;
        // On through the log, and from its beginning again at its end.
        cursor = answer.pagination.cursor;
      }
      const cells = [0.5, 0.99, 1].map((share) => milliseconds(percentile(times, share)));
      report.push([`${size}, ${name}`, ...cells, whole(found)]);
    }
  }
  console.log(table(report));
} finally {
  await server.stop();
  directory.remove();
}
