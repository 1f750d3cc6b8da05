import { expect, test } from "bun:test";
import { join } from "node:path";
import { clientPackages, pythonVersion } from "../../scripts/release/clients.ts";
import { goFile } from "../../scripts/sdk/go.ts";
import { pythonModule } from "../../scripts/sdk/python.ts";
import { readDocument, type SdkDocument } from "../../scripts/sdk/read-document.ts";
import { run } from "../support/process.ts";

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

test("the generated files have every call and event of the document, and are up to date", async () => {
  const { stdout } = await run(["openapi", "--public-url", "https://api.example.com"]);
  const document = JSON.parse(stdout) as SdkDocument;
  const sdk = readDocument(document);
  const generated = (path: string) => Bun.file(join(import.meta.dir, "../../clients", path)).text();
  expect(await generated("python/src/onair_client/api.py")).toBe(pythonModule(sdk));
  expect(await generated("go/api.go")).toBe(goFile(sdk));
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const missing = operations.map(({ operationId }) => operationId);
  for (const { id } of sdk.calls) missing.splice(missing.indexOf(id), 1);
  // What tokens and streams need is written by hand.
  expect(missing.sort()).toEqual([
    "authorize",
    "createToken",
    "getAuthorizationServerMetadata",
    "getOpenIdConfiguration",
    "introspectToken",
    "revokeToken",
    "streamEvents",
    "streamTestWebhook",
    "watchOwnDeliveries",
  ]);
  expect(sdk.events.map(({ type }) => type).sort()).toEqual(Object.keys(document.webhooks).sort());
});
