import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";
import { files, src, textOf } from "./support/sources.ts";

/**
 * The folders of `src` that each folder may import from, besides itself and `runtime`; all of them stand above it. `*`
 * stands for the files at the top. Those and `composition`, which put a server together, may import all.
 */
const allowed: Record<string, string> = {
  domain: "",
  log: "domain",
  runtime: "log",
  store: "domain",
  ranking: "domain",
  tracing: "domain log",
  webhooks: "domain store tracing log",
  serving: "domain log",
  threads: "domain store log",
  backups: "domain store threads log",
  config: "domain log store tracing webhooks serving backups",
  data: "domain store config log",
  engine: "domain store data webhooks threads tracing config log",
  batch: "domain store ranking tracing",
  client: "",
  console: "client domain",
  // What a browser runs of it is in the folder of the pages.
  site: "console",
  http: "console site domain store data ranking webhooks threads engine backups batch serving tracing config log",
  doctor: "domain store data threads webhooks engine backups serving http config log",
  "*": "",
  dev: "console domain store webhooks batch http serving config log *",
  cli: "client domain store data ranking webhooks engine backups batch http dev doctor serving config log *",
};

test("a folder imports only from folders above it", () => {
  const order = Object.keys(allowed);
  for (const [at, folder] of order.entries()) {
    for (const one of allowed[folder]?.split(" ").filter(Boolean) ?? [])
      expect([folder, order.slice(0, at)]).toEqual([folder, expect.arrayContaining([one])]);
  }
});

const folderOf = (file: string) => (file.includes("/") ? (file.split("/")[0] ?? "") : "*");

function imports(file: string): string[] {
  return (
    // Static ones, dynamic ones, and types named by `import("…")`.
    [...textOf(file).matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)"/g)]
      .map(([, path]) => relative(src, join(src, dirname(file), path ?? "")))
      // What is generated imports nothing.
      .filter((path) => !path.startsWith("..") && !path.endsWith(".d.ts"))
  );
}

test("arrows between folders point one way", () => {
  const wrong: string[] = [];
  for (const file of files) {
    const from = folderOf(file);
    if (from === "*" || from === "composition") continue;
    for (const target of imports(file)) {
      const to = folderOf(target);
      const mayBe = allowed[from]?.split(" ").includes(to) || (to === "runtime" && from !== "domain");
      if (to !== from && !mayBe) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("rules of the domain do not wait, and do not touch the machine", () => {
  const wrong: string[] = [];
  for (const file of files.filter((file) => folderOf(file) === "domain")) {
    const text = textOf(file);
    if (/\b(setTimeout|setImmediate|performance|process)\b[.(]|"(node|bun):/.test(text)) wrong.push(file);
  }
  expect(wrong).toEqual([]);
});

/**
 * Groups of files that import each other, each in alphabetical order. A group that is no longer one is removed from the
 * list: it only shrinks.
 */
const knownCircles = [
  [
    "backups/destination.ts",
    "backups/directory-destination.ts",
    "backups/directory-use.ts",
    "backups/s3/credentials.ts",
    "backups/s3/s3-destination.ts",
    "backups/s3/s3-requests.ts",
  ],
  ["cli/commands.ts", "cli/completion/candidates.ts", "cli/completion/completion.ts"],
  [
    "http/openapi/public-document.ts",
    "http/openapi/public-reference.ts",
    "http/openapi/webhooks.ts",
    "http/public/application/notices.ts",
    "http/public/base.ts",
  ],
];

/** All groups of nodes that reach each other (Tarjan's algorithm), sorted. */
function circlesOf(nodes: readonly string[], next: (node: string) => readonly string[]): string[][] {
  const indexes = new Map<string, number>();
  const path: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string): number => {
    const index = indexes.size;
    indexes.set(node, index);
    path.push(node);
    let lowest = index;
    for (const target of next(node)) {
      if (!indexes.has(target)) lowest = Math.min(lowest, visit(target));
      else if (path.includes(target)) lowest = Math.min(lowest, indexes.get(target) ?? 0);
    }
    if (lowest === index) {
      const group = path.splice(path.indexOf(node));
      if (group.length > 1) circles.push(group.sort());
    }
    return lowest;
  };
  for (const node of nodes) if (!indexes.has(node)) visit(node);
  return circles.sort();
}

test("no file imports itself by way of others, types and dynamic imports included", () => {
  expect(circlesOf(files, imports)).toEqual(knownCircles);
});

/** Arrows against the rule for sub-folders. The list only shrinks. */
const knownUpwards: readonly string[] = [
  "http/answers.ts → http/openapi/headers.ts",
  "http/errors.ts → http/oauth/errors.ts",
  "http/input.ts → http/openapi/components.ts",
  "http/input.ts → http/openapi/declared.ts",
  "http/oauth/authorize.ts → http/public/base.ts",
  "http/oauth/introspect.ts → http/public/base.ts",
  "http/oauth/metadata.ts → http/public/base.ts",
  "http/oauth/revoke.ts → http/public/base.ts",
  "http/oauth/token.ts → http/public/base.ts",
  "http/openapi/oauth-errors.ts → http/oauth/errors.ts",
  "http/openapi/scalar.ts → http/pages/files.ts",
  "http/openapi/webhooks.ts → http/public/application/notices.ts",
  "http/pages/console.ts → http/admin/access.ts",
  "http/pages/console.ts → http/admin/base.ts",
  "http/pages/operator-sessions.ts → http/admin/operator-keys.ts",
  "http/pages/owner-login.ts → http/oauth/errors.ts",
  "http/pages/owner-login.ts → http/public/base.ts",
  "http/pages/portal.ts → http/oauth/client.ts",
  "http/pages/portal.ts → http/public/base.ts",
  "http/pages/welcome.ts → http/admin/hosts.ts",
  "http/pages/welcome.ts → http/public/base.ts",
  "http/pages/welcome.ts → http/stream/reply-stream.ts",
  "http/rate-limit.ts → http/replicas/rate-shares.ts",
  "http/request-context.ts → http/stream/open-streams.ts",
  "http/server.ts → http/stream/open-streams.ts",
  "http/stream/route.ts → http/public/base.ts",
  "http/stream/route.ts → http/public/delivery-fields.ts",
];

/** Sub-folders of `http` from the lowest to the highest: a folder imports from those before it. */
const orderInHttp = [
  "http",
  "http/openapi",
  "http/pages",
  "http/stream",
  "http/replicas",
  "http/oauth",
  "http/public",
  "http/admin",
];

test("arrows between the sub-folders of http point one way", () => {
  const levelOf = (file: string) => orderInHttp.indexOf(dirname(file).split("/").slice(0, 2).join("/"));
  const upwards: string[] = [];
  for (const file of files.filter((file) => file.startsWith("http/"))) {
    if (levelOf(file) < 0) upwards.push(`${file} is in no folder of the order`);
    for (const target of imports(file).filter((target) => target.startsWith("http/")))
      if (levelOf(target) > levelOf(file)) upwards.push(`${file} → ${target}`);
  }
  expect(upwards.sort()).toEqual([...knownUpwards]);
});

test("no two exported types share a name", () => {
  const places = new Map<string, string[]>();
  // The pages are a program of their own, whose types are those of the API.
  for (const file of files.filter((file) => folderOf(file) !== "console")) {
    const text = textOf(file);
    for (const [, name = ""] of text.matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm)) {
      places.set(name, [...(places.get(name) ?? []), file]);
    }
  }
  expect([...places].filter(([, found]) => found.length > 1)).toEqual([]);
});

test("every export is used by another file", async () => {
  const root = join(src, "..");
  const words = new Map<string, Set<string>>();
  for (const file of new Bun.Glob("{src,tests,scripts}/**/*.{ts,tsx}").scanSync(root)) {
    words.set(file, new Set((await Bun.file(join(root, file)).text()).match(/\w+/g)));
  }
  const unused: string[] = [];
  for (const file of files) {
    // drizzle-kit reads the whole schema.
    if (/^store\/(sqlite|postgres)\/schema\//.test(file)) continue;
    const text = textOf(file);
    for (const [, name = ""] of text.matchAll(
      /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm,
    )) {
      const isUsed = [...words].some(([other, found]) => other !== `src/${file}` && found.has(name));
      if (!isUsed) unused.push(`${file}: ${name}`);
    }
  }
  expect(unused).toEqual([]);
});

test("SQL stays in the implementations of the store; all other code uses store/store.ts", () => {
  const wrong: string[] = [];
  for (const file of files) {
    const [, implementation] = /^store\/(sqlite|postgres|drizzle)\//.exec(file) ?? [];
    const builds = /^(data|engine|backups|cli|doctor)\//.test(file);
    // What only tells types is of no implementation.
    const text = textOf(file).replaceAll(/^import type .*$/gm, "");
    if (implementation !== "sqlite" && /from "(bun:sqlite|drizzle-orm\/(bun-sqlite|sqlite))/.test(text))
      wrong.push(file);
    if (implementation !== "postgres" && /from "drizzle-orm\/(bun-sql"|pg)/.test(text)) wrong.push(file);
    if (!implementation && /from "drizzle-orm/.test(text)) wrong.push(file);
    for (const target of imports(file)) {
      const [, used] = /^store\/(sqlite|postgres)\//.exec(target) ?? [];
      // A URL is checked with the settings.
      const isUrl = target === "store/postgres/database/connection-url.ts";
      const isShared =
        /^store\/drizzle\/(dialect|columns\/kinds)\.ts$/.test(file) &&
        target.startsWith("store/postgres/schema/");
      if (used && used !== implementation && !builds && !isUrl && !isShared)
        wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("the HTTP client for webhooks is one folder with one door, and its types share no name with others", () => {
  const folder = "webhooks/client/";
  const rules = [
    "webhooks/address.ts",
    "webhooks/egress-proxy.ts",
    "webhooks/resolve.ts",
    "webhooks/retry.ts",
  ];
  const wrong: string[] = [];
  const inside = new Set<string>();
  const outside = new Set<string>();
  for (const file of files) {
    const isInside = file.startsWith(folder);
    const text = textOf(file);
    for (const [, name = ""] of text.matchAll(/^(?:export )?(?:class|interface|type) (\w+)/gm)) {
      (isInside ? inside : outside).add(name);
    }
    for (const target of imports(file)) {
      const isAllowed = isInside
        ? rules.includes(target) || (target.startsWith(folder) && target !== `${folder}sender.ts`)
        : !target.startsWith(folder) || target === `${folder}sender.ts`;
      if (!isAllowed) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
  expect([...inside.intersection(outside)]).toEqual([]);
});

/** docs/architecture.md has the reason of each. */
const sqliteStatements = [
  "copy/",
  "database/",
  "deliveries/",
  "search/",
  "livestreams.ts",
  "subscriptions.ts",
  "users.ts",
].map((path) => `store/sqlite/${path}`);

const postgresStatements = [
  "copy/",
  "database/",
  "deliveries/",
  "replicas/",
  "retention.ts",
  "search/",
  "subscriptions.ts",
  "users.ts",
].map((path) => `store/postgres/${path}`);

test.each([
  ["SQLite", sqliteStatements, /\b(db|moment)\.(prepare|query|run)\b/],
  ["PostgreSQL", postgresStatements, /\brun(<[^(]*>)?\(|\borm\.execute\b/],
] as const)(
  "statements of %s itself stay where docs/architecture.md lists them; all others are drizzle's",
  async (database, paths, raw) => {
    const page = await Bun.file(join(src, "../docs/architecture.md")).text();
    const other = database === "SQLite" ? "store/postgres/" : "store/sqlite/";
    const wrong: string[] = [];
    for (const file of files) {
      if (file.startsWith(other) || (database === "PostgreSQL" && !file.startsWith("store/"))) continue;
      const isRaw = raw.test(textOf(file));
      if (isRaw && !paths.some((path) => file.startsWith(path))) wrong.push(file);
    }
    expect(wrong).toEqual([]);
    for (const path of paths) expect(page).toContain(path.replace(/^store\/\w+\//, "`"));
  },
);

test("only the command line reads the environment, for read-config.ts", () => {
  // Pages run in browsers, which have none.
  const readers = files.filter((file) => folderOf(file) !== "console" && /process\.env/.test(textOf(file)));
  expect(readers.sort()).toEqual(["http/production.ts", "main.ts"]);
});

test("lines of comments keep to 120 characters", () => {
  const isLong = (line: string) => line.length > 120 && /^\s*(\/\/|\/?\*)/.test(line);
  const long = files.flatMap((file) => textOf(file).split("\n").filter(isLong));
  expect(long).toEqual([]);
});
