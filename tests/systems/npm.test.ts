import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Entry, tarGz } from "../../scripts/release/archive.ts";
import { contentsOf } from "../../scripts/release/contents.ts";
import { executableForNpm, packageForNpm } from "../../scripts/release/npm.ts";
import { type Target, targets } from "../../scripts/release/targets.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { testListener } from "../support/listener.ts";
import { compiled, run } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/** At the top of a file: a registry on loopback that has these packages (`.tgz`) and no others. Gives its address. */
async function npmRegistry(packages: readonly Uint8Array[]): Promise<string> {
  const versions = new Map<string, object>();
  const bytesOf = new Map<string, Uint8Array<ArrayBuffer>>();
  const { url } = testListener((request) => {
    const path = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const bytes = bytesOf.get(path);
    if (bytes) return new Response(bytes);
    const found = versions.get(path);
    return found ? Response.json(found) : Response.json({ error: "Not found" }, { status: 404 });
  });
  for (const content of packages) {
    const bytes = new Uint8Array(content);
    const manifest = await manifestIn(bytes);
    const { name, version } = manifest;
    const integrity = `sha512-${Bun.SHA512.hash(bytes, "base64")}`;
    const dist = { tarball: `${url}/-/${name}.tgz`, integrity };
    versions.set(name, {
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
    });
    bytesOf.set(`-/${name}.tgz`, bytes);
  }
  return `${url}/`;
}

async function manifestIn(bytes: Uint8Array): Promise<{ name: string; version: string }> {
  const child = Bun.spawn(["tar", "--extract", "--gzip", "--to-stdout", "package/package.json"], {
    stdin: bytes,
    stdout: "pipe",
  });
  return child.stdout.json();
}

const root = join(import.meta.dir, "../..");
const executable = compiled[0] ?? "";
const target = targets.find(({ npm: { os, cpu, libc } }) => {
  return os === process.platform && cpu === process.arch && libc !== "musl";
});
const tools = ["node", "npm", "npx", "sh"];
const isPossible = target !== undefined && existsSync(executable) && tools.every((tool) => Bun.which(tool));
if (!isPossible)
  console.warn("SKIPPED: tests of the packages for npm, which need Node, npm, and dist/onair: bun run build");
const patienceMs = 300_000;

const directory = testDirectory();
const bin = join(directory, "bin");
/** The version of the executable. */
const version = isPossible ? (await Bun.$`${executable} version --json`.json()).version : "";
const registry = isPossible && target !== undefined ? await registryWith(target) : "";

/** A registry with the packages and the dependencies of the client's declarations. */
async function registryWith(target: Target): Promise<string> {
  mkdirSync(bin);
  for (const tool of tools) symlinkSync(realpathSync(Bun.which(tool) ?? ""), join(bin, tool));
  const time = 1768406886;
  const executableBytes = await Bun.file(executable).bytes();
  const contents = await contentsOf(target, time, { version, executable: executableBytes, packages: [] });
  const made = [await packageForNpm(version, time), executableForNpm(contents)];
  const needed = await Promise.all(["openapi-fetch", "openapi-typescript-helpers"].map(installed));
  return npmRegistry([...made, ...needed].map(({ content }) => content as Uint8Array));
}

/** The archive of an installed package. */
async function installed(name: string): Promise<Entry> {
  const place = join(root, "node_modules", name);
  const files = [...new Bun.Glob("**/*").scanSync(place)];
  const entries = await Promise.all(
    files.map(async (path) => ({
      path: `package/${path}`,
      content: await Bun.file(join(place, path)).bytes(),
    })),
  );
  return { path: name, content: tarGz(entries, 0) };
}

describe.skipIf(!isPossible)("the packages for npm, without Bun in PATH", () => {
  const env = {
    PATH: bin,
    HOME: directory,
    npm_config_registry: registry,
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
  const own = (name: string) => mkdtempSync(join(directory, `${name}-`));

  test(
    "npx onair runs the executable and returns its exit code",
    async () => {
      const cwd = own("commands");
      const npx = (...args: string[]) =>
        run(["--yes", "onair", ...args], { command: [join(bin, "npx")], cwd, env });
      expect(await npx("version")).toEqual({
        code: 0,
        stdout: expect.stringContaining(`onair ${version}`),
        stderr: "",
      });
      expect(await npx("fly")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no command "fly"'),
      });
    },
    patienceMs,
  );

  /** Starts `onair dev` by this command, in its own process group, and requests a sample user. */
  async function dev(cwd: string, ...words: readonly string[]) {
    const command = [...words, "dev", "--json", "--port", "0", "--admin-port", "0"];
    const { child, public_url, access_token } = await started(command, { cwd, env });
    const headers = { authorization: `Bearer ${access_token}` };
    const user = () => fetch(`${public_url}/public/v1/users/lunabytes`, { headers });
    expect((await user()).status).toBe(200);
    expect(existsSync(join(cwd, ".onair/onair.db"))).toBe(true);
    return { child, user };
  }

  test(
    "npx onair dev runs a platform, which Ctrl-C ends",
    async () => {
      const { child, user } = await dev(own("dev"), join(bin, "npx"), "--yes", "onair");
      process.kill(-child.pid, "SIGINT"); // a terminal sends it to all processes
      await gone(user);
    },
    patienceMs,
  );

  // npx ignores SIGINT and does not pass it on, because a terminal sends it to all processes.
  test.each(["SIGTERM", "SIGKILL"] as const)(
    "the platform ends when only npx receives %s",
    async (signal) => {
      const { child, user } = await dev(own(`alone-${signal}`), join(bin, "npx"), "--yes", "onair");
      child.kill(signal);
      await gone(user);
    },
    patienceMs,
  );

  test(
    "the installed package has onair/client with its types, and passes signals on",
    async () => {
      const cwd = own("project");
      await Bun.write(join(cwd, "package.json"), '{"type":"module"}');
      const npm = await run(["install", "onair"], { command: [join(bin, "npm")], cwd, env });
      expect(npm).toMatchObject({ code: 0, stderr: "" });
      const program = `import { createClient } from "onair/client"; console.log(typeof createClient);\n`;
      await Bun.write(join(cwd, "bot.mjs"), program);
      const node = await run(["bot.mjs"], { command: [join(bin, "node")], cwd, env });
      expect(node).toEqual({ code: 0, stdout: "function\n", stderr: "" });

      const typed = `import { type Client, createClient } from "onair/client";
const client: Client = createClient({ url: "http://127.0.0.1:8080", token: "x" });
export const wrong: number = createClient;
`;
      await Bun.write(join(cwd, "bot.mts"), typed);
      const options = ["--noEmit", "--ignoreConfig", "--strict", "--skipLibCheck", "--module", "nodenext"];
      const tsc = await run([...options, "--lib", "esnext,dom", "bot.mts"], {
        command: [join(root, "node_modules/.bin/tsc")],
        cwd,
      });
      // The types are found, and this is the only mistake.
      expect(tsc.stdout.match(/error TS\d+/g)).toEqual(["error TS2322"]);

      const { child, user } = await dev(cwd, join(cwd, "node_modules/.bin/onair"));
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
      await gone(user);
    },
    patienceMs,
  );

  test(
    "without the package of the executable, the error says what to do",
    async () => {
      const cwd = own("without");
      const npm = await run(["install", "--omit=optional", "onair"], {
        command: [join(bin, "npm")],
        cwd,
        env,
      });
      expect(npm).toMatchObject({ code: 0 });
      rmSync(join(cwd, "node_modules/@onair"), { recursive: true, force: true });
      const started = await run(["version"], { command: [join(cwd, "node_modules/.bin/onair")], cwd, env });
      expect(started).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("without --omit=optional"),
      });
    },
    patienceMs,
  );
});

test.skipIf(!Bun.which("npm")).each([
  ["SIGTERM to npm alone", (npm: number) => process.kill(npm, "SIGTERM")],
  ["a Ctrl-C, SIGINT to the process group,", (npm: number) => process.kill(-npm, "SIGINT")],
])(
  "%s ends what npm runs by `bun run dev` in the checkout",
  async (name, end) => {
    const options = ["--json", "--no-events", "--port", "0", "--admin-port", "0"];
    const data = join(directory, `checkout-${name.replaceAll(/\W+/g, "-")}`);
    const call = [process.execPath, "run", "dev", ...options, "--data", data].join(" ");
    const { child, public_url } = await started(["npm", "exec", "--offline", "--call", call], { cwd: root });
    const ask = () => fetch(`${public_url}/openapi.json`);
    expect((await ask()).status).toBe(200);
    end(child.pid);
    await gone(ask);
  },
  patienceMs,
);

/**
 * Runs a command that prints the addresses of `onair dev` as JSON, in its own process group, which ends with the test.
 */
async function started(
  command: string[],
  options: { cwd: string; env?: Record<string, string | undefined> },
) {
  const child = Bun.spawn(command, {
    ...options,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    detached: true,
  });
  afterThisTest(() => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // All of its processes have ended.
    }
  });
  const reader = child.stdout.getReader();
  let text = "";
  while (!/^\{.*\n/m.test(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`${command.join(" ")} ended before it was ready: ${text}`);
    text += new TextDecoder().decode(value);
  }
  const line: { public_url: string; access_token: string } = JSON.parse(/^\{.*$/m.exec(text)?.[0] ?? "");
  return { child, ...line };
}

/** Resolves when the server no longer answers. */
function gone(ask: () => Promise<unknown>): Promise<void> {
  return until(() =>
    ask().then(
      () => false,
      () => true,
    ),
  );
}
