import { test as anyTest, expect } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { day, second } from "../../src/domain/time.ts";
import { CertificateWatch, readCertificate } from "../../src/operations/certificates.ts";
import { createLog } from "../../src/runtime/log.ts";
import { ConfigError, readConfig } from "../../src/server/settings/read-config.ts";
import { type CertificatePair, hasOpenssl, selfSigned } from "../support/certificates.ts";
import { adminKey, ownServer, testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const test = anyTest.skipIf(!hasOpenssl);
const directory = testDirectory();
const one = selfSigned(directory, "one");
const other = selfSigned(directory, "other");

/** A file in the directory. */
function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

/** A pair of files that can be overwritten. */
function copyOf(pair: CertificatePair, name: string): CertificatePair {
  const copy = { cert: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  renew(copy, pair);
  return copy;
}

function renew(pair: CertificatePair, by: CertificatePair): void {
  copyFileSync(by.cert, pair.cert);
  copyFileSync(by.key, pair.key);
}

const named = ({ cert, key }: CertificatePair) => ({
  cert: { option: "--tls-cert", path: cert },
  key: { option: "--tls-key", path: key },
  clientCa: null,
});

const tls = { rejectUnauthorized: false };

/** The name in the certificate of a new connection, and the version of TLS; or an error's code. */
function handshake(url: string, options: object = {}): Promise<string> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), ...tls, ...options }, () => {
      resolve(`${socket.getPeerCertificate().subject.CN} ${socket.getProtocol()}`);
      socket.end();
    });
    socket.on("error", () => resolve("refused"));
  });
}

const mistakesOf = (args: readonly string[]) => {
  try {
    readConfig(args, {});
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split("\n");
  }
};

const [, key = ""] = readFileSync(one.key, "utf8").split("\n");

test.each<[string, string, string, RegExp]>([
  [
    "another key",
    one.cert,
    other.key,
    /^--tls-key names .*other\.key, which is not the key of the first certificate in .*one\.crt$/,
  ],
  ["no such file", join(directory, "none"), one.key, /^--tls-cert names .*none, which does not exist$/],
  ["a directory", directory, one.key, /which is a directory$/],
  ["no PEM", file("no-pem.crt", "hello"), one.key, /^--tls-cert names .*, which has no certificate in PEM/],
  ["the two exchanged", one.key, one.cert, /^--tls-cert names .*one\.key, which has no certificate in PEM/],
  [
    "a damaged chain",
    file(
      "chain.crt",
      `${readFileSync(one.cert, "utf8")}-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`,
    ),
    one.key,
    /damaged certificate: number 2 of 2$/,
  ],
  [
    "no key in PEM",
    one.cert,
    file("no-pem.key", key),
    /^--tls-key names .*, which has no private key in PEM/,
  ],
  [
    "a damaged key",
    one.cert,
    file("damaged.key", `-----BEGIN PRIVATE KEY-----\n${key.slice(4)}\n-----END PRIVATE KEY-----\n`),
    /damaged private key$/,
  ],
  [
    "an encrypted key",
    one.cert,
    file("locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"),
    /without a passphrase$/,
  ],
])(
  "%s is reported as a mistake in the settings, in one sentence without the key",
  (_, cert, keyFile, sentence) => {
    const mistakes = mistakesOf(["--tls-cert", cert, "--tls-key", keyFile]);
    expect(mistakes).toEqual([expect.stringMatching(sentence)]);
    expect(mistakes.join()).not.toContain(key);
  },
);

test.each([
  [["--tls-cert", one.cert], "--tls-cert and --tls-key must be given together"],
  [["--admin-tls-key", one.key], "--admin-tls-cert and --admin-tls-key must be given together"],
  [["--admin-tls-client-ca", one.cert], "--admin-tls-client-ca requires --admin-tls-cert"],
  [["--redirect-port", "0"], "--redirect-port requires a --public-url with https, the target of redirects"],
])("%p is an incomplete setting", (args, sentence) => {
  expect(mistakesOf(args)).toEqual([sentence]);
});

test("a certificate that has expired, or is not valid yet, is refused", () => {
  const at = (days: number) => () => readCertificate(named(one), Date.now() + days * day);
  expect(at(0)().expiresAt).toBeGreaterThan(Date.now() + 29 * day);
  expect(at(31)).toThrow(/^--tls-cert names .*one\.crt, which expired at 20\S+Z: renew it$/);
  expect(at(-1)).toThrow(/which is not valid before 20\S+Z: check the clock of this machine$/);
});

test("both listeners accept TLS 1.2 and newer, and their URLs begin with https", async () => {
  const { app } = await tlsServer(one);
  expect([app.publicUrl, app.adminUrl]).toEqual([
    expect.stringMatching(/^https:/),
    expect.stringMatching(/^https:/),
  ]);
  for (const [url, name] of [
    [app.publicUrl, "one"],
    [app.adminUrl, "other"],
  ] as const) {
    const versions = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];
    const got = await Promise.all(versions.map((v) => handshake(url, { minVersion: v, maxVersion: v })));
    expect(got).toEqual(["refused", "refused", `${name} TLSv1.2`, `${name} TLSv1.3`]);
    await expect(fetch(url.replace("https", "http"))).rejects.toThrow();
  }
  const answer = await fetch(`${app.publicUrl}/public/v1/public-key`, { tls });
  expect([answer.status, answer.headers.get("strict-transport-security")]).toEqual([200, "max-age=3600"]);
});

test("a renewed certificate is used; a request and a stream in progress continue", async () => {
  const pair = copyOf(one, "renewed");
  const server = await tlsServer(pair);
  const { app } = server;
  const { token } = await application(app.adminUrl, app.publicUrl);
  const stream = await fetch(`${app.publicUrl}/public/v1/events/stream`, {
    headers: { authorization: `Bearer ${token}` },
    tls,
  });
  expect([stream.status, await handshake(app.publicUrl)]).toEqual([200, "one TLSv1.3"]);
  renew(pair, other);
  app.certificates.check();
  expect(await handshake(app.publicUrl)).toBe("other TLSv1.3");
  expect((await fetch(`${app.publicUrl}/public/v1/public-key`, { tls })).status).toBe(200);
  const reader = stream.body?.getReader();
  // The stream of the previous listener still receives events, and ends with the server.
  expect((await reader?.read())?.done).toBe(false);
  await server.stop();
  let last = await reader?.read();
  while (last && !last.done) last = await reader?.read();
  expect(last?.done).toBe(true);
});

test("an invalid renewal is logged once, and the previous certificate stays", async () => {
  const pair = copyOf(one, "half-way");
  const lines: string[] = [];
  const log = createLog("info", Date.now, {
    write: (bytes) => void lines.push(...new TextDecoder().decode(bytes).trim().split("\n")),
    flush: async () => {},
    linesLeftOut: 0,
  });
  let now = Date.now();
  const taken: string[] = [];
  const files = named(pair);
  const watch = new CertificateWatch({ log, now: () => now, everyMs: second / 100 });
  const certificate = readCertificate(files, now);
  watch.add({ name: "public", certificate, replace: ({ cert }) => void taken.push(cert) });
  copyFileSync(other.cert, pair.cert); // the key comes later
  watch.check();
  watch.check();
  expect(taken).toEqual([]);
  copyFileSync(other.key, pair.key);
  await until(() => taken.length > 0); // by itself
  watch.stop();
  expect(taken).toEqual([readFileSync(other.cert, "utf8")]);
  now += 20 * day;
  watch.check();
  watch.check();
  await log.flush();
  const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
  expect(events).toEqual(["certificate_not_taken", "certificate_replaced", "certificate_expires"]);
  expect(lines.join()).not.toContain("PRIVATE");
});

test("the admin listener accepts only clients with a certificate of its authority", async () => {
  const { app } = await tlsServer(one, ["--admin-tls-client-ca", one.cert]);
  const ask = (pair?: CertificatePair) => {
    const mine = pair && { cert: readFileSync(pair.cert, "utf8"), key: readFileSync(pair.key, "utf8") };
    return fetch(`${app.adminUrl}/healthz`, { keepalive: false, tls: { ...tls, ...mine } });
  };
  await expect(ask()).rejects.toThrow();
  await expect(ask(other)).rejects.toThrow();
  expect((await ask(one)).status).toBe(200);
  expect((await fetch(`${app.publicUrl}/public/v1/public-key`, { tls })).status).toBe(200);
});

test("plain HTTP is redirected to the public URL, whatever the Host header", async () => {
  const { app } = await tlsServer(one, ["--redirect-port", "0", "--public-url", "https://api.example.com"]);
  const url = `http://127.0.0.1:${app.redirectPort}/public/v1/users/maya?a=b%20c`;
  const answer = await fetch(url, { redirect: "manual", headers: { host: "evil.example.net" } });
  expect([answer.status, answer.headers.get("location")]).toEqual([
    308,
    "https://api.example.com/public/v1/users/maya?a=b%20c",
  ]);
});

test("a port in use is reported, with TLS too", async () => {
  const { app } = await tlsServer(one);
  const { port } = new URL(app.publicUrl);
  await expect(tlsServer(one, ["--port", port])).rejects.toThrow(
    `port ${port}: another program uses this port`,
  );
});

async function tlsServer(pair: CertificatePair, more: readonly string[] = []) {
  const admin = ["--admin-tls-cert", other.cert, "--admin-tls-key", other.key];
  const args = ["--tls-cert", pair.cert, "--tls-key", pair.key, "--hsts", "3600", ...admin, ...more];
  return ownServer({ args });
}

/** An application of a server whose certificate nobody knows. */
async function application(adminUrl: string, publicUrl: string): Promise<{ token: string }> {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Bot", delivery: "stream" });
  const made = await fetch(`${adminUrl}/admin/v1/applications`, { method: "POST", headers, body, tls });
  const { client_id, client_secret } = (await made.json()) as Record<string, string>;
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    ...(client_id && client_secret ? { client_id, client_secret } : {}),
  });
  const answer = await fetch(`${publicUrl}/oauth/token`, { method: "POST", body: form, tls });
  const { access_token } = (await answer.json()) as { access_token: string };
  return { token: access_token };
}
