import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { isLoopback } from "../../src/operations/checks/requests.ts";
import { hasOpenssl, selfSigned } from "../support/certificates.ts";
import { endedServer, freePorts, ofCheck, statuses } from "../support/doctor.ts";
import { ownDirectory } from "../support/server.ts";

// Findings of `onair doctor` in settings, ports and certificates.

const { path, copy, examined } = await endedServer();

test("files with secrets must be readable by their owner only, whichever setting names them", async () => {
  const named = (name: string, mode: number) => {
    writeFileSync(path(name), `whsec_${"a".repeat(32)}`);
    chmodSync(path(name), mode);
    return path(name);
  };
  const settings = path("onair.toml");
  writeFileSync(settings, `notify-secret-file = "${named("notify", 0o644)}"`);
  const args = ["--config", settings, "--data", copy(), ...freePorts];
  const report = await examined(args, { ONAIR_ADMIN_KEY_FILE: named("admin-key", 0o604) });
  const found = ofCheck(report, "file_modes").filter(({ status }) => status === "warning");
  expect(found.map(({ message, advice }) => [message, advice])).toEqual([
    [expect.stringContaining(`${path("admin-key")} holds a secret`), `chmod o= ${path("admin-key")}`],
    [expect.stringContaining(`${path("notify")} holds a secret`), `chmod o= ${path("notify")}`],
  ]);
  for (const name of ["admin-key", "notify"]) chmodSync(path(name), 0o640);
  const fixed = await examined(args, { ONAIR_ADMIN_KEY_FILE: path("admin-key") });
  expect(ofCheck(fixed, "file_modes")).toMatchObject([{ status: "ok" }]);
});

test("a port that another program uses is found", async () => {
  const other = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const args = ["--data", copy(), "--port", String(other.port), "--admin-host", "192.0.2.1"];
  const report = await examined(args);
  other.stop(true);
  expect(ofCheck(report, "public_port")).toMatchObject([
    { status: "wrong", message: `127.0.0.1:${other.port}: another program uses it` },
  ]);
  expect(ofCheck(report, "admin_port")).toMatchObject([
    { status: "wrong", message: "192.0.2.1:8081: this machine does not have this address" },
  ]);
});

test("invalid settings are reported, and the other checks run all the same", async () => {
  const report = await examined(["--data", copy(), ...freePorts], {
    ONAIR_RATE_LIMIT: "x",
    ONAIR_ADMIN_KEY: "short!",
    ONAIR_PROT: "1",
    ONAIR_IMAGE_TAG: "3",
  });
  const told = ofCheck(report, "settings").map(
    ({ status, message, advice }) => `${status}: ${message} ${advice}`,
  );
  expect(told).toHaveLength(4);
  for (const pattern of [
    /^wrong: ONAIR_RATE_LIMIT must be an integer/,
    /^wrong: ONAIR_ADMIN_KEY must be 16 to 200/,
    /^wrong: ONAIR_PROT .* rename it to ONAIR_PORT$/,
    /^warning: ONAIR_IMAGE_TAG /,
  ]) {
    expect(told.filter((one) => pattern.test(one))).toHaveLength(1);
  }
  expect(JSON.stringify(report)).not.toContain("short!");
  expect(statuses(report)).toContain("integrity ok");
  const keys = await examined(["--data", copy(), ...freePorts], {
    ONAIR_JWKS_URL: "https://platform.example/",
  });
  expect(ofCheck(keys, "settings")).toMatchObject([
    { status: "wrong", message: expect.stringContaining("must be given together") },
  ]);
});

test("an https URL needs the address of a proxy, or TLS of its own", async () => {
  const at = async (...args: string[]) =>
    ofCheck(await examined(["--data", copy(), ...freePorts, ...args]), "public_url");
  const url = ["--public-url", "https://api.example.com"];
  expect(await at(...url)).toMatchObject([
    { status: "warning", advice: "name the proxy with --trusted-proxies" },
  ]);
  expect(await at(...url, "--trusted-proxies", "10.0.0.0/8")).toMatchObject([{ status: "ok" }]);
});

test.skipIf(!hasOpenssl)(
  "the names of a certificate are compared with the public URL, unless a proxy has its own",
  async () => {
    const { cert, key } = selfSigned(ownDirectory(), "api"); // of localhost and 127.0.0.1
    const found = async (url: string, ...more: string[]) => {
      const args = [...freePorts, "--public-url", url, "--tls-cert", cert, "--tls-key", key, ...more];
      return examined(["--data", copy(), ...args]);
    };
    const ok = { status: "ok", message: expect.stringContaining("is valid for 29 days") };
    for (const url of ["https://127.0.0.1:8443", "https://localhost"])
      expect(ofCheck(await found(url), "certificates")).toMatchObject([ok]);
    const other = await found("https://api.example.com");
    expect(ofCheck(other, "certificates")).toMatchObject([{ status: "warning" }, ok]);
    expect(ofCheck(other, "public_url")).toMatchObject([
      { status: "ok", message: "https://api.example.com, with its own TLS" },
    ]);
    const proxied = await found("https://api.example.com", "--trusted-proxies", "10.0.0.0/8");
    expect(ofCheck(proxied, "certificates")).toMatchObject([ok]);
  },
);

test.each([
  ["localhost", true],
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["[::1]", true],
  ["::", true],
  ["0.0.0.0", true],
  ["127.0.0.1.example.com", false],
  ["1::1", false],
  ["10.0.0.1", false],
  ["localhost.example", false],
])("%s is loopback: %p", (host, is) => {
  expect(isLoopback(host)).toBe(is);
});
