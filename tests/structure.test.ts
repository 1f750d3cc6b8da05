import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";
import { files, src, textOf } from "./support/sources.ts";

/**
 * The rooms of `src` from the lowest to the highest: a file imports from its own room and from those before it. A room
 * inside another one stands apart. `*` stands for the files at the top.
 */
const rooms = [
  "domain",
  "runtime",
  "client",
  "web",
  "store",
  "store/sqlite",
  "platform",
  "postgres",
  "delivery",
  "server/settings",
  "operations",
  "api",
  "*",
  "server",
  "dev",
  "cli",
];

/** Arrows against the order of rooms. The list only shrinks. */
const knownArrows: readonly string[] = [
  "server/settings/config.ts → operations/backups/destination.ts",
  "server/settings/read-config.ts → operations/certificates.ts",
];

function roomOf(file: string): string {
  if (!file.includes("/")) return "*";
  const inside = rooms.find((room) => room.includes("/") && file.startsWith(`${room}/`));
  return inside ?? file.split("/")[0] ?? "";
}

function imports(file: string): string[] {
  return (
    // Static ones, dynamic ones, and types named by `import("…")`.
    [...textOf(file).matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)"/g)]
      .map(([, path]) => relative(src, join(src, dirname(file), path ?? "")))
      // What is generated imports nothing.
      .filter((path) => !path.startsWith("..") && !path.endsWith(".d.ts"))
  );
}

test("arrows between rooms point one way, types and dynamic imports included", () => {
  const wrong = new Set<string>();
  for (const file of files.filter((file) => file !== "main.ts")) {
    const level = rooms.indexOf(roomOf(file));
    if (level < 0) wrong.add(`${file} is in no room`);
    for (const target of imports(file))
      if (rooms.indexOf(roomOf(target)) > level) wrong.add(`${file} → ${target}`);
  }
  expect([...wrong].sort()).toEqual([...knownArrows]);
});

test("rules of the domain do not wait, and do not touch the machine", () => {
  const wrong: string[] = [];
  for (const file of files.filter((file) => roomOf(file) === "domain")) {
    const text = textOf(file);
    if (/\b(setTimeout|setImmediate|performance|process)\b(?:\(|\.\w)|"(node|bun):/.test(text))
      wrong.push(file);
  }
  expect(wrong).toEqual([]);
});

/**
 * Groups of files that import each other, each in alphabetical order. A group that is no longer one is removed from the
 * list: it only shrinks.
 */
const knownCircles: string[][] = [];

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

/** Sub-folders of `api` from the lowest to the highest: a folder imports from those before it. */
const orderInApi = ["http", "stream", "public", "oauth", "admin", "openapi", ""];

test("arrows between the sub-folders of api point one way", () => {
  const levelOf = (file: string) => orderInApi.indexOf(dirname(file).split("/")[1] ?? "");
  const upwards = new Set<string>();
  for (const file of files.filter((file) => file.startsWith("api/"))) {
    if (levelOf(file) < 0) upwards.add(`${file} is in no folder of the order`);
    for (const target of imports(file).filter((target) => target.startsWith("api/")))
      if (levelOf(target) > levelOf(file)) upwards.add(`${file} → ${target}`);
  }
  expect([...upwards]).toEqual([]);
});

test("no two exported types share a name", () => {
  const places = new Map<string, string[]>();
  // The pages are a program of their own, whose types are those of the API.
  for (const file of files.filter((file) => roomOf(file) !== "web")) {
    const text = textOf(file);
    for (const [, name = ""] of text.matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm)) {
      places.set(name, [...(places.get(name) ?? []), file]);
    }
  }
  expect([...places].filter(([, found]) => found.length > 1)).toEqual([]);
});

test("every export is imported by another file", async () => {
  const root = join(src, "..");
  /** `file: name` for each named import. */
  const imported = new Set<string>();
  /** For files that are imported at run time, or named by a test for another process: the words of those that do it. */
  const named = new Map<string, Set<string>>();
  const whole = new Set<string>();
  for (const file of new Bun.Glob("{src,tests,scripts}/**/*.{ts,tsx}").scanSync(root)) {
    const text = (await Bun.file(join(root, file)).text()).replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
    const at = (path = "") => relative(src, join(root, dirname(file), path));
    const others = text.replaceAll(/(\* as \w+|\{([^{}]*)\}) from "(\.[^"]+)"/g, (_, what, names, path) => {
      if (what.startsWith("*")) whole.add(at(path));
      for (const [, name] of (names ?? "").matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)) {
        imported.add(`${at(path)}: ${name}`);
      }
      return "";
    });
    for (const [, path] of others.matchAll(/"(\.[^"]+\.tsx?)"/g)) {
      named.set(at(path), new Set([...(named.get(at(path)) ?? []), ...(others.match(/\w+/g) ?? [])]));
    }
  }
  const unused: string[] = [];
  // Schemas and checks are used as objects. Other programs import the client as a package. What the entry of the console
  // exports decides how the bundler splits its pages.
  const entries = ["client/onair.ts", "web/console.tsx"];
  for (const file of files.filter((file) => !whole.has(file) && !entries.includes(file))) {
    for (const [, name = ""] of textOf(file).matchAll(
      /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm,
    )) {
      const isUsed = imported.has(`${file}: ${name}`) || named.get(file)?.has(name);
      if (!isUsed) unused.push(`${file}: ${name}`);
    }
  }
  expect(unused).toEqual([]);
});

test("SQL stays in the implementations of the store; all other code uses domain/store.ts", () => {
  const wrong: string[] = [];
  for (const file of files) {
    const [, implementation] = /^(store\/sqlite|postgres|store\/drizzle)\//.exec(file) ?? [];
    const builds = /^(delivery|operations|cli|server)/.test(file);
    // What only tells types is of no implementation.
    const text = textOf(file).replaceAll(/^import type [^;]*;$/gm, "");
    if (implementation !== "store/sqlite" && /from "(bun:sqlite|drizzle-orm\/(bun-sqlite|sqlite))/.test(text))
      wrong.push(file);
    if (implementation !== "postgres" && /from "drizzle-orm\/(bun-sql"|pg)/.test(text)) wrong.push(file);
    if (!implementation && /from "drizzle-orm/.test(text)) wrong.push(file);
    for (const target of imports(file)) {
      const [, used] = /^(store\/sqlite|postgres)\//.exec(target) ?? [];
      if (used === "store/sqlite" && used !== implementation && !builds) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("only platform/platform-data.ts writes what the platform reports, because it updates the ranking with each write", () => {
  const write = /\b(users|categories|channels|livestreams)\.(upsert|remove|replaceAll|endOthers|end)\(/;
  const writers = files.filter((file) => !/^(store|postgres|web)\//.test(file) && write.test(textOf(file)));
  expect(writers).toEqual(["platform/platform-data.ts"]);
});

test("the sender of webhooks is one folder with one door, and its types share no name with others", () => {
  const folder = "delivery/send/";
  const doors = ["address.ts", "send.ts"].map((name) => `${folder}${name}`);
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
        ? target.startsWith(folder) && target !== `${folder}send.ts`
        : !target.startsWith(folder) || doors.includes(target);
      if (!isAllowed) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
  expect([...inside.intersection(outside)]).toEqual([]);
});

test("postgres/ has one door, which only server/storage-at.ts imports", () => {
  const wrong = files
    .filter((file) => roomOf(file) !== "postgres")
    .flatMap((file) => imports(file).map((target) => `${file} → ${target}`))
    .filter((arrow) => arrow.includes("→ postgres/"));
  expect(wrong).toEqual(["server/storage-at.ts → postgres/door.ts"]);
});

/** docs/architecture.md has the reason of each. */
const rawStatements = [
  "postgres/copy.ts",
  "postgres/deliveries.ts",
  "postgres/dialect.ts",
  "postgres/facts.ts",
  "postgres/filters.ts",
  "postgres/migrations.ts",
  "postgres/notifications.ts",
  "postgres/nouns.ts",
  "postgres/pool.ts",
  "postgres/positions.ts",
  "postgres/publish.ts",
  "postgres/queue.ts",
  "postgres/retention.ts",
  "postgres/search.ts",
  "postgres/shards.ts",
  "postgres/store.ts",
  "store/sqlite/backup.ts",
  "store/sqlite/commit.ts",
  "store/sqlite/copy.ts",
  "store/sqlite/deliveries.ts",
  "store/sqlite/delivery-rows.ts",
  "store/sqlite/matches.ts",
  "store/sqlite/migrations.ts",
  "store/sqlite/nouns.ts",
  "store/sqlite/open.ts",
  "store/sqlite/publish.ts",
  "store/sqlite/queue.ts",
  "store/sqlite/search.ts",
  "store/sqlite/sizes.ts",
  "store/sqlite/snapshots.ts",
  "store/sqlite/staged.ts",
  "store/sqlite/storage-check.ts",
];

test("raw statements stay where docs/architecture.md lists them; all others are drizzle's", async () => {
  const page = await Bun.file(join(src, "../docs/architecture.md")).text();
  const raw = files.filter((file) => {
    if (file.startsWith("store/sqlite/")) return /\b(db|snapshot)\.(prepare|query|run)\b/.test(textOf(file));
    return /^(postgres|store)\//.test(file) && /\brun(<[^(]*>)?\(|\borm\.execute\b/.test(textOf(file));
  });
  expect(raw.sort()).toEqual(rawStatements);
  for (const file of rawStatements) expect(page).toContain(`\`${file.split("/").at(-1)}\``);
});

test("only the command line reads the environment, for read-config.ts", () => {
  // Pages run in browsers, which have none.
  const readers = files.filter((file) => roomOf(file) !== "web" && /process\.env/.test(textOf(file)));
  expect(readers.sort()).toEqual(["api/http/production.ts", "main.ts"]);
});

test("the engine waits with the timers that it is given, and its tests replace none of the system's", async () => {
  // The sender waits for the network, whose time is real.
  const isEngine = (file: string) => file.startsWith("delivery/") && !file.startsWith("delivery/send/");
  const own = files.filter(
    (file) => isEngine(file) && /\b(setTimeout|setInterval|\w+\.sleep|\w+\.timeout)\(/.test(textOf(file)),
  );
  expect(own).toEqual([]);
  const replacing: string[] = [];
  for (const file of new Bun.Glob("{delivery,support}/**/*.ts").scanSync(import.meta.dir)) {
    const text = await Bun.file(join(import.meta.dir, file)).text();
    if (
      /useFakeTimers|globalThis[,.]|\bsetSystemTime\(|(Bun\.sleep|performance\.now|Date\.now) = /.test(text)
    )
      replacing.push(file);
  }
  expect(replacing).toEqual([]);
});

test("lines of comments keep to 120 characters", () => {
  const isLong = (line: string) => line.length > 120 && /^\s*(\/\/|\/?\*)/.test(line);
  const long = files.flatMap((file) => textOf(file).split("\n").filter(isLong));
  expect(long).toEqual([]);
});
