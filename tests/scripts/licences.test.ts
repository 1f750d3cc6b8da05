import { expect, test } from "bun:test";
import { dependencies, devDependencies } from "../../package.json";
import allowed from "../../scripts/supply/allowed-licences.json";
import { bundledPackages } from "../../scripts/supply/bundled.ts";
import scalar from "../../scripts/supply/scalar-contents.json";

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
  // One of each kind: direct, needed by another, a font, inside Scalar's script.
  for (const name of ["elysia", "fast-uri", "@fontsource-variable/inter", "vue"])
    expect(names).toContain(name);
  expect(names).not.toContain("typescript");
  expect(packages.filter(({ license }) => !isAllowed(license))).toEqual([]);
});

test("what is inside Scalar's script is listed for the version in use", () => {
  expect(scalar.version).toBe(dependencies["@scalar/fastify-api-reference"]);
});

test("every dependency is pinned to one version", () => {
  const ranges = Object.entries({ ...dependencies, ...devDependencies });
  expect(ranges.filter(([, version]) => !/^(npm:[a-z-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});
