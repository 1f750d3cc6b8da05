import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/process.ts";
import { ownDirectory, startServer } from "../support/server.ts";
import { keptKind, releases } from "./kept.ts";
import { deliverKept, type StartKept, sqliteSchema } from "./kept-data.ts";
import { promises } from "./promises.ts";
import { compareMetrics, metricsIn } from "./surface.ts";

/* The data directory of each release, opened by this build. That of PostgreSQL: `postgres/store/released.test.ts`. */

test.each(releases)(
  "the data of %s is opened, and its pending deliveries arrive, once and signed",
  async (release) => {
    const { facts, data, schema, metrics } = keptKind(release, "sqlite");
    const directory = ownDirectory();
    const file = join(directory, "onair.db");
    writeFileSync(file, data, { mode: 0o600 });
    expect(sqliteSchema(file)).toEqual([...schema]);
    const start: StartKept = (args, clock) => startServer({ args, clock, data: directory, isOnSqlite: true });
    const { ids, pending, areSigned, statuses, answer, sequence, ...rest } = await deliverKept(start, facts);
    expect(facts.pending.length).toBeGreaterThan(10);
    expect([promises.deliveries, ids]).toEqual([promises.deliveries, [...facts.pending]]);
    expect({ pending, areSigned, statuses, answer }).toEqual({
      pending: [],
      areSigned: true,
      statuses: [200, 200],
      answer: facts.answer,
    });
    expect(sequence[1]).toBe(sequence[0] + 1);
    const fresh = await startServer({ isOnSqlite: true });
    const expected = sqliteSchema(join(fresh.data, "onair.db"));
    await fresh.stop();
    expect([promises.schema, sqliteSchema(file)]).toEqual([promises.schema, expected]);
    expect(compareMetrics(metrics, metricsIn(rest.metrics))).toEqual([]);
  },
);

test.each(releases)("a backup of %s is restored, and a server starts with it", async (release) => {
  const { data } = keptKind(release, "sqlite");
  const directory = ownDirectory();
  const [file, restored] = [join(directory, "backup.db"), join(directory, "data")];
  writeFileSync(file, data, { mode: 0o600 });
  expect(await run(["restore", file, "--data", restored])).toMatchObject({ code: 0 });
  const server = await startServer({ data: restored, isOnSqlite: true });
  const ready = await fetch(`${server.adminUrl}/readyz`);
  await server.stop();
  expect(ready.status).toBe(200);
});
