import { expect, test } from "bun:test";
import { join } from "node:path";
import allowed from "../../scripts/supply/allowed-licences.json";
import { bundledPackages } from "../../scripts/supply/bundled.ts";
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

test.each<[string, object, number, string[]]>([
  ["nothing is known", {}, 0, ["0 known vulnerabilities"]],
  [
    "a high one is in the executable, and a critical one in what a dependency needs",
    { elysia: [advisory("high")], "fast-uri": [advisory("critical")] },
    1,
    ["FAILED  elysia (in the executable)", "FAILED  fast-uri"],
  ],
  [
    "a moderate one is in the executable, and a high one where only development needs it",
    { elysia: [advisory("moderate")], express: [advisory("high")] },
    0,
    ["noted   elysia", "noted   express (for development only)"],
  ],
])("where %s, the audit says so", async (_, report, code, said) => {
  // As the registry: an advisory is shown to whoever asks for that package.
  const found = await audited(async (asked) => {
    const names = Object.keys(await readAsked(asked));
    return Response.json(Object.fromEntries(Object.entries(report).filter(([name]) => names.includes(name))));
  });
  for (const sentence of said) expect(found.output).toContain(sentence);
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

/** Whether an expression of SPDX can be met by the allowed licences alone. */
function isAllowed(expression: string): boolean {
  const text = expression.trim().replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(text)) return false; // deeper ones are judged by eye
  return text.split(" OR ").some((choice) => choice.split(" AND ").every((name) => allowed.includes(name)));
}

test.each([
  ["MIT", true],
  ["(MIT OR GPL-3.0-only)", true],
  ["MIT AND Apache-2.0", true],
  ["MIT AND GPL-3.0-only", false],
  ["GPL-3.0-only", false],
  ["((MIT) OR (GPL-3.0-only))", false],
  ["SEE LICENSE IN LICENSE", false],
  ["none", false],
])("the licence %p is allowed: %p", (expression, expected) => {
  expect(isAllowed(expression)).toBe(expected);
});

test("all that goes into the executable has a licence of scripts/supply/allowed-licences.json", async () => {
  const packages = await bundledPackages();
  const names = packages.map(({ name }) => name);
  // One of each kind: direct, needed by another, a font.
  for (const name of ["elysia", "fast-uri", "@fontsource-variable/inter"]) expect(names).toContain(name);
  expect(names).not.toContain("typescript");
  expect(packages.filter(({ license }) => !isAllowed(license))).toEqual([]);
});
