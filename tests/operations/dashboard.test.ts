import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hasOpenssl, selfSigned } from "../support/certificates.ts";
import { complaintsOf, hasPromtool, metricsText } from "../support/metrics.ts";
import { emptyDatabase, hasPostgres } from "../support/postgres.ts";
import { serve } from "../support/process.ts";
import { isOnPostgres, ownDirectory, testDirectory, testServer } from "../support/server.ts";

const ops = join(import.meta.dir, "../../ops");
const rules = await Bun.file(join(ops, "alerts.yml")).text();

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly panels: readonly Panel[];
}

const dashboard: Dashboard = await Bun.file(join(ops, "grafana.json")).json();
const queries = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets),
  ...dashboard.annotations.list,
].map(({ expr }) => expr);

/** Names of metrics in expressions, or in anything else. */
const namesIn = (text: string) => new Set(text.match(/\b(?:onair|process)_[a-z_]+\b/g));

/**
 * The names that a server on a data directory and one on PostgreSQL serve; none where one of them cannot be started.
 */
async function servedNames(): Promise<ReadonlySet<string>> {
  if (!hasOpenssl || !hasPostgres || isOnPostgres) return new Set();
  const { cert, key } = selfSigned(testDirectory(), "dashboard");
  const server = await testServer({ args: ["--tls-cert", cert, "--tls-key", key] });
  const database = await emptyDatabase();
  const replica = await serve([], { env: { ONAIR_DATABASE: database.url } });
  const texts = await Promise.all([metricsText(server), metricsText(replica)]);
  await replica.end("SIGTERM");
  await database.drop();
  const lines = texts
    .join("\n")
    .split("\n")
    .filter((line) => !line.startsWith("#"));
  return namesIn(lines.join("\n"));
}

const served = await servedNames();

describe.skipIf(served.size === 0)("every metric of the rules and the dashboard is served", () => {
  test.each([
    ["the rules", [...rules.matchAll(/^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.*\n))/gm)].join("\n"), 20],
    ["the dashboard", queries.join("\n"), 25],
  ])("of %s", (_, text, atLeast) => {
    const named = namesIn(text);
    expect(named.size).toBeGreaterThanOrEqual(atLeast);
    expect([...named].filter((name) => !served.has(name))).toEqual([]);
  });

  test("of the table in the documentation, and the table has all of them", async () => {
    const page = await Bun.file(join(ops, "../docs/watching.md")).text();
    const rows = page.match(/^\| `.*$/gm) ?? [];
    const documented = namesIn(rows.map((row) => row.split("|")[1]).join("\n"));
    const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
    expect([...documented].sort()).toEqual([...new Set([...served].map(base))].sort());
  });
});

describe("the dashboard", () => {
  test("has panels that are apart, each with a title and a query", () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = new Set<string>();
    for (const { title, type, targets = [], gridPos } of panels) {
      expect(title).not.toBe("");
      expect(targets.length > 0).toBe(type !== "row");
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, x < 24, cells.has(`${x} ${y}`)]).toEqual([title, true, false]);
          cells.add(`${x} ${y}`);
        }
    }
  });

  test("uses variables that it has", () => {
    const known = new Set(dashboard.templating.list.map(({ name }) => name));
    for (const [, name = ""] of JSON.stringify(dashboard).matchAll(/\$\{?(?!__)([a-z]+)/g))
      expect(known).toContain(name);
  });

  test.skipIf(!hasPromtool)("has queries that Prometheus can read", async () => {
    const rules = queries.map((expr, i) => ({
      record: `query:${i}`,
      expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".*"),
    }));
    const file = join(ownDirectory(), "queries.json");
    await Bun.write(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    expect(await complaintsOf(["check", "rules", file])).toBe("");
  });
});
