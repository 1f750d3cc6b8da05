import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../src/domain/ids.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { inDatabase } from "../support/backups.ts";
import { ownProcess, type ServerProcess, serve } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const litestream = Bun.which("litestream");
if (!litestream) console.warn("SKIPPED: litestream is not installed: ops/litestream.yml is not tried.");

/** `http://HOST:PORT/BUCKET` of S3-compatible storage, with the credentials in AWS's variables. */
const s3 = process.env["ONAIR_TEST_S3"];

/** The settings of `ops/litestream.yml` for another destination. */
const settingsOf: Readonly<Record<string, (text: string, directory: string) => string>> = {
  "a directory": (text, directory) => {
    const [head = ""] = text.split("      type: s3");
    return `${head}      type: file\n      path: ${directory}/replica\n      sync-interval: 1s\n`;
  },
  ...(s3 !== undefined && {
    S3: (text) =>
      text
        .replace("my-bucket", new URL(s3).pathname.slice(1))
        .replace("onair-litestream", `onair-test-${newId()}`)
        .replace("# endpoint: https://s3.example.com", `endpoint: ${new URL(s3).origin}`),
  }),
};

test.skipIf(!litestream).each(Object.entries(settingsOf))(
  "to %s, Litestream replicates a server that is restarted and killed, and restores a complete database",
  async (_, settings) => {
    const directory = ownDirectory();
    const data = join(directory, "data");
    const restored = join(directory, "restored");
    const config = join(directory, "litestream.yml");
    const text = await Bun.file(join(import.meta.dir, "../../ops/litestream.yml")).text();
    writeFileSync(
      config,
      settings(text.replace("/var/lib/onair/onair.db", join(data, "onair.db")), directory),
    );
    const write = async (to: ServerProcess, from: number) => {
      for (let id = from; id < from + 20; id++) {
        const { status } = await to.admin("PUT", `/admin/v1/users/${id}`, { username: `user${id}` });
        expect(status).toBe(200);
      }
    };
    const first = await serve(["--data", data]);
    const replicating = Bun.spawn([litestream ?? "", "replicate", "-config", config], {
      stdout: "ignore",
      stderr: "ignore",
    });
    afterThisTest(async () => {
      replicating.kill("SIGKILL");
      await replicating.exited;
    });
    await write(first, 1);
    await first.end("SIGTERM");
    const second = await ownProcess(["--data", data]);
    await write(second, 101);
    await second.end("SIGKILL");
    await until(async () => {
      rmSync(restored, { recursive: true, force: true });
      mkdirSync(restored);
      const file = join(restored, "onair.db");
      const command = [litestream ?? "", "restore", "-config", config, "-o", file, join(data, "onair.db")];
      if (Bun.spawnSync(command).exitCode !== 0) return false;
      const count = (db: Database) => db.query<{ n: number }, []>("SELECT count(*) AS n FROM users").get()?.n;
      return inDatabase(file, count) === 40;
    });
    const third = await ownProcess(["--data", restored, "--hold-deliveries"]);
    expect((await fetch(`${third.adminUrl}/readyz`)).status).toBe(200);
  },
);
