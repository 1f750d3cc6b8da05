import { describe, expect, test } from "bun:test";
import { type Interleaving, interleave } from "../support/interleaving/interleave.ts";
import type { Target } from "../support/interleaving/world.ts";
import { fromSource, serve } from "../support/process.ts";
import { adminKey, startServer, temporaryDirectory } from "../support/server.ts";

/** `ONAIR_TEST_SEED=… bun test tests/http/interleaving.test.ts` makes the choices of that seed again. */
const seed = Number(process.env["ONAIR_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));

/** What is done unless a test says otherwise: 3 seconds at most. */
const usual: Interleaving = { seed, clients: 32, operations: 4_000, forMs: 3_000 };

async function expectConsistent(target: Target, how: Partial<Interleaving> = {}): Promise<void> {
  const { done, problems } = await interleave(target, { ...usual, ...how });
  expect({ seed, problems }).toEqual({ seed, problems: [] });
  // Everything was done, and enough of it.
  expect(Math.min(...Object.values(done))).toBeGreaterThan(5);
  console.log(
    done,
    Object.values(done).reduce((a, b) => a + b),
  );
}

describe("whoever reads while others write never sees a stale or mixed answer", () => {
  test("of a server in this process", async () => {
    const server = await startServer();
    try {
      const { publicUrl, adminUrl } = server.app;
      await expectConsistent({ publicUrls: [publicUrl], adminUrl, adminKey });
    } finally {
      await server.stop();
    }
  });

  test("of a server in a process of its own", async () => {
    const directory = temporaryDirectory();
    const args = ["--data", directory.path, "--rate-limit", "0", "--allow-private-webhooks"];
    const server = await serve(args, { command: fromSource });
    try {
      await expectConsistent({ publicUrls: [server.publicUrl], adminUrl: server.adminUrl, adminKey });
    } finally {
      await server.end("SIGTERM");
      directory.remove();
    }
  });
});
