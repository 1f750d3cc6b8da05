import { expect, test } from "bun:test";
import { ConfigError, readConfig } from "../../../src/server/settings/read-config.ts";

/** The reported mistakes in settings, one per line. */
const mistakes = (args: string[], env: Record<string, string> = {}) => {
  try {
    readConfig(args, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split("\n");
  }
};

test.each<[string, string[], Record<string, string>, RegExp[]]>([
  ["nothing that is kept", ["--keep-bodies-days", "0h"], {}, [/^--keep-bodies-days must be days from 1 to/]],
  [
    "a retention of zero for a type",
    ["--keep-by-type", "kicks.gifted"],
    {},
    [/^--keep-by-type must be event types with days or hours.*"kicks.gifted" is not one$/],
  ],
  ["a size of nothing", ["--max-data-size", "20"], {}, [/^--max-data-size must be a size of at least 10MB/]],
  [
    "a size limit for data on another server",
    ["--max-data-size", "20GB", "--database", "postgres://onair@db/onair"],
    {},
    [/^--max-data-size is for a data directory, not for PostgreSQL$/],
  ],
  [
    "an unlimited time to live",
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
    "an invalid collector, and a share above 1",
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
    [/^--otlp-endpoint must be the address of the collector without \/v1\/traces, which is appended/],
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
  ["a switch with a strange value", ["--portal=yes"], {}, [/^--portal must be one of true, .*, not "yes"$/]],
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
    "a host with a port, or in unnecessary brackets",
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
  ["an unknown log level", [], { ONAIR_LOG_LEVEL: "loud" }, [/must be one of debug, info, warn, error, off/]],
  [
    "an invalid trusted proxy",
    ["--trusted-proxies", "10.0.0.0/8, proxy.local"],
    {},
    [/^--trusted-proxies must be addresses or networks like 10\.0\.0\.0\/8, and "proxy\.local" is not one$/],
  ],
  [
    "everything at once",
    ["--port", "-1"],
    { ONAIR_ADMIN_PORT: "x", ONAIR_RATE_LIMIT: "-1", ONAIR_ALLOW_PRIVATE_WEBHOOKS: "maybe" },
    [/--port/, /ONAIR_ADMIN_PORT/, /ONAIR_ALLOW_PRIVATE_WEBHOOKS/, /ONAIR_RATE_LIMIT/],
  ],
])("%s is reported", (_, args, env, expected) => {
  const found = mistakes(args, env);
  for (const pattern of expected) expect(found.some((line) => pattern.test(line))).toBe(true);
  expect(found.join()).not.toContain("short,");
});

test.each([
  ["--backup-every", "1 day", "must be a duration from 1m to 31d, like 30m, 6h or 24h"],
  ["--backup-every", "30s", "must be a duration from 1m to 31d"],
  ["--backup-to", "ftp://x/y", "must be a directory, or like s3://bucket/prefix"],
  ["--backup-recipients", "age1short", 'must be public keys of age, like age1…, and "age1short" is not one'],
  ["--keep-backups-days", "0", "must be an integer from 1 to 3650"],
])("invalid settings of backups are refused: %s %s", (option, value, message) => {
  expect(mistakes([option, value])).toEqual([expect.stringContaining(`${option} ${message}`)]);
});

test.each(["--backup-every=24h", "--backup-to=/mnt/other"])(
  "settings of backups are refused with PostgreSQL, which makes its own: %s",
  (given) => {
    const [option] = given.split("=");
    const sentence = `${option} is for a data directory. The data is in PostgreSQL, which makes its own backups: docs/postgres.md has the commands`;
    expect(mistakes([given, "--database", "postgres://db/onair"])).toEqual([sentence]);
  },
);
