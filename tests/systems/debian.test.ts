import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildExecutable } from "../../scripts/executable.ts";
import { contentsOf } from "../../scripts/release/contents.ts";
import { debianPackage, debianVersion } from "../../scripts/release/debian.ts";
import { targets } from "../../scripts/release/targets.ts";
import { afterTests } from "../support/after-tests.ts";
import { startDebian } from "../support/debian-machine.ts";
import { compiled } from "../support/process.ts";
import { adminKey, testDirectory } from "../support/server.ts";

const target = targets.find(({ npm: { os, cpu }, debian }) => {
  return debian !== undefined && os === process.platform && cpu === process.arch;
});
const executable = compiled[0] ?? "";
const architecture = target?.debian ?? "amd64";
const unit = readFileSync(join(import.meta.dir, "../../ops/onair.service"), "utf8");
const patienceMs = 600_000;
/** The commands of the page about backups for a server under systemd. */
const page = readFileSync(join(import.meta.dir, "../../docs/backups.md"), "utf8");
/** The command of the page about upgrades that installs the package of the version before. */
const upgrading = readFileSync(join(import.meta.dir, "../../docs/upgrading.md"), "utf8");
const goingBack =
  /^(apt-get install --allow-downgrades) \.\/onair_\S+\.deb/m.exec(upgrading)?.[1]?.split(" ") ?? [];
const restoring = (/^systemctl stop onair\n[\s\S]*?^systemctl start onair\n/m.exec(page)?.[0] ?? "")
  .trim()
  .split("\n");

const started =
  target === undefined || !existsSync(executable)
    ? "there is no executable for Debian: bun run build"
    : await startDebian();
if (typeof started === "string") console.warn(`SKIPPED: tests of the package for Debian: ${started}`);
else afterTests(started.stop);

describe.skipIf(typeof started === "string")("the package, on a clean Debian with systemd", () => {
  if (typeof started === "string" || target === undefined) return;
  const machine = started;
  const file = (path: string) => machine.path(path);

  /** Runs a command there. Throws if it fails. */
  const must = async (...command: readonly string[]): Promise<string> => {
    const { code, output } = await machine.run(...command);
    expect([command.join(" "), code, output]).toEqual([command.join(" "), 0, output]);
    return output;
  };
  const state = async (property: string) =>
    (await must("systemctl", "show", "--value", "--property", property, "onair")).trim();

  const versionOf = async (program: string): Promise<string> =>
    (await Bun.$`${program} version --json`.json()).version;

  /** Builds the package of an executable, compressed in a hurry. Returns its path there. */
  const packaged = async (program: string) => {
    const version = await versionOf(program);
    const built = { version, executable: await Bun.file(program).bytes(), packages: [] };
    const contents = await contentsOf(target, 1768406886, built);
    const { path, content } = await debianPackage(contents, architecture, 1);
    await Bun.write(file(path), content);
    return `/${path}`;
  };
  let ofThisBuild: ReturnType<typeof packaged> | undefined;
  const packageOfThisBuild = () => {
    ofThisBuild ??= packaged(executable);
    return ofThisBuild;
  };
  const newer = join(testDirectory(), "onair");
  const newerVersion = "99.0.0+1.g0123456";

  /** Installs a package; there is no network. */
  const install = (path: string) => must("apt-get", "install", "--yes", path);
  const restart = async (settings: string) => {
    await Bun.write(file("/etc/onair/onair.toml"), settings);
    return machine.run("systemctl", "restart", "onair");
  };
  const data = 'data = "/var/lib/onair"\n';
  const usable = `${data}allow-private-webhooks = true\n`;

  test(
    "is installed: creates a user and a directory, and systemd starts the server",
    async () => {
      const version = debianVersion(await versionOf(executable));
      await install(await packageOfThisBuild());
      expect([await state("ActiveState"), await state("UnitFileState")]).toEqual(["active", "enabled"]);
      expect(await must("stat", "--format", "%U %G %a", "/var/lib/onair")).toBe("onair onair 700\n");
      expect(await must("getent", "passwd", "onair")).toMatch(/:\/var\/lib\/onair:\/usr\/sbin\/nologin$/m);
      expect(await must("onair", "version")).toMatch(/^onair /);
      expect(await must("zcat", "/usr/share/doc/onair/changelog.gz")).toStartWith(
        `onair (${version}) unstable;`,
      );
      expect(await must("onair", "config", "check", "--config", "/etc/onair/onair.toml")).not.toBe("");
      expect(await must("onair", "doctor", "--config", "/etc/onair/onair.toml")).toContain(
        "Nothing is wrong.",
      );
      expect(await must("dpkg", "--verify", "onair")).toBe("");
    },
    patienceMs,
  );

  test(
    "is upgraded while it serves, and back: acknowledged events arrive, also those pending meanwhile, and the operator's settings stay",
    async () => {
      await Bun.write(file("/etc/onair/admin-key"), adminKey);
      chmodSync(file("/etc/onair/admin-key"), 0o600); // owned by root: the server has a copy, as a credential
      const [load, use] = [
        "LoadCredential=admin-key:/etc/onair/admin-key",
        "Environment=ONAIR_ADMIN_KEY_FILE=%d/admin-key",
      ];
      for (const line of [load, use]) expect(unit).toContain(`#   ${line}\n`);
      await Bun.write(file("/etc/systemd/system/onair.service.d/key.conf"), `[Service]\n${load}\n${use}\n`);
      await must("systemctl", "daemon-reload");
      expect((await restart(usable)).code).toBe(0);
      const before = await state("MainPID");

      const program = join(import.meta.dir, "fixtures/steady-publisher.ts");
      const publisher = Bun.spawn([...machine.inItsNetwork, process.execPath, program, adminKey], {
        stdin: "pipe",
        stdout: "pipe",
      });
      const lines = linesOf(publisher.stdout);
      for (let count = 0; count < 20; count++) expect((await lines.next()).value).toMatch(/^acknowledged /);
      await buildExecutable(newer, undefined, { version: newerVersion, commit: null });
      const former = await versionOf(executable);
      const [older, later] = [await packageOfThisBuild(), await packaged(newer)];
      const processes = [before];
      for (const [version, ...command] of [
        [newerVersion, "apt-get", "install", "--yes", later],
        [former, ...goingBack, "--yes", older],
        [newerVersion, "apt-get", "install", "--yes", later],
      ] as const) {
        await must(...command);
        expect(await must("dpkg-query", "--show", "onair")).toBe(`onair\t${debianVersion(version)}\n`);
        // The settings do not start it again with another executable.
        const starts = (await must("journalctl", "--unit", "onair", "--output", "cat")).match(
          /^.*"starting".*$/gm,
        );
        expect(JSON.parse(starts?.at(-1) ?? "{}")).toMatchObject({ version });
        expect(await state("ActiveState")).toBe("active");
        expect(processes).not.toContain(await state("MainPID"));
        processes.push(await state("MainPID"));
        for (let count = 0; count < 20; count++) expect((await lines.next()).value).toMatch(/^acknowledged /);
      }
      publisher.stdin.end();
      let last = "";
      for await (const line of lines) last = line;
      expect(JSON.parse(last)).toMatchObject({ wereEarly: 0, missing: [] });
      expect(JSON.parse(last).acknowledged).toBeGreaterThanOrEqual(80);
      expect(readFileSync(file("/etc/onair/onair.toml"), "utf8")).toBe(usable);
    },
    patienceMs,
  );

  test(
    "settings with mistakes end the server, which is not started again and again",
    async () => {
      expect((await restart(`${usable}prot = 1\n`)).code).not.toBe(0);
      expect([await state("ActiveState"), await state("NRestarts")]).toEqual(["failed", "0"]);
    },
    patienceMs,
  );

  test(
    "log-file works in /var/log/onair, and data names the directory",
    async () => {
      const settings = `log-file = "/var/log/onair/onair.log"\ndata = "/var/lib/onair/other"\n`;
      expect((await restart(settings)).code).toBe(0);
      expect(await must("stat", "--format", "%U %a", "/var/log/onair/onair.log")).toBe("onair 600\n");
      expect(existsSync(file("/var/lib/onair/other/onair.db"))).toBe(true);
    },
    patienceMs,
  );

  test(
    "a backup is restored for the unit as docs/backups.md describes it",
    async () => {
      expect((await restart(usable)).code).toBe(0);
      const key = `ONAIR_ADMIN_KEY=${adminKey}`;
      const url = ["--url", "http://127.0.0.1:8081"];
      // Only root can read it.
      await must("env", key, "onair", "backup", "/root/onair.db", ...url);
      for (const command of restoring) await must("sh", "-ec", command.replace("/mnt/other", "/root"));
      expect(await must("stat", "--format", "%U %G %a", "/var/lib/onair/onair.db")).toBe("onair onair 600\n");
      expect(await must("env", key, "onair", "apps", "list", ...url)).toContain("Bot");
      await must("env", key, "onair", "deliveries", "release", ...url);
    },
    patienceMs,
  );

  test(
    "is removed: the server stops, and settings and data stay",
    async () => {
      await must("dpkg", "--remove", "onair");
      expect((await machine.run("systemctl", "is-active", "onair")).output).toBe("inactive\n");
      expect(existsSync(file("/usr/bin/onair"))).toBe(false);
      expect(existsSync(file("/usr/lib/systemd/system/onair.service"))).toBe(false);
      expect(existsSync(file("/etc/onair/onair.toml"))).toBe(true);
      expect(existsSync(file("/var/lib/onair/onair.db"))).toBe(true);
    },
    patienceMs,
  );

  test(
    "is installed again: serves the data that stayed",
    async () => {
      await install(`/onair_${newerVersion}_${architecture}.deb`);
      expect(await state("ActiveState")).toBe("active");
      const apps = await must(
        "env",
        `ONAIR_ADMIN_KEY=${adminKey}`,
        "onair",
        "apps",
        "list",
        "--url",
        "http://127.0.0.1:8081",
      );
      expect(apps).toContain("Bot");
    },
    patienceMs,
  );

  test(
    "is purged: settings, data and user are removed; backups and a file of the operator stay",
    async () => {
      const key = `ONAIR_ADMIN_KEY=${adminKey}`;
      await must("env", key, "onair", "backup", "--url", "http://127.0.0.1:8081");
      await must("mount", "--bind", "/var/lib/onair", "/var/lib/onair");
      const output = await must("dpkg", "--purge", "onair");
      expect(output).toContain("/var/lib/onair stays: it is a mount");
      expect(readdirSync(file("/var/lib/onair"))).toEqual([]);
      await must("umount", "/var/lib/onair");
      expect(output).toContain("The backups of onair are kept in /var/backups/onair;");
      const [backup = ""] = readdirSync(file("/var/backups/onair")).filter((name) => name.endsWith(".db"));
      for (const [path, mode] of [
        ["/var/backups/onair", 700],
        [`/var/backups/onair/${backup}`, 600],
      ])
        expect(await must("stat", "--format", "%U %G %a", String(path))).toBe(`root root ${mode}\n`);
      expect((await machine.run("systemctl", "is-active", "onair")).output).toBe("inactive\n");
      for (const path of ["/var/log/onair", "/etc/onair/onair.toml", "/usr/share/doc/onair"])
        expect([path, existsSync(file(path))]).toEqual([path, false]);
      expect(existsSync(file("/etc/systemd/system/multi-user.target.wants/onair.service"))).toBe(false);
      expect((await machine.run("getent", "passwd", "onair")).output).toBe("");
      expect(existsSync(file("/etc/onair/admin-key"))).toBe(true);
    },
    patienceMs,
  );
});

/** Reads a stream line by line. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    const parts = (text + decoder.decode(bytes, { stream: true })).split("\n");
    text = parts.pop() ?? "";
    yield* parts;
  }
  return undefined;
}
