import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { faultRun } from "../../support/fault-run.ts";
import { administer, hasPostgres } from "../../support/postgres.ts";
import { startPostgres, startStandby } from "../../support/postgres-server.ts";
import { run } from "../../support/process.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";

setDefaultTimeout(180_000);

/*
 * A standby replaces a primary that is killed under load. `--database` names a floating address, here a proxy, or both
 * servers. With synchronous replication nothing acknowledged is lost, and requests that the former primary did not
 * answer are repeated under the same ids.
 */
test.skipIf(!hasPostgres).each([
  { by: "a floating address", hosts: (address: number) => [address] },
  // The standby comes first, to show that the primary is chosen, before and after.
  {
    by: "both of their addresses",
    hosts: (_: number, primary: number, standby: number) => [standby, primary],
  },
])("the primary is killed under load and its standby promoted, addressed by $by", async ({ hosts }) => {
  const primary = await startPostgres();
  onTestFinished(primary.stop);
  const standby = await startStandby(primary);
  onTestFinished(standby.stop);
  const address = await tcpProxy(primary.port);
  onTestFinished(address.stop);
  await administer(primary.url("postgres"), "CREATE DATABASE onair");
  const named = hosts(address.port, primary.port, standby.port).map((port) => `127.0.0.1:${port}`);
  const env = {
    ONAIR_LOG_LEVEL: "off",
    ONAIR_DATABASE: `postgres://postgres:test@${named}/onair?target_session_attrs=read-write`,
  };
  const report = await faultRun({
    database: standby.url("onair"),
    replicas: [{ env }, { env }],
    async faults(_, { allServed }) {
      await primary.killAll();
      await standby.promote();
      address.lead(standby.port);
      await allServed();
      await allServed();
    },
  });
  expect(report.problems).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(20);
  expect(primary.isRunning).toBe(false);
});

test.skipIf(!hasPostgres)("a former primary that still accepts writes is a finding of doctor", async () => {
  const primary = await startPostgres();
  onTestFinished(primary.stop);
  await administer(primary.url("postgres"), "CREATE DATABASE onair");
  await administer(primary.url("postgres"), "CREATE ROLE plain LOGIN PASSWORD 'test'");
  await administer(primary.url("postgres"), "ALTER DATABASE onair OWNER TO plain");
  const standby = await startStandby(primary);
  onTestFinished(standby.stop);
  const [first, second] = [`127.0.0.1:${primary.port}`, `127.0.0.1:${standby.port}`];
  const env = { ONAIR_DATABASE: `postgres://plain:test@${first},${second}/onair` };
  expect((await run(["migrate"], { env })).code).toBe(0);
  const findings = async () => {
    const { stdout } = await run(["doctor", "--json", "--port", "0", "--admin-port", "0"], { env });
    return (JSON.parse(stdout) as { findings: { check: string }[] }).findings.filter(
      ({ check }) => check === "primary",
    );
  };
  expect(await findings()).toMatchObject([{ status: "ok", message: expect.stringContaining(first) }]);
  await standby.promote();
  expect(await findings()).toMatchObject([
    {
      status: "wrong",
      message: expect.stringContaining(`${second} (timeline 2), ${first} (timeline 1)`),
      advice: expect.stringContaining(`the former primary ${first}`),
    },
  ]);
});
