import { expect, test } from "bun:test";
import { backupsPath, madeBackup } from "../../support/backups.ts";
import { RawClient } from "../../support/raw-client.ts";
import { json, testDirectory, testServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

/*
 * A client decides how long it takes to read an answer. What is left of a long one goes to no key that was revoked.
 */

// More than the buffers of both ends of a connection hold.
const users = Array.from({ length: 4_000 }, (_, i) => {
  return { id: i + 1, username: `user_${i + 1}`, bio: `${i} `.repeat(2_000).slice(0, 9_000) };
});
const server = await testServer({ isOnSqlite: true, data: testDirectory(), users });
const { id: backup, size_bytes: backupBytes } = await madeBackup(server);

const content = `${backupsPath}/${backup}/content`;
const longest = Math.min(backupBytes, JSON.stringify(users).length);

test.each([
  ["an export", "/admin/v1/users/batch"],
  ["a backup", content],
])("the end of a key ends %s that is being read with it", async (name, path) => {
  const made = await server.admin("POST", "/admin/v1/keys", { name, role: "operator" });
  const { id, key } = await json<{ id: string; key: string }>(made);
  const read = async (meanwhile: () => Promise<unknown>) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
    const client = new RawClient(server.adminUrl).send(head);
    await until(() => client.text.length > 0);
    client.socket.pause();
    await meanwhile();
    client.socket.resume();
    await until(() => client.hasEnded || client.isClosed);
    client.socket.destroy();
    return client.text;
  };
  const whole = await read(async () => {});
  expect([whole.length > longest, whole.endsWith("0\r\n\r\n")]).toEqual([true, true]);
  const cut = await read(() => server.admin("DELETE", `/admin/v1/keys/${id}`));
  expect([cut.startsWith("HTTP/1.1 200 "), cut.length < whole.length, cut.endsWith("0\r\n\r\n")]).toEqual([
    true,
    true,
    false,
  ]);
});
