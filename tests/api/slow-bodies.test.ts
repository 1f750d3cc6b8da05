import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { readBytes } from "../../src/api/http/input.ts";
import { RawClient } from "../support/raw-client.ts";
import { json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** A request whose body comes in chunks of one byte; `end` ends it. */
function byteByByte(count: number) {
  const state = { left: count, end: () => {} };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (state.left-- > 0) return controller.enqueue(new Uint8Array([0x61]));
      return new Promise<void>((resolve) => {
        state.end = () => {
          controller.close();
          resolve();
        };
      });
    },
  });
  return { request: new Request("http://onair.example/", { method: "POST", body }), state };
}

/** The arrays of bytes that are in use. */
function arrays(): number {
  Bun.gc(true);
  return heapStats().objectTypeCounts["Uint8Array"] ?? 0;
}

test("a body takes no more memory in chunks of one byte than in one, also before it ends", async () => {
  const count = 60_000;
  const before = arrays();
  const { request, state } = byteByByte(count);
  const reading = readBytes(request, count);
  await until(() => state.left < 0);
  expect(arrays() - before).toBeLessThan(count / 10);
  state.end();
  expect(await reading).toEqual(new Uint8Array(count).fill(0x61));
});

test("a chunked body over the limit is refused before it ends, and an empty one is empty", async () => {
  const { request } = byteByByte(100);
  await expect(readBytes(request, 99)).rejects.toThrow("The body must be at most 99 bytes");
  const empty = byteByByte(0);
  const reading = readBytes(empty.request, 99);
  await until(() => empty.state.left < 0);
  empty.state.end();
  expect((await reading).byteLength).toBe(0);
});

/*
 * A client that has sent the head of a request decides how long its body takes. What the operator revokes or locks
 * meanwhile counts for the request, too.
 */

const server = await testServer();

/** Sends a request but for the last bytes of its body, and these after something else has happened; the status. */
async function statusOfSlow(
  { url, head, token, body, rest }: { url: string; head: string; token: string; body: string; rest: string },
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const client = new RawClient(url).send(
    `${head}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n${body}`,
  );
  await Bun.sleep(100);
  await meanwhile();
  const [answer] = await client.send(rest).answers();
  client.reset();
  return answer?.status ?? 0;
}

/** The same with a JSON body, of which the last byte is late. */
function statusOfJson(
  url: string,
  line: string,
  token: string,
  value: object,
  meanwhile: () => Promise<unknown>,
) {
  const text = JSON.stringify(value);
  const head = `${line} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`;
  return statusOfSlow({ url, head, token, body: text.slice(0, -1), rest: text.slice(-1) }, meanwhile);
}

const operate = async (method: string, path: string, body?: object) => {
  const answer = await server.admin(method, path, body);
  expect(answer.ok).toBe(true);
};

const ownPath = "/public/v1/application";
const hook = { webhook_url: "https://bot.example/other" };

const rotate = `POST ${ownPath}/webhook-secret`;
const subscribe = "POST /public/v1/events/subscriptions";
const wanted = { events: [{ name: "channel.followed", version: 1 }] };

test.each<[string, string, object, [method: string, path: string, body?: object] | null, number]>([
  ["nothing", `PATCH ${ownPath}`, hook, null, 200],
  ["a lock", `PATCH ${ownPath}`, hook, ["PATCH", "", { locked: ["webhook_url"] }], 403],
  ["the end of the tokens", rotate, {}, ["DELETE", "/tokens"], 401],
  ["that the application is disabled", rotate, {}, ["PATCH", "", { disabled: true }], 401],
  ["that the application loses a scope", subscribe, wanted, ["PATCH", "", { scopes: ["users:read"] }], 403],
])("%s counts for a request of an application under way: %s", async (_, line, body, change, status) => {
  const { id, token } = await server.application();
  const meanwhile = async () => {
    if (change) await operate(change[0], `/admin/v1/applications/${id}${change[1]}`, change[2]);
  };
  expect(await statusOfJson(server.publicUrl, line, token, body, meanwhile)).toBe(status);
});

const pathOf = { users: "users/batch", events: "events" };

test.each(["users", "events"] as const)(
  "the end of a key ends a batch of %s under way; its rows until then are in the audit trail",
  async (noun) => {
    const made = await server.admin("POST", "/admin/v1/keys", { name: `import ${noun}`, role: "publisher" });
    const { id, key } = await json<{ id: string; key: string }>(made);
    const line = (id: number) => `${JSON.stringify({ id, name: "x", username: `u${id}`, slug: `s${id}` })}\n`;
    const type = "Content-Type: application/x-ndjson\r\nContent-Length: 100000";
    const head = `POST /admin/v1/${pathOf[noun]} HTTP/1.1\r\n${type}`;
    const batch = { url: server.adminUrl, head, token: key, body: line(1), rest: line(2) };
    expect(await statusOfSlow(batch, () => operate("DELETE", `/admin/v1/keys/${id}`))).toBe(401);
    const entries = async () =>
      (
        await json<{ data: { object: string; count: number }[] }>(
          await server.admin("GET", `/admin/v1/audit?key=${id}`),
        )
      ).data;
    await until(async () => (await entries()).length > 0);
    expect(await entries()).toMatchObject([{ object: noun, count: 1 }]);
    if (noun !== "events") expect((await server.admin("GET", `/admin/v1/${noun}/2`)).status).toBe(404);
  },
);

test("the end of an operator key counts for a request under way", async () => {
  const made = await server.admin("POST", "/admin/v1/keys", { name: "Ada", role: "operator" });
  const { id, key } = await json<{ id: string; key: string }>(made);
  const body = { name: "a way back in", role: "operator" };
  const revoke = () => operate("DELETE", `/admin/v1/keys/${id}`);
  expect(await statusOfJson(server.adminUrl, "POST /admin/v1/keys", key, body, revoke)).toBe(401);
});
