import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { closedPort } from "../../support/ports.ts";
import { ownDirectory } from "../../support/server.ts";
import {
  certificate,
  delivery,
  rawReceiver,
  resolveInTurn,
  resolveTo,
  respond,
  sender,
} from "../fixtures/receiver.ts";

describe("no connection", () => {
  test("where nothing listens", async () => {
    for (const url of [`http://hook.test:${closedPort}/`, `http://127.0.0.1:${closedPort}/`]) {
      expect(await sender().send(delivery(url))).toMatchObject({
        class: "refused",
        status: null,
        error: "The connection was refused.",
        repeated: false,
      });
    }
  });

  test("to one address, but to the next", async () => {
    const target = await respond();
    const resolve = resolveTo("::1", "127.0.0.1");
    expect(await sender({ resolve }).send(delivery(target.url))).toMatchObject({ class: "ok" });
  });

  test("without an address", async () => {
    expect(await sender({ resolve: resolveTo() }).send(delivery("http://hook.test/"))).toMatchObject({
      class: "dns",
      error: "The host name could not be resolved (ENOTFOUND).",
    });
  });

  test("while a resolver does not answer", async () => {
    expect(
      await sender({ resolve: () => {}, timeoutMs: 30 }).send(delivery("http://hook.test/")),
    ).toMatchObject({
      class: "timeout",
      error: "The time limit of 0.03 s was reached while resolving the host name.",
    });
  });

  test("by the system's resolver to a name that cannot exist (RFC 6761)", async () => {
    const { class: kind, error } = await sender({ resolve: undefined }).send(
      delivery("http://hook.invalid/"),
    );
    expect(kind).toBe("dns");
    expect(error).not.toContain("hook.invalid");
  });
});

describe("TLS", () => {
  test("by a trusted certificate for the name or address", async () => {
    const target = await respond(204, { tls: true });
    const one = sender({ ca: certificate });
    for (const url of [target.url, `https://127.0.0.1:${target.port}/`]) {
      expect(await one.send(delivery(url))).toMatchObject({ class: "ok", status: 204 });
    }
  });

  test("fails with an untrusted certificate", async () => {
    const target = await respond(204, { tls: true });
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "tls",
      status: null,
      error: "No trusted TLS connection could be made (DEPTH_ZERO_SELF_SIGNED_CERT).",
    });
    expect(target.requests).toHaveLength(0);
  });

  test("fails by a certificate for another name", async () => {
    const target = await respond(204, { tls: true });
    const result = await sender({ ca: certificate }).send(delivery(`https://other.test:${target.port}/`));
    expect(result).toMatchObject({ class: "tls", error: "The certificate is not valid for this host name." });
    expect(target.requests).toHaveLength(0);
  });

  test("fails where there is none", async () => {
    const target = await respond();
    const result = await sender().send(delivery(`https://hook.test:${target.port}/`));
    expect(result).toMatchObject({ class: "tls", status: null });
    expect(target.requests).toHaveLength(0);
  });

  test("fails at once where the other side closes instead", async () => {
    for (const how of ["end", "resetAndDestroy"] as const) {
      const target = await rawReceiver((socket) => socket[how]());
      const result = await sender().send(delivery(`https://hook.test:${target.port}/`));
      expect(["reset", "tls"]).toContain(result.class);
      expect(target.connections).toHaveLength(1);
    }
  });

  test("is tried with the next address too", async () => {
    const target = await respond(204, { tls: true });
    const resolve = resolveTo("::1", "127.0.0.1");
    expect(await sender({ resolve, ca: certificate }).send(delivery(target.url))).toMatchObject({
      class: "ok",
    });
  });

  test("is closed too when the receiver answered without reading the request", async () => {
    const sockets: Socket[] = [];
    const target = await rawReceiver(
      (socket, count) => {
        if (count > 1) return;
        sockets.push(socket.pause());
        socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
      },
      { tls: true },
    );
    const large = new Uint8Array(30_000_000);
    const result = await sender({ ca: certificate }).send({ ...delivery(target.url), body: large });
    expect(result).toMatchObject({ class: "status", status: 413 });
    sockets[0]?.resume();
    await target.connections[0]?.closed;
  });

  test("fails in time where the other side says nothing", async () => {
    const target = await rawReceiver(() => {});
    expect(
      await sender({ timeoutMs: 300 }).send(delivery(`https://hook.test:${target.port}/`)),
    ).toMatchObject({
      class: "timeout",
      error: "The time limit of 0.3 s was reached while agreeing on encryption.",
    });
    await target.connections[0]?.closed;
  });

  test("is not spoken to by plain http", async () => {
    const target = await respond(204, { tls: true });
    const { class: kind } = await sender().send(delivery(`http://hook.test:${target.port}/`));
    expect(["reset", "protocol"]).toContain(kind);
    expect(target.requests).toHaveLength(0);
  });
});

describe("addresses that are not public", () => {
  test("are not called by any notation, and http is not at all", async () => {
    const target = await respond(200, { tls: true });
    const one = sender({ allowPrivate: false, ca: certificate, resolve: undefined });
    const hosts = [
      "127.0.0.1",
      "127.1",
      "0x7f.1",
      "0177.0.0.1",
      "2130706433",
      "0",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "localhost",
      "hook.localhost",
    ];
    for (const url of [
      ...hosts.map((host) => `https://${host}:${target.port}/`),
      `http://hook.test:${target.port}/`,
      "file:///etc/passwd",
      "nonsense",
    ]) {
      const result = await one.send(delivery(url));
      expect({ url, ...result }).toMatchObject({ url, class: "blocked", status: null, durationMs: 0 });
    }
    expect(target.connections).toHaveLength(0);
  });

  test("are not called by a name that resolves to one, alone or among others", async () => {
    const target = await respond(200, { tls: true });
    for (const answer of [
      ["127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["2000::1", "127.0.0.1"],
      ["10.0.0.1", "::1"],
    ]) {
      const { resolve, asked } = resolveInTurn(answer);
      const result = await sender({ allowPrivate: false, ca: certificate, resolve }).send(
        delivery(target.url),
      );
      expect(result).toMatchObject({
        class: "blocked",
        status: null,
        error: "The host name resolves to an address that is not public.",
      });
      expect(asked).toEqual(["hook.test"]);
    }
    expect(target.connections).toHaveLength(0);
  });

  test("are not called by a name that was public the last time", async () => {
    const target = await respond(200, { tls: true });
    // Within global unicast, and unassigned: the connection is tried, and fails.
    const { resolve, asked } = resolveInTurn(["2000::1"], ["127.0.0.1"]);
    const one = sender({ allowPrivate: false, ca: certificate, resolve, timeoutMs: 100 });
    const first = await one.send(delivery(target.url));
    expect(["unreachable", "refused", "timeout"]).toContain(first.class);
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "blocked" });
    expect(asked).toHaveLength(2);
    expect(target.connections).toHaveLength(0);
  });

  test("the name is resolved once for a connection: the checked address is the one it connects to", async () => {
    const target = await respond();
    const { resolve, asked } = resolveInTurn(["127.0.0.1"], ["192.0.2.1"]);
    const one = sender({ resolve });
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    }
    expect(asked).toHaveLength(1);
  });
});

const [servers, hostsFile] = ["/etc/resolv.conf", "/etc/hosts"];

/** In a mount namespace of its own, a program can have its own versions of these files. */
const probe = `mount --bind ${servers} ${servers} && mount --bind ${hostsFile} ${hostsFile}`;
const canUnshare =
  process.platform === "linux" &&
  Bun.spawnSync(["unshare", "--mount", "sh", "-c", probe], { stderr: "ignore" }).success;
if (!canUnshare) console.warn("SKIPPED: no mount namespace can be made here: NAME SERVERS ARE NOT TESTED.");

test.skipIf(!canUnshare)(
  "name servers that do not respond hold up neither other names nor files",
  async () => {
    const directory = ownDirectory();
    const [resolvConf, hosts] = [join(directory, "resolv.conf"), join(directory, "hosts")];
    for (const file of [resolvConf, hosts]) writeFileSync(file, "");
    const program = join(import.meta.dir, "../fixtures/silent-names.ts");
    const script =
      'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts && exec "$3" "$4" "$1" "$2"';
    const words = ["--mount", "sh", "-c", script, "sh", resolvConf, hosts, process.execPath, program];
    const child = Bun.spawn(["unshare", ...words], { stdout: "pipe", stderr: "inherit", timeout: 10_000 });
    expect(JSON.parse(await child.stdout.text())).toEqual({
      beside: ["93.184.216.34"],
      lines: 3,
      listed: ["192.0.2.7"],
      missing: "ENOTFOUND",
      refused: "ECONNREFUSED",
      changed: ["93.184.216.34"],
    });
  },
);
