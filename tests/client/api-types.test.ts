import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

test("the client's types are those of the routes; after a change of the API: bun run client-types", async () => {
  const { scripts } = await Bun.file(join(root, "package.json")).json();
  const [command = ""] = scripts["client-types"].split(" > ");
  const made = await Bun.$`sh -c ${command}`.cwd(root).text();
  expect(made === (await Bun.file(join(root, "src/client/api.d.ts")).text())).toBe(true);
});
