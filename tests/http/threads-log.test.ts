import { expect, test } from "bun:test";
import { join } from "node:path";
import { Connection } from "../support/connection.ts";
import { program } from "../support/process.ts";
import { adminKey, temporaryDirectory } from "../support/server.ts";

/** Runs a server of three threads for some requests, and gives its log and how it ended. */
async function logOf(level: string, ids: readonly string[]) {
  const directory = temporaryDirectory();
  const args = ["--threads", "3", "--data", join(directory.path, "data"), "--log-level", level];
  const child = Bun.spawn([...program, "serve", "--port", "0", "--admin-port", "0", ...args], {
    env: { PATH: process.env["PATH"], ONAIR_ADMIN_KEY: adminKey },
    stdout: "pipe",
    stderr: "pipe",
  });
  const lines = child.stderr.text();
  const ready = new TextDecoder().decode((await child.stdout.getReader().read()).value);
  const [, url = ""] = /public=(\S+)/.exec(ready) ?? [];
  for (const id of ids) {
    const connection = new Connection(url);
    await connection.send("GET", "/public/v1/categories", { headers: { "x-request-id": id } });
    connection.close();
  }
  child.kill("SIGTERM");
  const text = await lines;
  directory.remove();
  return { lines: text.split("\n").filter((line) => line !== ""), code: await child.exited };
}

const ids = Array.from({ length: 60 }, (_, i) => `request-${i}`);

test("every request has one line in the log, whichever thread has answered it", async () => {
  const { lines, code } = await logOf("info", ids);
  expect(code).toBe(0);
  const requests = lines.map((line) => JSON.parse(line) as { event: string; request_id: string });
  const logged = requests.filter(({ event }) => event === "request").map(({ request_id }) => request_id);
  expect(logged.sort()).toEqual(ids.toSorted());
});

test("the level holds for every thread", async () => {
  expect(await logOf("error", ids.slice(0, 20))).toEqual({ lines: [], code: 0 });
});
