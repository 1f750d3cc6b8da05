import { expect, test } from "bun:test";
import { billOfMaterials, thirdPartyNotices } from "../../scripts/release/notices.ts";
import { targets } from "../../scripts/release/targets.ts";
import { bundledPackages } from "../../scripts/supply/bundled.ts";

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
    // Of a package that has no text of its licence, and of one inside Scalar's script.
    "standardwebhooks 1.1.1 (MIT)\n\nCopyright (c)",
    "Copyright (c) 2018-present, Yuxi (Evan) You",
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
