import { expect, test } from "bun:test";
import { manPage, manPages } from "../../scripts/release/man-pages.ts";
import { commands } from "../../src/cli/program.ts";

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
