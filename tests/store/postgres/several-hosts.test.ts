import { beforeEach, describe, expect, test } from "bun:test";
import { readDatabaseUrl } from "../../../src/store/postgres/database/connection-url.ts";
import { openPostgres } from "../../../src/store/postgres/database/open.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { unusedPort } from "../../support/ports.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";

/*
 * A URL with several hosts. `tests/replicas/standby.test.ts` has a standby among them.
 */

describe.skipIf(!hasPostgres)("of several hosts", () => {
  let url: URL;
  beforeEach(async () => {
    const database = await emptyDatabase();
    afterThisTest(database.drop);
    url = new URL(database.url);
  });

  /** The settings with these ports in place of the one, all on the same host. */
  const withPorts = (...ports: readonly (number | string)[]) =>
    readDatabaseUrl(url.href.replace(url.host, ports.map((port) => `${url.hostname}:${port}`).join(",")));

  const open = async (...ports: readonly (number | string)[]) => {
    const pool = await openPostgres(withPorts(...ports), { connections: 2 });
    afterThisTest(() => pool.close());
    return pool;
  };

  test("one that refuses, and one that says nothing, are passed over", async () => {
    const silent = await tcpProxy(Number(url.port));
    afterThisTest(silent.stop);
    silent.hold();
    const pool = await open(await unusedPort(), silent.port, url.port);
    expect(await pool.run("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("another one is taken when connections to the first have ended", async () => {
    const first = await tcpProxy(Number(url.port));
    afterThisTest(first.stop);
    const pool = await open(first.port, url.port);
    await pool.transact(({ run }) => run("CREATE TABLE kept (n integer)"));
    first.cut();
    // What was under way may fail, and for some moments what follows.
    const insert = () => pool.transact(({ run }) => run("INSERT INTO kept VALUES (1)"));
    while (
      !(await insert().then(
        () => true,
        () => false,
      ))
    )
      await Bun.sleep(20);
    expect(await pool.run("SELECT n FROM kept")).toEqual([{ n: 1 }]);
  });

  test("none that can be reached is an error that says why of each", async () => {
    const [one, other] = [await unusedPort(), await unusedPort()];
    const opened = openPostgres(withPorts(one, other), { connections: 1 });
    await expect(opened).rejects.toThrow(
      new RegExp(
        `^The database ${url.hostname}:${one},${url.hostname}:${other}/.* cannot be reached: .*${one}: .+${other}: `,
      ),
    );
  });

  test("a wrong password is told as such, and is not in the error", async () => {
    url.password = "hunter2";
    const opened = openPostgres(withPorts(await unusedPort(), url.port), { connections: 1 });
    const error = await opened.catch((error: unknown) => error);
    expect(String(error)).toContain("refuses the role");
    expect(String(error)).not.toContain("hunter2");
  });
});
