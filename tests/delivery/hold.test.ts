import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "../../src/runtime/log.ts";
import { backupFiles, madeBackup } from "../support/backups.ts";
import { metricsText } from "../support/metrics.ts";
import { run } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { ownReceiver, type Receiver } from "../support/receiver.ts";
import { adminKey, isOnPostgres, json, ownDirectory, ownServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

// Servers that hold everything back which they would send by themselves, until they are released.

const path = "/admin/v1/deliveries/hold";
const heldSince = async (server: TestServer) =>
  (await json<{ held_since: string | null }>(await server.admin("GET", path))).held_since;
const isHeld = async (server: TestServer) => /^onair_deliveries_held 1$/m.test(await metricsText(server));

let data: string;
let receiver: Receiver;
beforeEach(() => {
  data = ownDirectory();
  receiver = ownReceiver();
});

/** Publishes an event for an application of its own. */
async function published(server: TestServer, id: string): Promise<void> {
  await server.load("users", [{ id: 1001, username: "maya" }]);
  const app = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  expect((await publish(server, event("channel.followed", { id }))).status).toBe(202);
}

describe("with --hold-deliveries", () => {
  const args = ["--hold-deliveries"];

  test("published events are stored, and sent after the release", async () => {
    const lines: string[] = [];
    const log = createLog("warn", Date.now, {
      write: (bytes) => void lines.push(new TextDecoder().decode(bytes)),
      flush: async () => {},
      linesLeftOut: 0,
    });
    const server = await ownServer({ data, args: [...args, "--log-level", "warn"], log });
    // Lines are gathered for a moment.
    await until(() => lines.join("").includes("to start sending: onair deliveries release"));
    expect([await isHeld(server), await heldSince(server)]).toEqual([true, expect.stringMatching(/Z$/)]);
    await published(server, "one");
    // A server that stops waits for attempts under way.
    await server.stop();
    expect(receiver.received).toEqual([]);

    // The hold is stored.
    const again = await ownServer({ data });
    await published(again, "two");
    expect(await isHeld(again)).toBe(true);
    expect((await fetch(`${again.adminUrl}/readyz`)).status).toBe(200);
    expect(receiver.received).toEqual([]);
    expect((await again.admin("DELETE", path)).status).toBe(204);
    const arrived = await receiver.arrived(3);
    expect(arrived.map(({ headers }) => headers["onair-event-id"]).sort()).toEqual(["one", "two", "two"]);
    expect([await isHeld(again), await heldSince(again)]).toEqual([false, null]);
    expect((await again.admin("DELETE", path)).status).toBe(204);
    await again.stop();

    const released = await ownServer({ data });
    expect(await isHeld(released)).toBe(false);
    await published(released, "three");
    await receiver.arrived(6);
    await released.stop();
    // The option holds at each start.
    expect(await isHeld(await ownServer({ data, args }))).toBe(true);
  });

  test("notices to the operator wait, too", async () => {
    const server = await ownServer({ data, args: [...args, "--notify-url", receiver.url] });
    await server.app.engine.notify("backup.failed", { summary: "A backup failed.", advice: null });
    await server.stop();
    expect(receiver.received).toEqual([]);
    const again = await ownServer({ data, args: ["--notify-url", receiver.url] });
    await again.admin("DELETE", path);
    const [notice] = await receiver.arrived(1);
    expect(notice?.body).toContain("A backup failed.");
  });
});

describe.skipIf(isOnPostgres)("a restored backup", () => {
  const env = { ONAIR_ADMIN_KEY: adminKey };
  const restored = () => join(data, "restored");

  beforeEach(async () => {
    const server = await ownServer({ data: join(data, "first"), args: ["--hold-deliveries"] });
    await published(server, "pending");
    await server.admin("DELETE", path);
    await receiver.arrived(1);
    await madeBackup(server);
    await server.stop();
    const file = join(data, "first", "backups", backupFiles(join(data, "first"))[0] ?? "");
    const { code, stdout, stderr } = await run(["restore", file, "--data", restored()]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Once no other server of this data runs, let it send: onair deliveries release");
  });

  test("sends nothing until the hold of the running server is ended", async () => {
    const server = await ownServer({ data: restored() });
    await published(server, "new");
    expect(await isHeld(server)).toBe(true);
    const release = ["deliveries", "release", "--url", server.adminUrl];
    const told = await run(release, { env });
    expect([told.code, told.stderr]).toEqual([0, ""]);
    expect(told.stdout).toMatch(/^The deliveries held since 20\S+Z are now sent\.\n$/);
    await receiver.arrived(2);
    await until(async () => !(await isHeld(server)));
    expect((await run(release, { env })).stdout).toBe("No deliveries were held.\n");
  });

  test("can be released before the server starts", async () => {
    expect((await run(["deliveries", "release", "--data", restored()])).code).toBe(0);
    expect(await isHeld(await ownServer({ data: restored() }))).toBe(false);
  });
});
