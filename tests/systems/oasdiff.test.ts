import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { openLists } from "../released/documents.ts";
import { keptSurface, releases } from "../released/kept.ts";
import { surfaceNow } from "../released/surface.ts";
import { testDirectory } from "../support/server.ts";

/*
 * oasdiff compares OpenAPI documents, too: a second opinion on the documents that `tests/released` compares. It reads no
 * roles, defaults, headers and names of operations, so it does not replace that comparison.
 */

const installed = [Bun.which("oasdiff"), join(homedir(), "go/bin/oasdiff")];
const oasdiff = installed.find((path) => path !== null && existsSync(path)) ?? null;
if (oasdiff === null)
  console.warn(
    "\n*** No oasdiff here: its comparison with the releases is SKIPPED. To install it: go install github.com/oasdiff/oasdiff@v1.37.0 ***\n",
  );

const directory = testDirectory();

/** What oasdiff calls breaking between two documents, but for further values of the open lists. */
async function breaking(earlier: object, later: object): Promise<string[]> {
  const files: string[] = [];
  for (const [name, document] of Object.entries({ earlier, later })) {
    const file = join(directory, `${name}.json`);
    const info = { ...(document as { info: object }).info, version: "1" };
    await Bun.write(file, JSON.stringify({ ...document, info }));
    files.push(file);
  }
  const child = Bun.spawn([oasdiff ?? "", "breaking", ...files, "--format", "json"], { stdout: "pipe" });
  const found: { id: string; text: string; level: number }[] = JSON.parse(
    (await child.stdout.text()) || "[]",
  );
  const isOpen = ({ id, text }: { id: string; text: string }) =>
    id === "response-property-enum-value-added" && openLists.some((name) => text.includes(`${name}\``));
  return found.filter((one) => !isOpen(one)).map(({ text }) => text);
}

test.skipIf(oasdiff === null).each(releases)("oasdiff finds nothing that breaks %s", async (release) => {
  const [kept, now] = [keptSurface(release), await surfaceNow()];
  expect(await breaking(kept.public, now.public)).toEqual([]);
  expect(await breaking(kept.admin, now.admin)).toEqual([]);
});

test.skipIf(oasdiff === null)(
  "oasdiff finds a field that is removed, and lets an error code pass",
  async () => {
    const { public: document } = await surfaceNow();
    // A boundary: the test changes parts of a document whose form it knows.
    // biome-ignore lint/suspicious/noExplicitAny: see above
    const changed: any = structuredClone(document);
    changed.components.schemas.Error.properties.code.enum.push("teapot");
    expect(await breaking(document, changed)).toEqual([]);
    delete changed.components.schemas.User.properties.bio;
    expect((await breaking(document, changed)).join("\n")).toContain("bio");
  },
);
