import { expect, test } from "bun:test";
import { join } from "node:path";
import { ar, type Entry, tar, tarGz } from "../../scripts/release/archive.ts";
import { manPage, manPages } from "../../scripts/release/man-pages.ts";
import { billOfMaterials, thirdPartyNotices } from "../../scripts/release/notices.ts";
import { targets } from "../../scripts/release/targets.ts";
import { bundledPackages } from "../../scripts/supply/bundled.ts";
import { commands } from "../../src/cli/program.ts";
import { testDirectory } from "../support/server.ts";

const directory = testDirectory();
const time = Date.UTC(2026, 0, 14, 16, 8, 6) / 1000;
const long = `${"directory/".repeat(12)}${"f".repeat(60)}`;
const entries: readonly Entry[] = [
  { path: "b/run", content: "#!/bin/sh\necho ran\n", mode: 0o755 },
  { path: long, content: "deep" },
  { path: "a.txt", content: "ä".repeat(600) },
  { path: "empty", content: "" },
];

test("the system's tar reads what was written: contents, modes, times, and long paths", async () => {
  const file = join(directory, "archive.tar.gz");
  await Bun.write(file, tarGz(entries, time));
  const listed = await Bun.$`TZ=UTC tar --list --verbose --full-time --file ${file}`.text();
  expect(listed).toMatch(/^-rwxr-xr-x root\/root +19 2026-01-14 16:08:06 b\/run$/m);
  expect(listed).toMatch(/^-rw-r--r-- root\/root +1200 2026-01-14 16:08:06 a\.txt$/m);
  expect(listed).toMatch(/^drwxr-xr-x root\/root +0 2026-01-14 16:08:06 b\/$/m);
  expect(await Bun.$`cd ${directory} && tar --extract --file ${file} && ./b/run`.text()).toBe("ran\n");
  for (const { path, content } of entries) {
    expect(await Bun.file(join(directory, path)).text()).toBe(content as string);
  }
});

test("the order in which files are given changes nothing", () => {
  expect(tar(entries.toReversed(), time)).toEqual(tar(entries, time));
});

test("a path that has no place in the format is refused", () => {
  expect(() => tar([{ path: "f".repeat(101), content: "" }], time)).toThrow("is too long for a tar archive");
  expect(() => tar([{ path: `${"d".repeat(156)}/f${"f".repeat(90)}`, content: "" }], time)).toThrow(
    "is too long for a tar archive",
  );
});

test("members of an ar archive begin at even offsets", () => {
  const text = new TextDecoder().decode(
    ar(
      [
        { path: "odd", content: "123" },
        { path: "even", content: "1234" },
      ],
      time,
    ),
  );
  expect(text).toBe(
    "!<arch>\n" +
      "odd             1768406886  0     0     100644  3         `\n123\n" +
      "even            1768406886  0     0     100644  4         `\n1234",
  );
});

test.each<[string, string, string]>([
  ["a paragraph", "Runs it.\nAnd more.", "Runs it.\nAnd more.\n"],
  [
    "options with what they mean",
    "  --data DIR     the directory,\n                 made where missing\n  --json         as JSON",
    ".TP\n\\fB\\-\\-data DIR\\fR\nthe directory,\nmade where missing\n.TP\n\\fB\\-\\-json\\fR\nas JSON\n",
  ],
  [
    "a long option, whose meaning begins on the next line",
    "  --idempotency-key KEY\n                 only once\n  --json         as JSON",
    ".TP\n\\fB\\-\\-idempotency\\-key KEY\\fR\nonly once\n.TP\n\\fB\\-\\-json\\fR\nas JSON\n",
  ],
  ["actions at the margin", "check  tells\n       all", ".TP\n\\fBcheck\\fR\ntells\nall\n"],
  ["an example", "  port = 8080\n  [a]", ".nf\n  port = 8080\n  [a]\n.fi\n"],
  ["exit codes", "Exit code: 0 when done,\n1 when not.", ".SH EXIT STATUS\n0 when done,\n1 when not.\n"],
  [
    "what roff would take for its own",
    ".TH is\n'quoted' by a \\ … é",
    "\\&.TH is\n\\&'quoted' by a \\e ... \\[u00E9]\n",
  ],
])("%s", (_, help, expected) => {
  const page = manPage(
    { name: "onair-x", summary: "do x", help: `Usage: onair x\n\n${help}\n` },
    "1.0.0",
    "2026-01-14",
  );
  expect(page).toBe(`.TH ONAIR-X 1 2026-01-14 "onair 1.0.0" "On Air"
.nh
.ad l
.SH NAME
onair\\-x \\- do x
.SH SYNOPSIS
.PD 0
.HP 6
onair x
.PD
.SH DESCRIPTION
${expected}.SH SEE ALSO
.BR onair (1)
`);
});

test("each command has a page, which says all that its help says", async () => {
  const pages = await manPages("1.0.0", 0);
  expect(Object.keys(pages).sort()).toEqual(
    ["onair.1", ...Object.keys(commands).map((name) => `onair-${name}.1`)].sort(),
  );
  const words = (text: string) => text.match(/[\p{L}\d]+/gu) ?? [];
  for (const [name, load] of Object.entries(commands)) {
    const page = (pages[`onair-${name}.1`] ?? "").replace(/\\f[BR]|^\.\w+/gm, "");
    const said = new Set(words(page));
    const missing = words((await load()).help).filter((word) => !said.has(word));
    expect(missing.filter((word) => word !== "Usage" && word !== "Exit" && word !== "code")).toEqual([]);
  }
});

const packages = await bundledPackages();
const [target] = targets;
if (!target) throw new Error("there is no target");

test("the notices name everything inside, and have its licences", async () => {
  const text = await thirdPartyNotices(packages);
  const missing = packages.filter(({ name, version }) => !text.includes(`\n${name} ${version}`));
  expect(missing).toEqual([]);
  for (const part of [
    "JavaScriptCore",
    "GNU LESSER GENERAL PUBLIC LICENSE",
    "Apache License",
    "SIL OPEN FONT LICENSE",
    // Of a package that has no text of its licence.
    "standardwebhooks 1.1.1 (MIT)\n\nCopyright (c)",
  ])
    expect(text).toContain(part);
});

test("the bill of materials names everything inside once", () => {
  const options = { version: "1.0.0", target, time: Date.UTC(2026, 0, 14) / 1000 };
  const bom = JSON.parse(billOfMaterials(packages, options));
  expect(bom).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    metadata: { timestamp: "2026-01-14T00:00:00Z", component: { name: "onair", version: "1.0.0" } },
  });
  const references: string[] = bom.components.map((component: { "bom-ref": string }) => component["bom-ref"]);
  expect(new Set(references).size).toBe(references.length);
  expect(references).toContain("pkg:npm/%40oven/bun-linux-x64@1.4.5");
  expect(references).toContain("bun/sqlite");
  for (const { name, version } of packages)
    expect(references).toContain(`pkg:npm/${name.replace("@", "%40")}@${version}`);
  expect(bom.dependencies[0].dependsOn).toEqual(references);
  const elysia = bom.components.find(({ name }: { name: string }) => name === "elysia");
  expect(elysia.hashes).toEqual([{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
});

test("a licence whose text is not known ends the release", async () => {
  const unknown = { name: "left-pad", version: "1.0.0", license: "WTFPL", directory: import.meta.dir };
  await expect(thirdPartyNotices([unknown])).rejects.toThrow();
});
