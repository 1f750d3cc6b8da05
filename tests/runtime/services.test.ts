import { expect, test } from "bun:test";
import { supervise } from "../../src/runtime/services.ts";
import { keptLog } from "../support/kept-log.ts";
import { until } from "../support/until.ts";

test("a service that fails again and again is restarted, and the same failure is logged once, with its number", async () => {
  const { log, lines } = keptLog();
  const failures = ["the disk is full", "the disk is full", "it is damaged"];
  let runs = 0;
  const run = async () => {
    throw new Error(failures[runs++]);
  };
  const services = supervise([{ name: "free pages", run }], log);
  await until(() => runs === failures.length);
  await services.stop();
  expect((await lines()).map((line) => JSON.parse(line))).toMatchObject([
    { event: "service_failed", error: "Error: the disk is full" },
    { event: "service_failed", error: "Error: it is damaged" },
    { event: "service_failed", error: "Error: the disk is full", repeated: 1 },
  ]);
});
