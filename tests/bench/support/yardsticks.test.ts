import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ndjson } from "../../support/server.ts";
import { orderFile, pathsFile } from "./wrk.ts";
import { answersFile, headsFile } from "./yardsticks.ts";

const directory = mkdtempSync(join(tmpdir(), "onair-test-"));
const program = join(import.meta.dir, "yardstick-server.ts");
const children: Bun.Subprocess[] = [];

beforeAll(async () => {
  const write = (file: string, text: string) => Bun.write(join(directory, file), text);
  const heads = [
    { status: 200, headers: [["content-type", "application/json"]] },
    { status: 304, headers: [["etag", '"a"']] },
  ];
  await write(headsFile, JSON.stringify(heads));
  const answers = [
    ["/users/ada", 0, '{"user":"Ada"}'],
    ["/users/bob", 0, '{"user":"Böb"}'],
    ["/users/old", 1, ""],
  ];
  await write(answersFile, `${ndjson(answers)}\n`);
  await write(pathsFile, "/users/bob\n/users/ada");
  await write(orderFile, "1\n0\n0");
});
afterAll(() => {
  for (const child of children) child.kill();
  rmSync(directory, { recursive: true });
});

async function start(kind: string, ...token: string[]): Promise<string> {
  const command = [process.execPath, program, kind, directory, join(directory, answersFile), "/users/"];
  const child = Bun.spawn([...command, ...token], { stdout: "pipe", stdin: "ignore" });
  children.push(child);
  for await (const chunk of child.stdout) {
    const url = /^ready (\S+)\n/.exec(new TextDecoder().decode(chunk))?.[1];
    if (url) return url;
  }
  throw new Error("The yardstick ended before it was ready");
}

const body = async (answer: Promise<Response>) => (await answer).text();

test("bare gives the answers in the order of the load, whatever the request", async () => {
  const url = await start("bare");
  const bodies = [];
  for (let i = 0; i < 4; i++) bodies.push(await body(fetch(`${url}/anything`)));
  expect(bodies).toEqual(['{"user":"Ada"}', '{"user":"Böb"}', '{"user":"Böb"}', '{"user":"Ada"}']);
});

test("equal finds the answer by name, with its status and headers", async () => {
  const url = await start("equal");
  expect(await body(fetch(`${url}/users/bob`))).toBe('{"user":"Böb"}');
  const old = await fetch(`${url}/users/old`);
  expect([old.status, old.headers.get("etag"), await old.text()]).toEqual([304, '"a"', ""]);
  expect((await fetch(`${url}/users/eve`)).status).toBe(404);
});

test("equal with a token refuses all other tokens", async () => {
  const url = await start("equal", "secret");
  const asked = (authorization: string) => fetch(`${url}/users/ada`, { headers: { authorization } });
  expect((await asked("Bearer secret")).status).toBe(200);
  expect((await asked("Bearer wrong")).status).toBe(401);
  expect((await asked("Basic secret")).status).toBe(401);
});
