import { expect, onTestFinished, test } from "bun:test";
import { keptKind, releases } from "../../released/kept.ts";
import { deliverKept, postgresSchema } from "../../released/kept-data.ts";
import { restored, startOn } from "../../released/postgres-data.ts";
import { promises } from "../../released/promises.ts";
import { compareMetrics, metricsIn } from "../../released/surface.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";

/* The database of each release, opened by this build. Data directories: `released/data.test.ts`. */

test.skipIf(!hasPostgres).each(releases)(
  "the database of %s is opened, and its pending deliveries arrive, once and signed",
  async (release) => {
    const { facts, data, metrics } = keptKind(release, "postgres");
    const database = await restored(data);
    onTestFinished(() => database.drop());
    const { ids, pending, areSigned, statuses, answer, sequence, ...rest } = await deliverKept(
      startOn(database.url),
      facts,
    );
    expect(facts.pending.length).toBeGreaterThan(10);
    expect([promises.deliveries, ids]).toEqual([promises.deliveries, [...facts.pending]]);
    expect({ pending, areSigned, statuses, answer }).toEqual({
      pending: [],
      areSigned: true,
      statuses: [200, 200],
      answer: facts.answer,
    });
    expect(sequence[1]).toBe(sequence[0] + 1);
    const fresh = await emptyDatabase();
    onTestFinished(() => fresh.drop());
    const expected = await postgresSchema(fresh.url);
    expect([promises.schema, await postgresSchema(database.url)]).toEqual([promises.schema, expected]);
    expect(compareMetrics(metrics, metricsIn(rest.metrics))).toEqual([]);
  },
);
