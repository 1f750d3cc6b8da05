import { describe, expect, test } from "bun:test";
import { day, hour } from "../../../src/domain/time.ts";
import { connectionCapacity } from "../../../src/server/core.ts";
import { readConfig } from "../../../src/server/settings/read-config.ts";
import { keptMs } from "../../../src/server/settings/setting-values.ts";
import {
  settingsHelp,
  shownSettings,
  unknownVariables,
} from "../../../src/server/settings/shown-settings.ts";

describe("settings", () => {
  // `released/1.0/settings.json` has the default of each.
  test("have defaults that are safe for production", () => {
    expect(readConfig([], {})).toMatchObject({
      host: "127.0.0.1",
      adminHost: "127.0.0.1",
      adminKey: null,
      allowPrivateWebhooks: false,
      holdDeliveries: false,
      jwtAppWithoutSub: false,
      portal: false,
      rateLimit: 800,
      trustedProxies: [],
    });
  });

  test("come from arguments, then the environment, then the command's defaults", () => {
    const env = { ONAIR_PORT: "1", ONAIR_HOST: "::1", ONAIR_ADMIN_KEY: "a-long-enough-key" };
    const config = readConfig(["--port", "2", "--data=x"], env, { port: "3", host: "h", rateLimit: "7" });
    expect(config).toMatchObject({
      port: 2,
      host: "::1",
      data: "x",
      rateLimit: 7,
      adminKey: "a-long-enough-key",
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  test.each([
    ["[::1]", "::1"],
    ["::1", "::1"],
    ["[::]", "::"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1%eth0"],
    ["localhost", "localhost"],
    ["0.0.0.0", "0.0.0.0"],
  ])("an address may be in brackets, like IPv6 in a URL: %s is %s", (given, host) => {
    expect(readConfig(["--host", given, "--admin-host", given], {})).toMatchObject({ host, adminHost: host });
    expect(readConfig([], { ONAIR_HOST: given }).host).toBe(host);
  });

  test("the variables of OpenTelemetry apply unless a more specific one is set, and empty ones are ignored", () => {
    const otel = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/",
      OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20a%2Cb, x-team=live",
    };
    const config = readConfig([], otel);
    expect(config.otlpEndpoint).toBe("http://collector:4318");
    expect(config.otlpHeaders).toEqual({ authorization: "Bearer a,b", "x-team": "live" });
    expect(JSON.stringify(shownSettings(config))).not.toContain("Bearer");
    const own = { ...otel, ONAIR_OTLP_ENDPOINT: "http://own:4318" };
    expect(readConfig([], own).otlpEndpoint).toBe("http://own:4318");
    expect(readConfig(["--otlp-endpoint", "http://flag:1"], own).otlpEndpoint).toBe("http://flag:1");
    expect(readConfig([], { OTEL_EXPORTER_OTLP_ENDPOINT: "" }).otlpEndpoint).toBeNull();
  });

  test.each([
    ["of one host", "postgres://ada:pass-word@db.example/onair", "postgres://***@db.example/onair"],
    [
      "of several hosts",
      "postgres://ada:pass-word@one.example:5432,two.example:5433/onair?sslmode=require",
      "postgres://***@one.example:5432,two.example:5433/onair?***",
    ],
    ["behind a space", " postgres://ada:pass-word@db.example/onair", "postgres://***@db.example/onair"],
  ])("the URL of a database %s is shown without its user and password", (_, url, shown) => {
    expect(shownSettings(readConfig([], { ONAIR_DATABASE: url }))["database"]).toBe(shown);
  });

  test("times to live are set by event type", () => {
    const { timeToLive } = readConfig(["--time-to-live", "chat.message.sent=60, kicks.gifted=0"], {});
    expect(timeToLive).toEqual({ "chat.message.sent": 60, "kicks.gifted": 0 });
  });

  test("data is kept for days or hours, by event type, and up to a size", () => {
    const args = ["--keep-bodies-days", "36h", "--keep-by-type", "chat.message.sent=6h, kicks.gifted=90"];
    expect(readConfig([...args, "--max-data-size", "20GB"], {})).toMatchObject({
      keepBodiesDays: "36h",
      keepByType: { "chat.message.sent": "6h", "kicks.gifted": "90" },
      maxDataSize: 20e9,
    });
    expect(["1", "2d", "36h"].map(keptMs)).toEqual([day, 2 * day, 36 * hour]);
  });

  test("a proxy is accepted with and without credentials", () => {
    for (const url of ["http://proxy:3128", "https://user:p%40ss@proxy.example.com/"]) {
      expect(readConfig([], { ONAIR_WEBHOOK_PROXY: url }).webhookProxy).toBe(url);
    }
  });

  test("a misspelt variable is reported", () => {
    expect(unknownVariables({ ONAIR_PROT: "1", ONAIR_PORT: "1", PATH: "" })).toEqual([
      { name: "ONAIR_PROT", meant: "ONAIR_PORT" },
    ]);
    for (const name of ["ONAIR_IMAGE_TAG", "ONAIR_FOO", "ONAIR_"])
      expect(unknownVariables({ [name]: "3" })).toEqual([{ name, meant: null }]);
  });

  test("the help names every setting with its variable, and no key as an argument", () => {
    const help = settingsHelp();
    for (const name of [
      "--data DIR",
      "ONAIR_DATA",
      "--admin-port PORT",
      "ONAIR_ADMIN_KEY",
      "(default: 800)",
    ]) {
      expect(help).toContain(name);
    }
    expect(help).not.toContain("--admin-key");
  });
});

const gib = 2 ** 30;

test.each([
  [{ descriptors: 10_000, memory: 16 * gib }, 4_936],
  [{ descriptors: 10_000, memory: gib }, 2_048],
  [{ descriptors: 341, memory: 16 * gib }, 106],
  [{ descriptors: 1_000_000, memory: 256 * gib }, 16_384],
  [{ descriptors: null, memory: 2 * gib }, 4_096],
  [{ descriptors: 100, memory: 16 * gib }, 16],
])("with %j there may be %p connections", (limits, connections) => {
  expect(connectionCapacity(limits)).toBe(connections);
});
