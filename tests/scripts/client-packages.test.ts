import { expect, test } from "bun:test";
import { clientPackages, pythonVersion } from "../../scripts/release/clients.ts";

test.each([
  ["1.0.0", "1.0.0"],
  ["0.1.0+12.g44cb90d", "0.1.0+12.g44cb90d"],
  ["1.0.0-rc.1", "1.0.0rc1"],
  ["1.0.0-beta.2+5.g44cb90d", "1.0.0b2+5.g44cb90d"],
  ["1.0.0-alpha", "1.0.0a0"],
  ["1.0.0-night-1+5.g44cb90d", "1.0.0.dev0+night.1.5.g44cb90d"],
])("the version %s is %s in Python", (version, expected) => {
  expect(pythonVersion(version)).toBe(expected);
});

test("the packages of a version have its name, and the same bytes each time", async () => {
  const time = 1_768_406_886;
  const [one, two] = [await clientPackages("1.0.0-rc.1", time), await clientPackages("1.0.0-rc.1", time)];
  expect(one.map(({ path }) => path)).toEqual([
    "onair_client-1.0.0rc1-py3-none-any.whl",
    "onair_client-1.0.0rc1.tar.gz",
    "onair-go-1.0.0-rc.1.zip",
  ]);
  expect(two).toEqual(one);
  expect(await clientPackages("1.0.0-rc.1", time + 10)).not.toEqual(one);
});
