import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { targets } from "../../scripts/release/targets.ts";
import { buildOf } from "../../scripts/version.ts";
import { run } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";

const directory = testDirectory();
const { version, commit } = buildOf(join(import.meta.dir, "../.."));
const script = join(import.meta.dir, "../../scripts/release/release.ts");
const patienceMs = 300_000;

const release = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run(args, { command: [process.execPath, script], env: { HOME: process.env["HOME"] ?? "", ...env } });

/** The platform of this machine. */
const target = targets.find(({ npm: { os, cpu, libc } }) => {
  return os === process.platform && cpu === process.arch && libc !== "musl";
});

test.skipIf(target === undefined)(
  "a release is reproducible, has checksums, and contains the files that an operator needs",
  async () => {
    const env = { SOURCE_DATE_EPOCH: "1768406886" };
    const sums: string[] = [];
    for (const name of ["one", "two"]) {
      const out = join(directory, name);
      const made = await release(["--target", target?.name ?? "", "--out", out], env);
      expect([made.code, made.stderr]).toEqual([0, ""]);
      sums.push(await Bun.file(join(out, "SHA256SUMS")).text());
    }
    expect(sums[1]).toBe(sums[0]);
    expect(await Bun.$`cd ${join(directory, "one")} && sha256sum --check SHA256SUMS`.text()).not.toContain(
      "FAILED",
    );

    const name = `onair-${version}-${target?.name}`;
    await Bun.$`tar --extract --file ${join(directory, "one", `${name}.tar.gz`)}`.cwd(directory);
    const unpacked = join(directory, name);
    const files = readdirSync(unpacked, { recursive: true });
    for (const file of ["LICENSE", "THIRD-PARTY-NOTICES.txt", "sbom.cdx.json", "man/man1/onair-serve.1"])
      expect(files).toContain(file);
    const started = await run(["version"], { command: [join(unpacked, "onair")] });
    const build = commit === null ? version : `${version} (${commit})`;
    expect(started).toEqual({ code: 0, stdout: `onair ${build}\n`, stderr: "" });
    for (const [shell, file] of [
      ["bash", "onair.bash"],
      ["zsh", "_onair"],
      ["fish", "onair.fish"],
    ] as const) {
      const printed = await run(["completion", shell], { command: [join(unpacked, "onair")] });
      expect(await Bun.file(join(unpacked, "completions", file)).text()).toBe(printed.stdout);
    }
  },
  patienceMs,
);

test("wrong arguments are refused before anything is built", async () => {
  expect(await release(["--target", "amiga"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("There is no target amiga\nUsage: "),
  });
  expect(await release(["--fast"])).toMatchObject({ code: 2, stdout: "" });
  const taken = await release(["--out", import.meta.dir]);
  expect(taken).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has files that are not a release"),
  });
  const odd = await release(["--out", join(directory, "none")], { SOURCE_DATE_EPOCH: "yesterday" });
  expect(odd).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("set SOURCE_DATE_EPOCH"),
  });
});

test("--help lists what is built, and builds nothing", async () => {
  const { code, stdout, stderr } = await release(["--help", "--out", join(directory, "none")]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toStartWith("Usage: bun run release");
  for (const { name } of targets) expect(stdout).toContain(name);
  expect(readdirSync(directory)).not.toContain("none");
});
