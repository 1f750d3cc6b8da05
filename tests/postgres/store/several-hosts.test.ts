import { beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { randomUUIDv7 } from "bun";
import { explainedFault } from "../../../src/postgres/faults.ts";
import { driver, openPool, primaryOf } from "../../../src/postgres/pool.ts";
import { openPostgres } from "../../../src/postgres/store.ts";
import { withoutPassword } from "../../../src/server/settings/setting-values.ts";
import { namedLocation, readDatabaseUrl, shownLocation } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { hasOpenssl, selfSigned } from "../../support/certificates.ts";
import { unusedPort } from "../../support/ports.ts";
import { administer, emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { ownDirectory } from "../../support/server.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

describe("the URL of a database", () => {
  test.each([
    ["postgres://a:b%2Fc@db.example:6000/x?sslmode=require", { user: "a", password: "b/c", port: 6000 }],
    ["postgresql://a@[::1]/x", { host: "::1", port: 5432, sslMode: "prefer", password: "" }],
    ["postgres:///x?host=/run/postgresql", { socket: "/run/postgresql", database: "x" }],
    [
      "postgres://a:b@c,[::1]:6000,%2Frun%2Fpg/x?target_session_attrs=read-write",
      {
        host: "c",
        port: 5432,
        password: "b",
        others: [
          { host: "::1", port: 6000, socket: null },
          { host: "/run/pg", port: 5432, socket: "/run/pg" },
        ],
      },
    ],
  ])("%s", (url, parts) => {
    expect(readDatabaseUrl(url)).toMatchObject(parts);
  });

  test.each([
    ["mysql://a:secret@b/c", "must be a URL like"],
    ["postgres://a:secret@b", "must end with the name"],
    ["postgres://a:secret@b/c?sslmode=yes", "must have an sslmode of"],
    ["postgres://a:secret@b/c?target=1", '"target" is not one'],
    ["postgres://a:secret%zz@b/c", "hexadecimal"],
    ["postgres://a:secret@b,,d/c", "each of its hosts"],
    ["postgres://a:secret@b,d:x/c", "must be a URL like"],
    ["postgres://a:secret@b,d/c?target_session_attrs=any", "read-write"],
  ])("%s is refused, and the password is not in the message", (url, message) => {
    let said = "";
    try {
      readDatabaseUrl(url);
    } catch (error) {
      said = error instanceof TypeError ? error.message : "";
    }
    expect(said).toContain(message);
    expect(said).not.toContain("secret");
  });

  test("is shown without user and password", () => {
    expect(shownLocation(readDatabaseUrl("postgres://a:secret@b/c"))).toBe("b:5432/c");
    expect(shownLocation(readDatabaseUrl("postgres://a:secret@b:1,d:2/c"))).toBe("b:1,d:2/c");
  });

  test.each(["postgres://a@b:5432/c", "postgres://a@[::1]:6000,d:6001/c", "postgres://a@%2Frun:5432,d:1/c"])(
    "%s is named without its password",
    (url) => {
      expect(namedLocation(readDatabaseUrl(url.replace("a@", "a:secret@")))).toBe(url);
    },
  );

  test.each(["postgres://a:secret@b/c", "postgres://a:secret@b:1,d:2/c"])(
    "%s is refused as an option",
    (url) => {
      expect(() => withoutPassword(url)).toThrow("must be without a password");
      expect(() => withoutPassword(url.replace(":secret", ""))).not.toThrow();
    },
  );
});

/*
 * A URL with several hosts. `tests/postgres/replicas/standby.test.ts` has a standby among them.
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
    // Statements under way may fail, and some after them.
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

  test("the one that was taken stays, although one before it is back", async () => {
    const first = await tcpProxy(Number(url.port));
    afterThisTest(first.stop);
    first.cut();
    const pool = await open(first.port, url.port);
    const endAll = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onair'";
    for (let round = 0; round < 3; round++) {
      expect(await pool.run("SELECT 1 AS one")).toEqual([{ one: 1 }]);
      first.release();
      // It is looked for again.
      await administer(url.href, `${endAll} AND datname = current_database()`);
      await until(async () => (await pool.run("SELECT 1").catch(() => [])).length === 1);
    }
    // No statement uses the first one.
    first.hold();
    expect(await pool.run("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test.skipIf(!hasOpenssl)(
    "a certificate that cannot be read while a primary is sought is the one of before",
    async () => {
      const { cert } = selfSigned(ownDirectory(), "root");
      const settings = { ...withPorts(await unusedPort(), url.port), sslRootCert: cert };
      const options = { connections: 1 };
      await driver(settings, options, 1_000).close();
      rmSync(cert);
      // The server may have no TLS, which it says then.
      const sought = await primaryOf(settings, { known: null }).catch((error: unknown) => error);
      expect(String(sought)).not.toContain("cannot be read");
      expect(() => driver({ ...settings, sslRootCert: `${cert}.other` }, options, 1_000)).toThrow("be read");
    },
  );

  test("none that can be reached is an error that says why of each", async () => {
    const [one, other] = [await unusedPort(), await unusedPort()];
    const opened = openPostgres(withPorts(one, other), { connections: 1 });
    await expect(opened).rejects.toThrow(
      new RegExp(
        `^The database ${url.hostname}:${one},${url.hostname}:${other}/.* cannot be reached: .*${one}: .+${other}: `,
      ),
    );
  });

  test("a wrong password is reported as that, and is not in the error", async () => {
    url.password = "hunter2";
    const opened = openPostgres(withPorts(await unusedPort(), url.port), { connections: 1 });
    const error = await opened.catch((error: unknown) => error);
    expect(String(error)).toContain("refuses the role");
    expect(String(error)).not.toContain("hunter2");
  });

  test("one that refuses the role while no other is a primary is a fault of the storage, not of the server", async () => {
    const role = `onair_${randomUUIDv7("hex").replaceAll("-", "")}`;
    const owner = url.href;
    await administer(owner, `CREATE ROLE ${role} LOGIN PASSWORD 'test'`);
    afterThisTest(() => administer(owner, `DROP ROLE ${role}`));
    Object.assign(url, { username: role, password: "test" });
    const pool = openPool(withPorts(await unusedPort(), url.port), { connections: 1 });
    afterThisTest(() => pool.close());
    const faults: string[] = [];
    const asked = () =>
      pool.run("SELECT 1 AS one").catch((error) => {
        throw explainedFault(error, (fault) => faults.push(fault));
      });
    expect(await asked()).toEqual([{ one: 1 }]);
    await administer(owner, `ALTER ROLE ${role} NOLOGIN`);
    await administer(
      owner,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`,
    );
    let refused: unknown;
    await until(async () => {
      refused = await asked().catch((error: unknown) => error);
      return refused instanceof Error && /not permitted/.test(String(refused.cause ?? refused));
    });
    expect(refused).toMatchObject({ code: "unavailable" });
    expect(new Set(faults)).toEqual(new Set(["unreachable"]));
  });
});
