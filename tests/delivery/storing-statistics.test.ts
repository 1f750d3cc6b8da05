import { expect, test } from "bun:test";
import { storingStatistics } from "../../src/delivery/maintenance.ts";
import { StatisticCounter, type StatisticRow } from "../../src/domain/statistics.ts";
import { createLog } from "../../src/runtime/log.ts";

test("what is counted while counts are being stored for the last time is stored, too", async () => {
  const counter = new StatisticCounter(() => 0);
  const stored: StatisticRow[] = [];
  const add = async (rows: readonly StatisticRow[]) => {
    if (stored.length === 0) counter.count("requests", "public later", "requests", 1);
    stored.push(...rows);
  };
  const statistics = { add } as Parameters<typeof storingStatistics>[1]["statistics"];
  counter.count("requests", "public earlier", "requests", 1);
  const stopping = new AbortController();
  const running = storingStatistics(counter, { statistics }, createLog("off"), () => {}).run(stopping.signal);
  stopping.abort();
  await running;
  const subjects = stored.map(({ subject }) => subject);
  expect(subjects).toEqual(expect.arrayContaining(["public earlier", "public later"]));
});
