import { beforeEach, describe, expect, spyOn, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../../src/delivery/engine.ts";
import { startEngineThread } from "../../../src/delivery/thread.ts";
import type { ReplicaNotification } from "../../../src/domain/replicas.ts";
import { signingKeySetting } from "../../../src/domain/store.ts";
import { day } from "../../../src/domain/time.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { Link, type LinkMessage } from "../../../src/runtime/threads.ts";
import { directoryStorage, openStore } from "../../../src/store/sqlite/store.ts";
import { ownDirectory } from "../../support/server.ts";

const program = new URL("../../../src/server/engine-thread.ts", import.meta.url).href;
let directory: string;
beforeEach(() => {
  directory = ownDirectory();
});

function start(of = program): Promise<Engine> {
  const retention = { deliveredMs: day, failedMs: day, bodiesMs: day };
  const settings = {
    location: { directory: directory },
    allowPrivateWebhooks: true,
    webhookProxy: null,
    webhookConcurrency: 8,
    webhookConnections: 64,
    retention,
    maxDataBytes: null,
    auditMs: 1e12,
    notifyUrl: null,
    notifySecret: null,
    tracing: null,
  };
  return startEngineThread({
    program: of,
    settings,
    data: directoryStorage(directory),
    logLevel: "off",
    log: createLog("off"),
    onFault() {},
    failed() {},
  });
}

/** Used instead of `expect().rejects`, which blocks the event loop. */
const messageOf = (call: Promise<unknown>) => call.then(() => null).catch((error: Error) => error.message);

async function servedBefore(signingKey?: string): Promise<void> {
  const engine = await start();
  await engine.started;
  await engine.stop(0);
  if (signingKey === undefined) return;
  const store = openStore(directory);
  await store.settings.put(signingKeySetting, signingKey);
  await store.close();
}

test("at the first start nothing reads the database before the engine has created it", async () => {
  const engine = await start();
  expect(await engine.store.settings.get(signingKeySetting)).toContain("PRIVATE KEY");
  await engine.stop(0);
});

test("once the thread has ended, calls by background tasks are dropped, and other calls reject", async () => {
  const engine = await start();
  await engine.stop(0);
  const notice = { summary: "The storage cannot be written.", advice: null };
  await engine.notify("storage.failing", notice);
  await engine.watchOutcomes({ all: true, applications: [] });
  expect(await messageOf(engine.enable("app"))).toBe("The thread engine has ended");
});

test("a thread that cannot even be made releases the directory", async () => {
  const noWorker = spyOn(global, "Worker").mockImplementation((() => {
    throw new Error("no thread");
  }) as never);
  expect(await messageOf(start())).toBe("no thread");
  noWorker.mockRestore();
  const engine = await start();
  await engine.stop(0);
});

describe("in a directory that was served before", () => {
  test("data is read before the engine has started, and a write waits for it", async () => {
    await servedBefore();
    const engine = await start();
    const order: string[] = [];
    const started = engine.started.then(() => order.push("started"));
    const written = engine.store.settings.put("a", "b").then(() => order.push("written"));
    expect(await engine.store.settings.get(signingKeySetting)).toContain("PRIVATE KEY");
    expect(order).toEqual([]);
    await Promise.all([started, written]);
    expect(order).toEqual(["started", "written"]);
    expect(await engine.store.settings.get("a")).toBe("b");
    await engine.stop(0);
  });

  test("an engine that cannot start reports the reason, refuses waiting calls, and releases the directory", async () => {
    await servedBefore("no key");
    const engine = await start();
    const [why, write] = [messageOf(engine.started), messageOf(engine.store.settings.put("a", "b"))];
    expect([await why, await write]).toEqual(Array(2).fill("not an Ed25519 private key in PEM"));
    await engine.stop(0);
    await openStore(directory).close();
  });

  test("an engine that is stopped while it starts completes its start first", async () => {
    await servedBefore();
    const engine = await start();
    const started = engine.started;
    await engine.stop(0);
    await started;
    await openStore(directory).close();
  });
});

test("notifications from before a listener was set are reported as missed, so that data is read again", async () => {
  await servedBefore();
  const engine = await start(new URL("../fixtures/early-notification.ts", import.meta.url).href);
  await engine.started;
  // The answer arrives after the notification.
  await engine.watchOutcomes({ all: false, applications: [] });
  const received: ReplicaNotification[] = [];
  const listener = {
    streamed() {},
    outcomes() {},
    replicaNotification: (notification: ReplicaNotification) => void received.push(notification),
  };
  engine.observe(listener);
  engine.observe(listener);
  expect(received).toEqual([{ kind: "missed" }]);
  await engine.stop(0);
});

test("when the data cannot be opened for reading, the start rejects, stops the thread, and releases the directory", async () => {
  const program = new URL("../fixtures/engine-without-data.ts", import.meta.url).href;
  expect(await messageOf(start(program))).toBe("unable to open database file");
  expect(existsSync(join(directory, "stopped"))).toBe(true);
  await openStore(directory).close();
});

test.each(["load throws", "begin exits", "later rejects"])(
  "a process whose thread ends (%s) exits with a sentence and a code, even if nothing was thrown",
  async (ending) => {
    const script = new URL("../fixtures/losing-a-thread.ts", import.meta.url).pathname;
    const child = Bun.spawn([process.execPath, script], {
      env: { ...process.env, ENDING: ending },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ]);
    expect(code).toBe(1);
    if (ending.startsWith("later")) expect(stdout).toBe("started\n");
    expect(stderr).toContain('"event":"thread_failed","thread":"engine"');
    expect(stderr.match(/^onair: The engine thread has failed, .* Restart the server\.$/gm)).toHaveLength(1);
  },
);

interface Calculator {
  readonly memory: { add(a: number, b: number): Promise<number>; fail(): void };
}

/** Two ends of a link. Messages are cloned, as between threads. */
function linked(calculator: object): Link<Calculator> {
  const copied = (message: LinkMessage): LinkMessage => structuredClone(message);
  const there: Link<object> = new Link(
    (message) => here.received(copied(message)),
    () => calculator,
  );
  const here = new Link<Calculator>(
    (message) => there.received(copied(message)),
    () => null,
  );
  return here;
}

test("methods of the other end are called by name, at any depth, and their results and errors are passed back", async () => {
  const { remote } = linked({
    memory: {
      add: async (a: number, b: number) => a + b,
      fail() {
        throw new Error("out of memory");
      },
    },
  });
  expect(await Promise.all([remote.memory.add(1, 2), remote.memory.add(3, 4)])).toEqual([3, 7]);
  expect(await remote.memory.fail().catch((error) => error.message)).toBe("out of memory");
});
