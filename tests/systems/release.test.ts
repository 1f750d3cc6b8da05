import { expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sign } from "../../scripts/release/signature.ts";
import { targets } from "../../scripts/release/targets.ts";
import { buildOf } from "../../scripts/version.ts";
import { run } from "../support/process.ts";
import { ownDirectory, testDirectory } from "../support/server.ts";

const directory = testDirectory();
const { version, commit } = buildOf(join(import.meta.dir, "../.."));
const script = join(import.meta.dir, "../../scripts/release/release.ts");
const patienceMs = 300_000;
const hasSsh = Bun.which("ssh-keygen") !== null;
if (!hasSsh)
  console.warn(
    "\n*** No ssh-keygen here: tests of the signature of releases are SKIPPED. Install openssh-client. ***\n",
  );

const release = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run(args, { command: [process.execPath, script], env: { HOME: process.env["HOME"] ?? "", ...env } });

/** The platform of this machine. */
const target = targets.find(({ npm: { os, cpu, libc } }) => {
  return os === process.platform && cpu === process.arch && libc !== "musl";
});

const root = join(import.meta.dir, "../..");

/** Copies the checkout, with its changes and its history, to a directory, and installs its dependencies there. */
async function copyCheckout(directory: string): Promise<void> {
  await Bun.$`git clone --quiet --shared --no-checkout ${root} ${directory}`;
  await Bun.$`git checkout --quiet ${commitNow()}`.cwd(directory);
  const files = await Bun.$`git ls-files -z --cached --others --exclude-standard`.cwd(root).text();
  for (const file of files.split("\0").filter((name) => name !== "")) {
    rmSync(join(directory, file), { force: true });
    if (await Bun.file(join(root, file)).exists()) cpSync(join(root, file), join(directory, file));
  }
  await Bun.$`${process.execPath} install --frozen-lockfile --silent`.cwd(directory);
  await Bun.$`${process.execPath} scripts/api-types.ts`.cwd(directory);
}

const commitNow = () => Bun.spawnSync(["git", "rev-parse", "HEAD"], { cwd: root }).stdout.toString().trim();

test.skipIf(target === undefined || !hasSsh)(
  "a release is the same in another directory at another place and time, has signed checksums, and contains the files that an operator needs",
  async () => {
    const env = { SOURCE_DATE_EPOCH: "1768406886" };
    const sums: string[] = [];
    const directory = ownDirectory();
    const elsewhere = join(directory, "another checkout with a longer name");
    await copyCheckout(elsewhere);
    const key = join(directory, "key");
    await Bun.$`ssh-keygen -q -t ed25519 -N "" -C releaser -f ${key}`;
    for (const [name, checkout, more] of [
      ["one", root, {}],
      ["two", elsewhere, { TZ: "Pacific/Auckland", LC_ALL: "tr_TR.UTF-8", TMPDIR: mkdtemp("temporary") }],
    ] as const) {
      const out = join(directory, name);
      const command = [process.execPath, join(checkout, "scripts/release/release.ts")];
      const args = ["--target", target?.name ?? "", "--sign", key, "--out", out];
      const made = await run(args, {
        command,
        cwd: checkout,
        env: { HOME: process.env["HOME"] ?? "", ...env, ...more },
      });
      expect([made.code, made.stderr]).toEqual([0, ""]);
      sums.push(await Bun.file(join(out, "SHA256SUMS")).text());
    }
    expect(sums[1]).toBe(sums[0]);
    const files = readdirSync(join(directory, "one")).filter((name) => !name.startsWith("SHA256SUMS"));
    expect(files.length).toBeGreaterThan(3);
    expect(
      sums[0]
        ?.trim()
        .split("\n")
        .map((line) => line.slice(66)),
    ).toEqual(expect.arrayContaining(files));
    expect(await Bun.$`cd ${join(directory, "one")} && sha256sum --check SHA256SUMS`.text()).not.toContain(
      "FAILED",
    );

    const name = `onair-${version}-${target?.name}`;
    await Bun.$`tar --extract --file ${join(directory, "one", `${name}.tar.gz`)}`.cwd(directory);
    const unpacked = join(directory, name);
    const unpackedFiles = readdirSync(unpacked, { recursive: true });
    for (const file of ["LICENSE", "THIRD-PARTY-NOTICES.txt", "sbom.cdx.json", "man/man1/onair-serve.1"])
      expect(unpackedFiles).toContain(file);
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

const mkdtemp = (name: string) => mkdtempSync(join(directory, `${name}-`));

/** Verifies the signature of a directory as docs/installing.md says. Returns whether it is good. */
async function isVerified(signed: string, signers: string): Promise<boolean> {
  const [command = ""] =
    /ssh-keygen -Y verify [^\n]*/.exec(await Bun.file(join(root, "docs/installing.md")).text()) ?? [];
  const { exitCode } = Bun.spawnSync(["sh", "-c", command.replace("allowed_signers", `'${signers}'`)], {
    cwd: signed,
  });
  return exitCode === 0;
}

test.skipIf(!hasSsh)(
  "the signature of checksums verifies with the releaser's key alone, and for these checksums alone",
  async () => {
    const keys = mkdtemp("keys");
    const [own, other] = [join(keys, "own"), join(keys, "other")];
    for (const key of [own, other]) await Bun.$`ssh-keygen -q -t ed25519 -N "" -C ${key} -f ${key}`;
    const signers = async (key: string) => {
      const file = `${key}.signers`;
      await Bun.write(file, `releases@onair ${await Bun.file(`${key}.pub`).text()}`);
      return file;
    };
    const signed = mkdtemp("signed");
    writeFileSync(join(signed, "SHA256SUMS"), "0123  onair.tar.gz\n");
    await sign(join(signed, "SHA256SUMS"), own);
    expect(await isVerified(signed, await signers(own))).toBe(true);
    expect(await isVerified(signed, await signers(other))).toBe(false);
    // No key at all, as in ops/allowed_signers before the first one is added.
    expect(await isVerified(signed, join(root, "ops/allowed_signers"))).toBe(false);
    writeFileSync(join(signed, "SHA256SUMS"), "0124  onair.tar.gz\n");
    expect(await isVerified(signed, await signers(own))).toBe(false);
    // A signature that the key made for another purpose.
    writeFileSync(join(signed, "SHA256SUMS"), "0123  onair.tar.gz\n");
    rmSync(join(signed, "SHA256SUMS.sig"));
    await Bun.$`ssh-keygen -Y sign -n file -f ${own} SHA256SUMS`.cwd(signed).quiet();
    expect(await isVerified(signed, await signers(own))).toBe(false);
  },
);

test.skipIf(!hasSsh)(
  "a tag that package.json contradicts, and a key that cannot sign, are refused before anything is built",
  async () => {
    const checkout = mkdtemp("tagged");
    const author = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    const named = [...author, "-c", "tag.gpgsign=false", "-c", "commit.gpgsign=false"];
    await Bun.$`git clone --quiet --shared ${root} ${checkout}`;
    symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
    const tagged = (args: readonly string[]) =>
      run([...args, "--out", join(directory, "none")], {
        command: [process.execPath, join(checkout, "scripts/release/release.ts")],
      });
    expect(await tagged(["--sign", join(directory, "no-key")])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("no-key signs nothing"),
    });
    // A commit of its own, as this one may have a tag.
    await Bun.$`git ${named} commit --quiet --allow-empty --message release`.cwd(checkout);
    await Bun.$`git ${named} tag v99.0.0`.cwd(checkout);
    expect(await tagged([])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("The tag is v99.0.0, but package.json has the version"),
    });
    expect(readdirSync(directory)).not.toContain("none");
  },
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
