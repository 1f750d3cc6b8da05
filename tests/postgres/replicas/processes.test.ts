import { afterAll, beforeAll, describe, expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { seeded } from "../../../src/dev/chance.ts";
import { type FaultReport, type FaultRunOptions, faultRun } from "../../support/fault-run.ts";
import { administer, hasPostgres } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { event } from "../../support/publishing.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * The promises of several replicas, each in its own process, while one of them or the database fails.
 */

/** A preloaded library that changes the clock of a process. */
const [faketime] = new Bun.Glob("*/faketime/libfaketime.so.1").scanSync({ cwd: "/usr/lib", absolute: true });
if (faketime === undefined) console.warn("libfaketime is not installed here: A TEST OF CLOCKS IS SKIPPED.");

const oneEvent = event("channel.followed", { id: "while-it-is-away" });

describe.skipIf(!hasPostgres)("replicas", () => {
  let postgres: PostgresServer;
  let number = 0;

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());

  async function database(): Promise<string> {
    const name = `replicas_${++number}`;
    await administer(postgres.url("postgres"), `CREATE DATABASE ${name}`);
    return postgres.url(name);
  }

  async function run(
    faults: FaultRunOptions["faults"],
    { count = 2, ...rest }: { count?: number; pauseMs?: number } = {},
  ): Promise<FaultReport> {
    return faultRun({
      ...rest,
      database: await database(),
      replicas: Array.from({ length: count }, () => ({})),
      faults,
    });
  }

  function expectPromises({ acknowledged, deliveries, problems }: FaultReport): void {
    expect(problems).toEqual([]);
    expect(acknowledged).toBeGreaterThan(20);
    expect(deliveries).toBeGreaterThan(acknowledged);
  }

  /**
   * Expects deliveries for every application again, within a time that a busy machine can keep.
   * `tests/bench/replicas.ts` measures the real time.
   */
  async function servedWithin(ms: number, allServed: () => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    await allServed();
    expect(performance.now() - startedAt).toBeLessThan(ms);
  }

  test("one is killed: the others take over its endpoints within 5 s; after its restart it owns its share again", async () => {
    const report = await run(
      async ([first, , third], { allServed }) => {
        await first?.end("SIGKILL");
        await servedWithin(20_000, allServed);
        await first?.start();
        await third?.end("SIGKILL");
        await servedWithin(20_000, allServed);
      },
      { count: 3 },
    );
    expectPromises(report);
  });

  test("they are killed one after the other at random moments, even while others start, and all at once", async () => {
    const random = seeded(Date.now());
    const report = await run(
      async (replicas, { allServed }) => {
        for (let kills = 0; kills < 4; kills++) {
          const replica = replicas[Math.floor(random() * replicas.length)];
          await replica?.end("SIGKILL");
          await Bun.sleep(random() * 300);
          await replica?.start();
          await Bun.sleep(random() * 300);
        }
        await Promise.all(replicas.map((replica) => replica.end("SIGKILL")));
        for (const replica of replicas) await replica.start();
        await allServed();
      },
      // So that each moment has requests and deliveries.
      { count: 3, pauseMs: 250 },
    );
    expectPromises(report);
  });

  test("one is stopped by its operator: it hands over its endpoints at once", async () => {
    const report = await run(async ([first], { allServed }) => {
      await first?.end("SIGTERM");
      await servedWithin(2_500, allServed);
      await first?.start();
      await allServed();
    });
    expectPromises(report);
  });

  test("one is suspended for longer than its lease and continues: nothing is sent in the old order", async () => {
    // Without pauses, so that deliveries wait in its memory.
    const report = await run(
      async ([first], { allServed }) => {
        first?.server.kill("SIGSTOP");
        await Bun.sleep(4_500);
        first?.server.kill("SIGCONT");
        await allServed();
        await Bun.sleep(500);
      },
      { pauseMs: 0 },
    );
    expectPromises(report);
  });

  test.each(["hold", "cut"] as const)(
    "one is cut off from the database (%s) while its receivers answer",
    async (how) => {
      const proxy = await tcpProxy(postgres.port);
      onTestFinished(proxy.stop);
      const url = await database();
      const through = Object.assign(new URL(url), { port: String(proxy.port) }).href;
      const report = await faultRun({
        database: url,
        replicas: [{}, { env: { ONAIR_DATABASE: through, ONAIR_LOG_LEVEL: "off" } }],
        pauseMs: 0,
        async faults([, cutOff], { allServed }) {
          proxy[how]();
          if (cutOff) cutOff.isPublishedTo = false;
          // It sends deliveries that it has in memory until its lease is over.
          await Bun.sleep(3_500);
          await servedWithin(20_000, allServed);
          proxy.release();
          if (cutOff) cutOff.isPublishedTo = true;
          await allServed();
          await Bun.sleep(500);
        },
      });
      expectPromises(report);
    },
  );

  test.skipIf(faketime === undefined)("their clocks are an hour apart", async () => {
    const env = { LD_PRELOAD: faketime ?? "", FAKETIME: "+1h", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
    const report = await faultRun({
      database: await database(),
      replicas: [{}, { env }],
      async faults([first], { allServed }) {
        await first?.end("SIGKILL");
        await servedWithin(20_000, allServed);
        await first?.start();
        await Bun.sleep(1_000);
        await allServed();
      },
    });
    expectPromises(report);
  });

  test("the database ends their connections, crashes, and is restarted", async () => {
    const own = await startPostgres();
    onTestFinished(own.stop);
    await administer(own.url("postgres"), "CREATE DATABASE onair");
    const report = await faultRun({
      database: own.url("onair"),
      replicas: [{ env: { ONAIR_LOG_LEVEL: "off" } }, { env: { ONAIR_LOG_LEVEL: "off" } }],
      async faults(replicas, { allServed }) {
        await administer(
          own.url("postgres"),
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'onair'",
        );
        await allServed();
        for (const signal of ["SIGQUIT", "SIGINT"] as const) {
          own.kill(signal);
          for (const { server } of replicas) {
            const ready = () => fetch(`${server.adminUrl}/readyz`);
            await until(async () => (await ready()).status === 503);
            expect(await (await ready()).text()).toContain("database");
            const refused = await server.admin("POST", "/admin/v1/events", oneEvent);
            expect(refused.status).toBe(503);
            expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
          }
          await own.start();
          for (const { server } of replicas) {
            await until(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 200);
          }
          await servedWithin(20_000, allServed);
        }
      },
    });
    expectPromises(report);
  });
});
