/*
 * Runs tests with Bun, and ends them where none begins for some minutes: bun tests/support/in-time.ts 15 run test
 * Then it prints the file and the test of each process. Every single test has a limit of its own, unless it blocks its
 * thread.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [minutes, ...command] = process.argv.slice(2);
const limitMs = Number(minutes) * 60_000;
const directory = mkdtempSync(join(tmpdir(), "onair-running-"));
const child = Bun.spawn(
  [process.execPath, ...command, `--preload=${join(import.meta.dir, "running-tests.ts")}`],
  {
    env: { ...process.env, ONAIR_RUNNING_TESTS: directory },
    stdio: ["inherit", "inherit", "inherit"],
    // A group of its own, so that all of its processes are ended together.
    detached: true,
  },
);
const end = (signal: NodeJS.Signals) => process.kill(-child.pid, signal);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => end(signal));

const startedAt = Date.now();
const watch = setInterval(() => {
  const tests = readdirSync(directory).map((name) => join(directory, name));
  const begun = tests.map((file) => statSync(file).mtimeMs);
  if (Date.now() - Math.max(startedAt, ...begun) < limitMs) return;
  clearInterval(watch);
  console.error(`No test has begun for ${minutes} minutes. The last ones were:`);
  tests.forEach((file, i) => {
    console.error(
      `  ${readFileSync(file, "utf8")} (for ${Math.round((Date.now() - (begun[i] ?? 0)) / 1_000)} s)`,
    );
  });
  if (tests.length === 0) console.error("  none");
  // Bun names the files that are not over.
  end("SIGINT");
  setTimeout(() => end("SIGKILL"), 10_000).unref();
}, 1_000);

const code = await child.exited;
clearInterval(watch);
rmSync(directory, { recursive: true });
process.exit(code);
