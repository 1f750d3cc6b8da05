import { expect, test } from "bun:test";
import { join } from "node:path";
import { testDirectory } from "./server.ts";

const directory = testDirectory();

test("a run whose tests do not go on ends, and names the test that blocks its thread", async () => {
  const blocking = 'test.each([[1]])("blocks %d", () => { for (;;) Bun.sleepSync(50); });';
  await Bun.write(join(directory, "a.test.ts"), `import { test } from "bun:test"; ${blocking}`);
  await Bun.write(
    join(directory, "b.test.ts"),
    'import { test } from "bun:test"; test("is over", () => {});',
  );
  const inTime = Bun.spawn(
    [process.execPath, join(import.meta.dir, "in-time.ts"), "0.05", "test", "--parallel=2", "--no-isolate"],
    { cwd: directory, stdout: "ignore", stderr: "pipe" },
  );
  const said = await inTime.stderr.text();
  expect(await inTime.exited).toBe(130);
  expect(said).toMatch(/No test has begun for 0.05 minutes.*a\.test\.ts: blocks %d \(for \d+ s\)/s);
});
