import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contentsOf } from "../../scripts/release/contents.ts";
import { debianPackage } from "../../scripts/release/debian.ts";
import { targets } from "../../scripts/release/targets.ts";
import { afterTests } from "../support/after-tests.ts";
import { startDebian } from "../support/debian-machine.ts";
import { compiled } from "../support/process.ts";
import { adminKey } from "../support/server.ts";

const target = targets.find(({ npm: { os, cpu }, debian }) => {
  return debian !== undefined && os === process.platform && cpu === process.arch;
});
const executable = compiled[0] ?? "";
const architecture = target?.debian ?? "amd64";
const unit = readFileSync(join(import.meta.dir, "../../ops/onair.service"), "utf8");
const patienceMs = 300_000;

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

  /** Builds a package that differs only in its version. Returns its path there. */
  const written = async (version: string) => {
    const built = { executable: await Bun.file(executable).bytes(), packages: [] };
    const contents = await contentsOf(target, 1768406886, built);
    const { path, content } = await debianPackage({ ...contents, version }, architecture);
    await Bun.write(file(path), content);
    return `/${path}`;
  };

  test(
    "is installed: creates a user and a directory, and systemd starts the server",
    async () => {
      await must("dpkg", "--install", await written("0.1.0"));
      expect([await state("ActiveState"), await state("UnitFileState")]).toEqual(["active", "enabled"]);
      expect(await must("stat", "--format", "%U %G %a", "/var/lib/onair")).toBe("onair onair 700\n");
      expect(await must("getent", "passwd", "onair")).toMatch(/:\/var\/lib\/onair:\/usr\/sbin\/nologin$/m);
      expect(await must("onair", "version")).toMatch(/^onair /);
      expect(await must("zcat", "/usr/share/doc/onair/changelog.gz")).toStartWith("onair (0.1.0) unstable;");
      expect(await must("onair", "config", "check", "--config", "/etc/onair/onair.toml")).not.toBe("");
      expect(await must("onair", "doctor", "--config", "/etc/onair/onair.toml")).toContain(
        "Nothing is wrong.",
      );
      expect(await must("dpkg", "--verify", "onair")).toBe("");
    },
    patienceMs,
  );

  test(
    "is upgraded while it serves: acknowledged events arrive, and the operator's settings stay",
    async () => {
      await Bun.write(file("/etc/onair/admin-key"), adminKey);
      chmodSync(file("/etc/onair/admin-key"), 0o600); // owned by root: the server has a copy, as a credential
      const [load, use] = [
        "LoadCredential=admin-key:/etc/onair/admin-key",
        "Environment=ONAIR_ADMIN_KEY_FILE=%d/admin-key",
      ];
      for (const line of [load, use]) expect(unit).toContain(`#   ${line}\n`);
      await Bun.write(file("/etc/systemd/system/onair.service.d/key.conf"), `[Service]\n${load}\n${use}\n`);
      const settings = "allow-private-webhooks = true\n";
      await Bun.write(file("/etc/onair/onair.toml"), settings);
      await must("systemctl", "daemon-reload");
      await must("systemctl", "restart", "onair");
      const before = await state("MainPID");

      const program = join(import.meta.dir, "../support/steady-publisher.ts");
      const publisher = Bun.spawn([...machine.inItsNetwork, process.execPath, program, adminKey], {
        stdin: "pipe",
        stdout: "pipe",
      });
      const lines = linesOf(publisher.stdout);
      for (let count = 0; count < 20; count++) expect((await lines.next()).value).toMatch(/^acknowledged /);
      await must("dpkg", "--install", await written("0.2.0"));
      expect(await must("dpkg-query", "--show", "onair")).toBe("onair\t0.2.0\n");
      expect(await state("ActiveState")).toBe("active");
      expect(await state("MainPID")).not.toBe(before);
      for (let count = 0; count < 20; count++) expect((await lines.next()).value).toMatch(/^acknowledged /);
      publisher.stdin.end();
      let last = "";
      for await (const line of lines) last = line;
      expect(JSON.parse(last)).toMatchObject({ missing: [] });
      expect(JSON.parse(last).acknowledged).toBeGreaterThanOrEqual(40);
      expect(readFileSync(file("/etc/onair/onair.toml"), "utf8")).toBe(settings);
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
      await must("dpkg", "--install", `/onair_0.2.0_${architecture}.deb`);
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
      const output = await must("dpkg", "--purge", "onair");
      expect(output).toContain("The backups of onair are kept in /var/backups/onair;");
      const [backup = ""] = readdirSync(file("/var/backups/onair")).filter((name) => name.endsWith(".db"));
      for (const [path, mode] of [
        ["/var/backups/onair", 700],
        [`/var/backups/onair/${backup}`, 600],
      ])
        expect(await must("stat", "--format", "%U %G %a", String(path))).toBe(`root root ${mode}\n`);
      expect((await machine.run("systemctl", "is-active", "onair")).output).toBe("inactive\n");
      for (const path of ["/var/lib/onair", "/etc/onair/onair.toml", "/usr/share/doc/onair"])
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
