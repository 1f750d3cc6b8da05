import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { commands } from "../src/cli/program.ts";
import { checks } from "../src/operations/checks/checks.ts";
import type { Place } from "../src/operations/checks/subject.ts";
import { contentsOf } from "../src/web/site/make.ts";
import { anchorOf } from "../src/web/site/markdown.ts";

const root = join(import.meta.dir, "..");
const read = (path: string) => Bun.file(join(root, path)).text();

const pages = ["*.md", "docs/*.md"].flatMap((files) => [...new Bun.Glob(files).scanSync(root)]).sort();

test.each(pages)("every link of %s leads to a file and a heading", async (page) => {
  const broken: string[] = [];
  for (const [, target = ""] of (await read(page)).matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)) {
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!(await Bun.file(join(root, file)).exists())) broken.push(target);
    else if (anchor !== undefined) {
      const headings = (await read(file)).matchAll(/^#+ (.+)$/gm);
      if (![...headings].some(([, heading = ""]) => anchorOf(heading) === anchor)) broken.push(target);
    }
  }
  expect(broken).toEqual([]);
});

test("the README lists every page of docs/ below More, once, so that the site has it", async () => {
  const listed = contentsOf(await read("README.md")).flatMap((group) => group.pages);
  const paths = listed.map(({ name }) => `docs/${name}.md`);
  expect(paths.sort()).toEqual(pages.filter((page) => page.startsWith("docs/")));
  expect(paths).not.toContain("docs/api.md");
});

/** The help of each command, by its name. */
async function helpOfCommands(): Promise<Map<string, string>> {
  const helps = Object.entries(commands).map(async ([name, load]) => [name, (await load()).help] as const);
  return new Map(await Promise.all(helps));
}

test("every option of a command in the docs is in the help of that command", async () => {
  const helps = await helpOfCommands();
  expect(helps.size).toBeGreaterThan(12);
  const unknown: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const [, command = "", rest = ""] of (await read(page)).matchAll(
      /\bonair ([a-z-]+)\b([^\n`#|>]*)/g,
    )) {
      for (const [option] of rest.matchAll(/(?<=\s)--[a-z-]+/g)) {
        count++;
        const isKnown =
          option === "--help" || new RegExp(`${option}(?![a-z-])`).test(helps.get(command) ?? "");
        if (!isKnown) unknown.push(`${page}: onair ${command} ${option}`);
      }
    }
  }
  expect(unknown).toEqual([]);
  expect(count).toBeGreaterThan(40);
});

test("every test that tests/public-api.md names exists", async () => {
  const rows = (await read("tests/public-api.md")).matchAll(/^\|.*\| (\S+\.test\.ts) › (.+?) *\|$/gm);
  const missing: string[] = [];
  let count = 0;
  for (const [, file = "", name = ""] of rows) {
    count++;
    const text = await read(`tests/${file}`).catch(() => "");
    if (!text.includes(`"${name}"`)) missing.push(`${file} › ${name}`);
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

test("every test file that a page names exists, under its path or its name alone", async () => {
  const files = [...new Bun.Glob("**/*.test.ts").scanSync(join(root, "tests"))].map(
    (file) => `tests/${file}`,
  );
  const missing: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const [, name = ""] of (await read(page)).matchAll(/`([a-z0-9/-]+\.test\.ts)`/g)) {
      count++;
      if (!files.some((file) => `/${file}`.endsWith(`/${name}`))) missing.push(`${page}: ${name}`);
    }
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(60);
});

test("docs/doctor.md tells of every check what it looks at, and where it runs", async () => {
  const [, page = ""] = (await read("docs/doctor.md")).split(/^## /m);
  const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (.+?) +\| (.+?) +\|$/gm)].map((row) => row.slice(1));
  const words = { config: "`config check`", server: "console", doctor: "`doctor`" };
  const shown = (places: readonly Place[]) => places.map((place) => words[place]).join(", ");
  expect(rows).toEqual(checks.map(({ name, places, examines }) => [name, shown(places), examines]));
});

test("the pages of commands name every one", async () => {
  const text = await Promise.all(["docs/command-line.md", "docs/operating.md"].map(read));
  const names = Object.keys(commands);
  expect(names.length).toBeGreaterThan(12);
  expect(names.filter((name) => !new RegExp(`\\bonair ${name}\\b`).test(text.join()))).toEqual([]);
});

/** That of On Air, and that of the servers in other stacks that benchmarks measure it against. */
const packages = ["package.json", "tests/bench/yardsticks/package.json"];

async function dependenciesOf(file: string): Promise<Record<string, string>> {
  const { dependencies, devDependencies } = JSON.parse(await read(file));
  return { ...dependencies, ...devDependencies };
}

test.each(packages)("docs/architecture.md gives a reason for every dependency of %s", async (file) => {
  const architecture = await read("docs/architecture.md");
  const unexplained = Object.keys(await dependenciesOf(file)).filter(
    (name) => !architecture.includes(`\`${name}\``),
  );
  expect(unexplained).toEqual([]);
});

test.each(packages)("every version of %s is pinned", async (file) => {
  for (const version of Object.values(await dependenciesOf(file)))
    expect(version).toMatch(/^(npm:[a-z]+@)?\d/);
});

test("what benchmarks are measured against is no dependency of On Air", async () => {
  const [own, others] = await Promise.all(packages.map(dependenciesOf));
  expect(Object.keys(others ?? {}).filter((name) => name in (own ?? {}))).toEqual([]);
});
