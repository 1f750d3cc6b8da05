import { expect, spyOn, test } from "bun:test";
import { startEngine } from "../../src/delivery/engine.ts";
import { createLog } from "../../src/runtime/log.ts";
import { supervise } from "../../src/runtime/services.ts";
import { engineSettings } from "../../src/server/core.ts";
import { readConfig } from "../../src/server/settings/read-config.ts";
import { startApp } from "../../src/server/start.ts";
import { storageAt } from "../../src/server/storage-at.ts";
import { keptLog } from "../support/log.ts";
import { isListening, unusedPort } from "../support/ports.ts";
import { ownDirectory } from "../support/server.ts";
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

test("a start that fails after both listeners were started leaves no port and no lock taken", async () => {
  const [directory, port, adminPort] = [ownDirectory(), await unusedPort(), await unusedPort()];
  const args = ["--data", directory, "--port", `${port}`, "--admin-port", `${adminPort}`];
  const { log } = keptLog("off");
  const config = () => readConfig(args, {});
  const showAdminKey = () => Promise.reject(new Error("no terminal"));
  await expect(startApp({ config: config(), log, now: Date.now, showAdminKey })).rejects.toThrow(
    "no terminal",
  );
  expect([await isListening(port), await isListening(adminPort)]).toEqual([false, false]);
  const app = await startApp({ config: config(), log, now: Date.now, showAdminKey: async () => {} });
  await app.stop();
  expect([await isListening(port), await isListening(adminPort)]).toEqual([false, false]);
});

test("an engine whose start fails after the store was opened leaves no timer of its thread", async () => {
  const directory = ownDirectory();
  const set = spyOn(globalThis, "setInterval");
  const cleared = spyOn(globalThis, "clearInterval");
  try {
    const config = readConfig(["--data", directory], {});
    const settings = { ...engineSettings(config, {}), webhookProxy: "no URL" };
    const started = startEngine({
      settings,
      data: await storageAt(settings.location),
      log: createLog("off"),
      now: Date.now,
      monotonic: Date.now,
      random: Math.random,
    });
    await expect(started).rejects.toThrow();
    const left = set.mock.results.filter(
      ({ value }) => !cleared.mock.calls.some(([timer]) => timer === value),
    );
    expect(set.mock.calls.length).toBeGreaterThan(0);
    expect(left).toEqual([]);
  } finally {
    set.mockRestore();
    cleared.mockRestore();
  }
});
