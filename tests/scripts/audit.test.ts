import { expect, test } from "bun:test";
import { join } from "node:path";
import { ownListener } from "../support/listener.ts";

const script = join(import.meta.dir, "../../scripts/supply/audit.ts");

const advisory = (severity: string) => ({
  id: 1,
  title: "Reads the files of others",
  severity,
  url: "https://github.com/advisories/GHSA-0000-0000-0000",
  vulnerable_versions: "*",
});

/** Runs the audit against a registry that answers so. */
async function audited(
  answer: (asked: Request) => Response | Promise<Response>,
): Promise<{ code: number; output: string }> {
  const registry = ownListener(answer);
  const audit = Bun.spawn([process.execPath, script], {
    env: { ...process.env, NPM_CONFIG_REGISTRY: registry.url, BUN_CONFIG_REGISTRY: registry.url },
    cwd: join(import.meta.dir, "../.."),
    stdout: "pipe",
    stderr: "inherit",
  });
  const [output, code] = await Promise.all([audit.stdout.text(), audit.exited]);
  return { code, output };
}

test.each([
  ["nothing is known", {}, 0, "0 known vulnerabilities"],
  [
    "a high one is in the executable",
    { elysia: [advisory("high")] },
    1,
    "FAILED  elysia (in the executable)",
  ],
  [
    "a critical one is in what a dependency needs",
    { "fast-uri": [advisory("critical")] },
    1,
    "FAILED  fast-uri",
  ],
  ["one inside Scalar's script is high", { vue: [advisory("high")] }, 1, "FAILED  vue"],
  ["a moderate one is in the executable", { elysia: [advisory("moderate")] }, 0, "noted   elysia"],
  ["only development needs it", { express: [advisory("high")] }, 0, "noted   express (for development only)"],
])("where %s, the audit says so", async (_, report: Record<string, object[]>, code, said) => {
  // As the registry: an advisory is shown to whoever asks for that package.
  const found = await audited(async (asked) => {
    const names = Object.keys(await readAsked(asked));
    return Response.json(Object.fromEntries(Object.entries(report).filter(([name]) => names.includes(name))));
  });
  expect(found.output).toContain(said);
  expect(found.code).toBe(code);
});

async function readAsked(asked: Request): Promise<object> {
  const bytes = new Uint8Array(await asked.arrayBuffer());
  const isGzip = asked.headers.get("content-encoding") === "gzip";
  return JSON.parse(new TextDecoder().decode(isGzip ? Bun.gunzipSync(bytes) : bytes));
}

test.each([
  ["refuses", () => new Response("no", { status: 405 })],
  ["answers with something else", () => new Response("<html>")],
  ["answers with an error that has status 200", () => Response.json({ error: "not supported" })],
])("where the registry %s, the audit says that nothing was checked, and does not fail", async (_, answer) => {
  const found = await audited(answer);
  expect(found.output).toContain("NOT CHECKED for known vulnerabilities");
  expect(found.code).toBe(0);
});
