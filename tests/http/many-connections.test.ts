import { beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterThisTest } from "../support/after-tests.ts";
import { program, type ServerProcess, serve } from "../support/process.ts";
import { event } from "../support/publishing.ts";
import { RawClient } from "../support/raw-client.ts";
import { users } from "../support/real-data.ts";
import { ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * One client with more connections to the public listener than the process may have descriptors.
 */

const [descriptors, connections] = [1_024, 1_100];
/** With a limit of its own, which Bun cannot raise. */
const limited = ["sh", "-c", `ulimit -n ${descriptors} && exec "$@"`, "sh", ...program];

let server: ServerProcess;
beforeEach(async () => {
  server = await serve(["--data", ownDirectory(), "--rate-limit", "0"], { command: limited });
  afterThisTest(() => server.end("SIGKILL"));
  await server.load("users", users.slice(0, 10));
});

const request = "GET /public/v1/categories HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Opens connections that each send these bytes, and keeps them. */
function open(bytes: string): Socket[] {
  const { hostname, port } = new URL(server.publicUrl);
  return Array.from({ length: connections }, () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    if (bytes !== "") socket.write(bytes);
    socket.resume();
    afterThisTest(() => void socket.destroy());
    return socket;
  });
}

const openDescriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;

/** What the others get meanwhile. A new connection is used for each, as by a probe. */
async function othersAreServed(): Promise<void> {
  const headers = { connection: "close" };
  const within = { signal: AbortSignal.timeout(10_000), headers };
  const answers = await Promise.all([
    fetch(`${server.adminUrl}/healthz`, within),
    fetch(`${server.adminUrl}/readyz`, within),
    fetch(`${server.publicUrl}/public/v1/categories`, within),
    server.admin("POST", "/admin/v1/events", event("channel.followed")),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 202]);
}

test.skipIf(process.platform !== "linux").each([
  ["have had an answer and are kept", request],
  ["send nothing", ""],
  ["send half of a head", request.slice(0, 30)],
])(
  "connections that %s leave descriptors to everybody else",
  async (_, bytes) => {
    const sockets = open(bytes);
    await until(() => openDescriptors() === descriptors || sockets.some(({ destroyed }) => destroyed));
    for (let i = 0; i < 5; i++) await othersAreServed();
    await until(() => openDescriptors() <= (descriptors * 3) / 4);
  },
  60_000,
);

test.skipIf(process.platform !== "linux")(
  "a request whose body is still coming and an event stream go on meanwhile",
  async () => {
    const { token } = await server.application({ delivery: "stream" });
    const stream = await server.get("/public/v1/events/stream", token);
    const reader = stream.body?.getReader();
    const client = new RawClient(server.publicUrl);
    client.send("POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n");
    client.send("Content-Type: application/x-www-form-urlencoded\r\n\r\nclient_");
    // It is the oldest of the connections without an answer.
    await until(() => client.socket.readyState === "open");
    open("");
    await until(() => openDescriptors() === descriptors);
    await until(() => openDescriptors() <= (descriptors * 3) / 4);
    await othersAreServed();
    expect(await reader?.read()).toMatchObject({ done: false });
    const [answer] = await client.send("id=").answers();
    expect(answer?.status).toBe(401);
    expect(client.isClosed).toBe(false);
  },
  60_000,
);
