import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import type { Finding } from "../../src/domain/findings.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { hasOpenssl, selfSigned } from "../support/certificates.ts";
import { program, type ServerProcess, serve } from "../support/process.ts";
import { event, subscribe } from "../support/publishing.ts";
import { RawClient } from "../support/raw-client.ts";
import { users } from "../support/real-data.ts";
import { adminKey, ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * One client with more connections to the public listener than the process may have descriptors.
 */

const [descriptors, connections] = [256, 300];
/** With a limit of its own, which Bun cannot raise. */
const limited = ["sh", "-c", `ulimit -n ${descriptors} && exec "$@"`, "sh", ...program];

let server: ServerProcess;
async function begin(isSecure = false, args: readonly string[] = []): Promise<void> {
  const pair = isSecure ? selfSigned(ownDirectory(), "localhost") : null;
  const tls = pair ? ["--tls-cert", pair.cert, "--tls-key", pair.key] : [];
  server = await serve(["--data", ownDirectory(), "--rate-limit", "0", ...tls, ...args], {
    command: limited,
  });
  afterThisTest(() => server.end("SIGKILL"));
  await server.load("users", users.slice(0, 50));
}

const request = "GET /public/v1/categories HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Opens connections that each send these bytes, and keeps them. */
function open(bytes: string, count = connections): Socket[] {
  const { protocol, hostname: host, port } = new URL(server.publicUrl);
  const to = { host, port: Number(port), rejectUnauthorized: false };
  return Array.from({ length: count }, () => {
    const socket = protocol === "https:" ? connectSecurely(to) : connect(to);
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
  const tls = { rejectUnauthorized: false };
  const within = { signal: AbortSignal.timeout(10_000), headers, tls };
  const answers = await Promise.all([
    fetch(`${server.adminUrl}/healthz`, within),
    fetch(`${server.adminUrl}/readyz`, within),
    fetch(`${server.publicUrl}/public/v1/categories`, within),
    server.admin("POST", "/admin/v1/events", event("channel.followed")),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 202]);
}

const isLinux = process.platform === "linux";

test.skipIf(!isLinux || !hasOpenssl).each([
  ["have had an answer and are kept", request, false],
  ["send nothing", "", false],
  ["send half of a head", request.slice(0, 30), false],
  ["have had an answer by TLS and are kept", request, true],
  ["send nothing behind the handshake of TLS", "", true],
])(
  "connections that %s leave descriptors to everybody else",
  async (_, bytes, isSecure) => {
    await begin(isSecure);
    const sockets = open(bytes);
    await until(() => openDescriptors() === descriptors || sockets.some(({ destroyed }) => destroyed));
    for (let i = 0; i < 5; i++) await othersAreServed();
    await until(() => openDescriptors() <= (descriptors * 3) / 4);
  },
  60_000,
);

test.skipIf(!isLinux)(
  "a request whose body is still coming and an event stream go on meanwhile",
  async () => {
    await begin();
    const application = await server.application({ delivery: "stream" });
    await subscribe(server, application, ["channel.followed"]);
    const stream = await server.get("/public/v1/events/stream", application.token);
    let streamed = "";
    const reading = (async () => {
      for await (const bytes of stream.body ?? []) streamed += new TextDecoder().decode(bytes);
    })().catch(() => {});
    const client = new RawClient(server.publicUrl);
    client.send("POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n");
    client.send("Content-Type: application/x-www-form-urlencoded\r\n\r\nclient_");
    // Longer than an idle connection may be quiet. So these two would be the first to go.
    await Bun.sleep(3_500);
    open("");
    await until(() => openDescriptors() === descriptors);
    await until(() => openDescriptors() <= (descriptors * 3) / 4);
    await othersAreServed();
    await until(() => streamed.includes("event: channel.followed"));
    const [answer] = await client.send("id=").answers();
    expect(answer?.status).toBe(401);
    expect(client.isClosed).toBe(false);
    await server.end("SIGKILL");
    await reading;
  },
  60_000,
);

test.skipIf(!isLinux)(
  "findings need a thread, which is not started without descriptors: Bun would end the process",
  async () => {
    await begin();
    const admin = new RawClient(server.adminUrl);
    const find = () =>
      admin.send(
        `GET /admin/v1/findings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${adminKey}\r\n\r\n`,
      );
    const [before] = await find().answers();
    expect([before?.status, before?.body]).toEqual([200, expect.not.stringContaining("too many open files")]);
    // Findings are cached for so long.
    await Bun.sleep(10_000);
    open("");
    await until(() => openDescriptors() === descriptors);
    const [, answer] = await find().answers(2);
    expect(answer?.status).toBe(200);
    const { data: findings } = JSON.parse(answer?.body ?? "") as { readonly data: readonly Finding[] };
    // Without advice on the disk.
    expect(findings.filter(({ message }) => message.includes("too many open files"))).toEqual([
      { check: "data_directory", status: "skipped", message: expect.any(String), advice: null },
    ]);
    await until(() => openDescriptors() <= (descriptors * 3) / 4);
    await othersAreServed();
  },
  60_000,
);

test.skipIf(!isLinux)(
  "the platform's keys are fetched with few free descriptors, and fail to be fetched with none",
  async () => {
    let keyRequests = 0;
    const keys = Bun.serve({
      port: 0,
      fetch() {
        keyRequests++;
        return Response.json({ keys: [] });
      },
    });
    afterThisTest(() => keys.stop(true));
    const { origin } = keys.url;
    await begin(false, ["--jwks-url", `${origin}/keys`, "--jwt-issuer", origin, "--jwt-audience", "onair"]);
    const admin = new RawClient(server.adminUrl);
    let asked = 0;
    /** An answer is a turn of the server's event loop. */
    const turnOfServer = () =>
      admin.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").answers(++asked);
    await turnOfServer();
    const before = openDescriptors();
    const header = Buffer.from(JSON.stringify({ alg: "RS256", kid: "1" })).toString("base64url");
    const withJwt = `GET /public/v1/users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${header}.e30.e30\r\n\r\n`;
    // Each of these connections has a request that is being handled, so none has to make room.
    const begun = `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nclient_`;
    const others = open(begun, descriptors);
    await until(() => openDescriptors() === descriptors);
    // Accepted when others have gone; those that wait behind it then take the descriptors that are free.
    const refused = new RawClient(server.publicUrl).send(withJwt);
    others.push(...open(begun, connections - descriptors));
    // So many wait before it, but for a few.
    for (const socket of others.splice(0, before - 6)) socket.destroy();
    while (refused.text === "") {
      others.shift()?.destroy();
      // One to close, one to accept, one to read what was sent.
      for (let turn = 0; turn < 3; turn++) await turnOfServer();
    }
    expect([(await refused.answers())[0]?.status, keyRequests]).toEqual([503, 0]);

    for (const socket of others.splice(descriptors - 16 - before)) socket.destroy();
    await until(() => openDescriptors() < descriptors - 8);
    // Fewer than a new thread would have to find.
    expect(openDescriptors()).toBeGreaterThan((descriptors * 7) / 8);
    const [unknown] = await new RawClient(server.publicUrl).send(withJwt).answers();
    expect([unknown?.status, keyRequests]).toEqual([401, 1]);
    await othersAreServed();
  },
  60_000,
);
