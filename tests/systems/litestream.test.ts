import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterThisTest } from "../support/after-tests.ts";
import { inDatabase } from "../support/backups.ts";
import { client, ownProcess, type ServerProcess, serve } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const litestream = Bun.which("litestream");
if (!litestream) console.warn("SKIPPED: litestream is not installed: ops/litestream.yml is not tried.");

test.skipIf(!litestream)(
  "Litestream replicates a server that is restarted and killed; what it restores is whole",
  async () => {
    const directory = ownDirectory();
    const data = join(directory, "data");
    const restored = join(directory, "restored");
    const config = join(directory, "litestream.yml");
    // The same settings, with a directory in place of S3.
    const text = await Bun.file(join(import.meta.dir, "../../ops/litestream.yml")).text();
    const [head = ""] = text
      .replace("/var/lib/onair/onair.db", join(data, "onair.db"))
      .split("      type: s3");
    writeFileSync(
      config,
      `${head}      type: file\n      path: ${directory}/replica\n      sync-interval: 1s\n`,
    );
    const write = async (to: ServerProcess, from: number) => {
      for (let id = from; id < from + 20; id++) {
        const { status } = await client(to).admin("PUT", `/admin/v1/users/${id}`, { username: `user${id}` });
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
