import { expect, test } from "bun:test";
import { join } from "node:path";
import { selfSigned } from "../support/certificates.ts";
import { testDirectory } from "../support/server.ts";

const setting = "/proc/sys/net/ipv4/tcp_migrate_req";
const directory = testDirectory();
const names = ["former", "next"].map((name) => {
  selfSigned(directory, name);
  return join(directory, name);
});

/**
 * The outcomes of open connections at a renewal, in a network namespace with this value of the setting; null if there
 * can be none.
 */
function outcomes(value: number): unknown {
  const program = join(import.meta.dir, "fixtures/half-open.ts");
  const script = `ip link set lo up && echo ${value} >${setting} && exec "$@"`;
  const words = ["unshare", "--net", "sh", "-c", script, "sh", process.execPath, program, ...names];
  if (Bun.which("unshare") === null || Bun.which("ip") === null) return null;
  const { success, stdout } = Bun.spawnSync(words, { stderr: "ignore" });
  return success ? JSON.parse(stdout.toString()) : null;
}

const migrated = outcomes(1);
if (migrated === null)
  console.warn(`SKIPPED: a renewal with ${setting}: it takes root, Linux 5.14 and openssl`);

test.skipIf(migrated === null)(
  "connections opened while a certificate is renewed are reset, unless the kernel hands them over",
  () => {
    expect(outcomes(0)).toEqual({ reset: 8 });
    expect(migrated).toEqual({ next: 8 });
  },
);
