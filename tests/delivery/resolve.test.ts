import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownDirectory } from "../support/server.ts";

const [servers, hostsFile] = ["/etc/resolv.conf", "/etc/hosts"];

/** In a mount namespace of its own, a program can have its own versions of these files. */
const probe = `mount --bind ${servers} ${servers} && mount --bind ${hostsFile} ${hostsFile}`;
const canUnshare =
  process.platform === "linux" &&
  Bun.spawnSync(["unshare", "--mount", "sh", "-c", probe], { stderr: "ignore" }).success;
if (!canUnshare) console.warn("SKIPPED: no mount namespace can be made here: NAME SERVERS ARE NOT TESTED.");

test.skipIf(!canUnshare)(
  "name servers that do not respond hold up neither other names nor files",
  async () => {
    const directory = ownDirectory();
    const [resolvConf, hosts] = [join(directory, "resolv.conf"), join(directory, "hosts")];
    for (const file of [resolvConf, hosts]) writeFileSync(file, "");
    const program = join(import.meta.dir, "fixtures", "silent-names.ts");
    const script =
      'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts && exec "$3" "$4" "$1" "$2"';
    const words = ["--mount", "sh", "-c", script, "sh", resolvConf, hosts, process.execPath, program];
    const child = Bun.spawn(["unshare", ...words], { stdout: "pipe", stderr: "inherit", timeout: 10_000 });
    expect(JSON.parse(await child.stdout.text())).toEqual({
      beside: ["93.184.216.34"],
      lines: 3,
      listed: ["192.0.2.7"],
      missing: "ENOTFOUND",
      refused: "ECONNREFUSED",
      changed: ["93.184.216.34"],
    });
  },
);
