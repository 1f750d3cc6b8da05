import { expect, test } from "bun:test";
import { connect } from "node:net";
import { json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * A client that has sent the head of a request decides how long its body takes. What the operator revokes or locks
 * meanwhile counts for the request, too.
 */

const server = await testServer();

interface Slow {
  readonly url: string;
  readonly head: string;
  readonly token: string;
  readonly body: object;
}

/** The status of a request that is let in, and whose body ends after something else has happened. */
async function statusOfSlow(
  { url, head, token, body }: Slow,
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const { hostname, port } = new URL(url);
  const answered = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  socket.on("data", (bytes) => answered.resolve(bytes.toString()));
  socket.on("error", answered.reject);
  const text = JSON.stringify(body);
  socket.write(
    `${head} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, -1)}`,
  );
  await Bun.sleep(100);
  await meanwhile();
  socket.write(text.slice(-1));
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(await answered.promise) ?? [];
  socket.destroy();
  return Number(status);
}

const operate = async (method: string, path: string, body?: object) => {
  const answer = await server.admin(method, path, body);
  expect(answer.ok).toBe(true);
};

const ownPath = "/public/v1/application";
const hook = { webhook_url: "https://bot.example/other" };

test.each<[string, string, object, (id: string) => Promise<unknown>, number]>([
  ["nothing", `PATCH ${ownPath}`, hook, async () => {}, 200],
  [
    "a lock",
    `PATCH ${ownPath}`,
    hook,
    (id) => operate("PATCH", `/admin/v1/applications/${id}`, { locked: ["webhook_url"] }),
    403,
  ],
  [
    "the end of the tokens",
    `POST ${ownPath}/webhook-secret`,
    {},
    (id) => operate("DELETE", `/admin/v1/applications/${id}/tokens`),
    401,
  ],
  [
    "that the application is disabled",
    `POST ${ownPath}/webhook-secret`,
    {},
    (id) => operate("PATCH", `/admin/v1/applications/${id}`, { disabled: true }),
    401,
  ],
  [
    "that the application loses a scope",
    "POST /public/v1/events/subscriptions",
    { events: [{ name: "channel.followed", version: 1 }] },
    (id) => operate("PATCH", `/admin/v1/applications/${id}`, { scopes: ["users:read"] }),
    403,
  ],
])("%s counts for a request of an application under way: %s", async (_, head, body, meanwhile, status) => {
  const { id, token } = await server.application();
  const url = server.app.publicUrl;
  expect(await statusOfSlow({ url, head, token, body }, () => meanwhile(id))).toBe(status);
});

const pathOf = { users: "users/batch", categories: "categories/batch", events: "events" };

test.each(["users", "categories", "events"] as const)(
  "the end of a key ends a batch of %s under way; what it did until then is in the audit trail",
  async (noun) => {
    const made = await server.admin("POST", "/admin/v1/keys", { name: `import ${noun}`, role: "publisher" });
    const { id, key } = await json<{ id: string; key: string }>(made);
    const { hostname, port } = new URL(server.app.adminUrl);
    const answered = Promise.withResolvers<string>();
    const socket = connect(Number(port), hostname);
    socket.on("data", (bytes) => answered.resolve(bytes.toString()));
    socket.on("error", answered.reject);
    const line = (id: number) => `${JSON.stringify({ id, name: "x", username: `u${id}`, slug: `s${id}` })}\n`;
    const head = `POST /admin/v1/${pathOf[noun]} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}`;
    const type = "Content-Type: application/x-ndjson\r\nContent-Length: 100000";
    socket.write(`${head}\r\n${type}\r\n\r\n${line(1)}`);
    await Bun.sleep(100);
    await operate("DELETE", `/admin/v1/keys/${id}`);
    socket.write(line(2));
    expect(await answered.promise).toStartWith("HTTP/1.1 401");
    socket.destroy();
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
  const head = "POST /admin/v1/keys";
  const body = { name: "a way back in", role: "operator" };
  const revoke = () => operate("DELETE", `/admin/v1/keys/${id}`);
  const slow = { url: server.app.adminUrl, head, token: key, body };
  expect(await statusOfSlow(slow, revoke)).toBe(401);
});
