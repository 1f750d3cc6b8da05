import { describe, expect, test } from "bun:test";
import { ConfigError, readConfig } from "../../src/config/read-config.ts";
import { settingsHelp, unknownVariables } from "../../src/config/setting-names.ts";
import { keptMs } from "../../src/config/setting-values.ts";
import { shownSettings } from "../../src/config/shown-settings.ts";
import { day, hour } from "../../src/domain/time.ts";
import { expectFailure, run } from "../support/process.ts";
import { temporaryDirectory } from "../support/server.ts";

const mistakes = (args: string[], env: Record<string, string> = {}) => {
  try {
    readConfig(args, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split("\n");
  }
};

describe("settings", () => {
  test("have defaults that are safe for production", () => {
    expect(readConfig([], {})).toEqual({
      config: null,
      data: "onair-data",
      database: null,
      databaseDirect: null,
      databaseConnections: 20,
      host: "127.0.0.1",
      port: 8080,
      adminHost: "127.0.0.1",
      adminPort: 8081,
      adminHosts: [],
      tlsCert: null,
      tlsKey: null,
      adminTlsCert: null,
      adminTlsKey: null,
      adminTlsClientCa: null,
      hsts: 0,
      redirectPort: null,
      publicUrl: null,
      adminKey: null,
      allowPrivateWebhooks: false,
      webhookProxy: null,
      holdDeliveries: false,
      notifyUrl: null,
      keepAuditDays: 365,
      notifySecret: null,
      webhookConcurrency: 128,
      rateLimit: 800,
      streamLimit: 100,
      subscriptionLimit: 10_000,
      trustedProxies: [],
      loginUrl: null,
      jwksUrl: null,
      jwtIssuer: null,
      jwtAudience: null,
      jwtAppWithoutSub: false,
      portal: false,
      portalName: "On Air",
      portalAccent: null,
      portalLogo: null,
      portalLogin: null,
      timeToLive: {},
      keepDeliveredDays: "7",
      keepFailedDays: "30",
      keepBodiesDays: "7",
      keepByType: {},
      maxDataSize: null,
      backupEvery: null,
      backupTo: null,
      backupEndpoint: null,
      backupRegion: null,
      backupRecipients: [],
      keepBackups: 3,
      keepBackupsDays: null,
      drainDelay: 0,
      otlpEndpoint: null,
      otlpHeaders: null,
      otlpSample: 1,
      logFile: null,
      logFormat: "auto",
      logLevel: "info",
    });
  });

  test("come from arguments before environment before defaults of the command", () => {
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
    ["--backup-every", "1 day", "must be a duration from 1m to 31d, like 30m, 6h or 24h"],
    ["--backup-every", "30s", "must be a duration from 1m to 31d"],
    ["--backup-to", "ftp://x/y", "must be a directory, or like s3://bucket/prefix"],
    [
      "--backup-recipients",
      "age1short",
      'must be public keys of age, like age1…, and "age1short" is not one',
    ],
    ["--keep-backups-days", "0", "must be an integer from 1 to 3650"],
  ])("of backups that are wrong are refused: %s %s", (option, value, message) => {
    expect(mistakes([option, value])).toEqual([expect.stringContaining(`${option} ${message}`)]);
  });

  test.each(["--backup-every=24h", "--backup-to=/mnt/other"])(
    "of backups are refused with PostgreSQL, which makes its own: %s",
    (given) => {
      const [option] = given.split("=");
      const sentence = `${option} is for a data directory. The data is in PostgreSQL, which makes its own backups: docs/replicas.md has the commands`;
      expect(mistakes([given, "--database", "postgres://db/onair"])).toEqual([sentence]);
    },
  );

  test.each([
    ["[::1]", "::1"],
    ["::1", "::1"],
    ["[::]", "::"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1%eth0"],
    ["localhost", "localhost"],
    ["0.0.0.0", "0.0.0.0"],
  ])("an address may be in brackets, as IPv6 is in a URL: %s is %s", (given, host) => {
    expect(readConfig(["--host", given, "--admin-host", given], {})).toMatchObject({ host, adminHost: host });
    expect(readConfig([], { ONAIR_HOST: given }).host).toBe(host);
  });

  test("the variables of OpenTelemetry count where no other says more, and one that is empty does not", () => {
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

  test("times to live are given by event type", () => {
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

  test.each<[string, string[], Record<string, string>, RegExp[]]>([
    [
      "nothing that is kept",
      ["--keep-bodies-days", "0h"],
      {},
      [/^--keep-bodies-days must be days from 1 to/],
    ],
    [
      "a type that is kept for no time",
      ["--keep-by-type", "kicks.gifted"],
      {},
      [/^--keep-by-type must be event types with days or hours.*"kicks.gifted" is not one$/],
    ],
    [
      "a size of nothing",
      ["--max-data-size", "20"],
      {},
      [/^--max-data-size must be a size of at least 10MB/],
    ],
    [
      "a size of data that is on another server",
      ["--max-data-size", "20GB", "--database", "postgres://onair@db/onair"],
      {},
      [/^--max-data-size is for a data directory, not for PostgreSQL$/],
    ],
    [
      "a time to live without end",
      ["--time-to-live", "chat.message.sent=99999999"],
      {},
      [/^--time-to-live must be event types with seconds up to 2678400/],
    ],
    ["a time to live of nothing", ["--time-to-live", "=60"], {}, [/"=60" is not one$/]],
    ["a port that is none", ["--port", "x"], {}, [/^--port must be an integer from 0 to 65535, not "x"$/]],
    [
      "a port over its limit, from the environment",
      [],
      { ONAIR_ADMIN_PORT: "65536" },
      [/^ONAIR_ADMIN_PORT must be/],
    ],
    [
      "a collector that is none, and a share beyond 1",
      ["--otlp-sample", "1.5"],
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      [
        /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/,
        /^--otlp-sample must be a number from 0 to 1/,
      ],
    ],
    [
      "the path of a collector",
      ["--otlp-endpoint", "http://collector:4318/v1/traces"],
      {},
      [/^--otlp-endpoint must be the address of the collector without \/v1\/traces, which is added/],
    ],
    [
      "headers that cannot be sent",
      [],
      { ONAIR_OTLP_HEADERS: "a b=secret-word" },
      [/^ONAIR_OTLP_HEADERS must be headers like authorization=Bearer%20abc, separated by commas$/],
    ],
    ["an unknown option", ["--prot", "1"], {}, [/^--prot is not a known option\. Did you mean --port\?$/]],
    ["a word too many", ["now"], {}, [/^"now" is not expected here$/]],
    ["an option without its value", ["--data"], {}, [/^--data needs a value$/]],
    [
      "a switch with a strange value",
      ["--portal=yes"],
      {},
      [/^--portal must be one of true, .*, not "yes"$/],
    ],
    ["the key as an argument", ["--admin-key", "secret-secret"], {}, [/^--admin-key is not a known option/]],
    [
      "a short key",
      [],
      { ONAIR_ADMIN_KEY: "fifteen-letters" },
      [/^ONAIR_ADMIN_KEY must be 16 to 200 .* makes one$/],
    ],
    ["a public URL that is none", ["--public-url", "api.example.com"], {}, [/^--public-url must be an http/]],
    [
      "a proxy of another kind",
      ["--webhook-proxy", "socks5://u:short,@proxy:1"],
      {},
      [/^--webhook-proxy must be an http or https URL/],
    ],
    [
      "a proxy with a path",
      [],
      { ONAIR_WEBHOOK_PROXY: "http://u:short,@proxy/x" },
      [/^ONAIR_WEBHOOK_PROXY must be/],
    ],
    [
      "a host with its port, or in brackets without need",
      ["--host", "[::1]:8080", "--admin-host", "[localhost]"],
      {},
      [/^--host must be an address or a name, like 127\.0\.0\.1 or \[::1\]/, /^--admin-host must be/],
    ],
    ["a URL for a host", [], { ONAIR_HOST: "http://localhost" }, [/^ONAIR_HOST must be an address/]],
    [
      "the same address in two spellings with the same port",
      ["--port", "9", "--admin-port", "9", "--host", "[::1]", "--admin-host", "::1"],
      {},
      [/must differ/],
    ],
    ["the same port twice", ["--port", "9", "--admin-port", "9"], {}, [/must differ/]],
    [
      "a log level that is none",
      [],
      { ONAIR_LOG_LEVEL: "loud" },
      [/must be one of debug, info, warn, error, off/],
    ],
    [
      "a proxy that is none",
      ["--trusted-proxies", "10.0.0.0/8, proxy.local"],
      {},
      [
        /^--trusted-proxies must be addresses or networks like 10\.0\.0\.0\/8, and "proxy\.local" is not one$/,
      ],
    ],
    [
      "everything at once",
      ["--port", "-1"],
      { ONAIR_ADMIN_PORT: "x", ONAIR_RATE_LIMIT: "-1", ONAIR_ALLOW_PRIVATE_WEBHOOKS: "maybe" },
      [/--port/, /ONAIR_ADMIN_PORT/, /ONAIR_ALLOW_PRIVATE_WEBHOOKS/, /ONAIR_RATE_LIMIT/],
    ],
  ])("%s is told", (_, args, env, expected) => {
    const found = mistakes(args, env);
    for (const pattern of expected) expect(found.some((line) => pattern.test(line))).toBe(true);
    expect(found.join()).not.toContain("short,");
  });

  test("a proxy is taken with and without credentials", () => {
    for (const url of ["http://proxy:3128", "https://user:p%40ss@proxy.example.com/"]) {
      expect(readConfig([], { ONAIR_WEBHOOK_PROXY: url }).webhookProxy).toBe(url);
    }
  });

  test("a misspelt variable is found", () => {
    expect(unknownVariables({ ONAIR_PROT: "1", ONAIR_PORT: "1", PATH: "" })).toEqual([
      { name: "ONAIR_PROT", meant: "ONAIR_PORT" },
    ]);
    expect(unknownVariables({ ONAIR_IMAGE_TAG: "3" })).toEqual([{ name: "ONAIR_IMAGE_TAG", meant: null }]);
  });

  test("the help names every setting and its variable, and no key as an argument", () => {
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

describe("the command line", () => {
  test.each<[string[], number, RegExp]>([
    [["version"], 0, /^onair \d+\.\d+\.\d+\n$/],
    [["--help"], 0, /serve +run the server/],
    [["serve", "--help"], 0, /ONAIR_ALLOW_PRIVATE_WEBHOOKS/],
    [[], 2, /Usage: onair <command>/],
    [["fly"], 2, /there is no command "fly"/],
    [["constructor"], 2, /there is no command/],
    [["serve", "--port", "x", "--rate-limit", "y"], 2, /--port must be.*\n--rate-limit must be/s],
  ])("onair %p ends with %i", async (args, code, output) => {
    const result = await run(args);
    expect([result.code, result.stdout + result.stderr]).toEqual([code, expect.stringMatching(output)]);
    expect(code === 0 ? result.stderr : result.stdout).toBe("");
  });

  test("a port that is taken is a clear failure", async () => {
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const data = temporaryDirectory();
    const port = String(other.port);
    const result = await run(["serve", "--data", data.path, "--port", port, "--admin-port", "0"]);
    await other.stop(true);
    data.remove();
    expectFailure(result, 1, port);
  });
});
