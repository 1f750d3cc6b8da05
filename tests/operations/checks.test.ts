import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import type { Finding } from "../../src/domain/findings.ts";
import { day } from "../../src/domain/time.ts";
import { sizesOf } from "../../src/operations/storage-health.ts";
import { hasOpenssl, selfSigned } from "../support/certificates.ts";
import { alterDatabase, endedServer, type Report } from "../support/doctor.ts";
import { run } from "../support/process.ts";
import { adminKey, isOnPostgres, json, startServer } from "../support/server.ts";

/*
 * What `onair config check`, a running server and `onair doctor` each report of the same settings and data, in which
 * everything is conspicuous that may be.
 */

const { path, copy, data: ended } = await endedServer();
const secret = path("notify-secret");
writeFileSync(secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
chmodSync(secret, 0o644);

const data = copy((data) => {
  const bytes = 10 * sizesOf(ended).free_bytes;
  alterDatabase(
    data,
    "INSERT INTO settings (key, value) VALUES ('deliveries_held', '2026-01-14T16:08:06.123Z')",
    `INSERT INTO statistics (kind, subject, period, at, counts, durations) VALUES ('storage', '', 'hour',
       ${Date.now() - 2 * day}, '{"samples":1,"free_bytes":${bytes}}', '[]')`,
  );
});
const settings = [
  ...["--host", "127.0.0.1", "--public-url", "http://api.example.com", "--admin-host", "0.0.0.0"],
];
const tls = hasOpenssl ? selfSigned(path(), "api") : null;
if (tls) settings.push("--tls-cert", tls.cert, "--tls-key", tls.key);
const env = { ONAIR_PROT: "1", ONAIR_IMAGE_TAG: "3", ONAIR_NOTIFY_SECRET_FILE: secret };

/** Text without what differs from run to run. */
function plain(text: string): string {
  return text
    .replaceAll(data, "DATA")
    .replaceAll(path(), "FILES")
    .replaceAll(/\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/g, "TIME")
    .replaceAll(/(https?:\/\/[a-z0-9.]+):[0-9]+/g, "$1:PORT")
    .replace(/^sizes ok: .*/, "sizes ok: …")
    .replaceAll(/\b[0-9][0-9.,]*( [kMG]?B\b| [a-z]+ [a-z]+ in |)/g, "N$1");
}

const lines = (findings: readonly Finding[]) =>
  findings.map(({ check, status, message, advice }) =>
    plain(`${check} ${status}: ${message}${advice === null ? "" : ` → ${advice}`}`),
  );

async function doctor(args: readonly string[], more: Record<string, string> = {}) {
  const { stdout } = await run(["doctor", "--json", "--backup-every", "1h", ...settings, ...args], {
    env: { ...env, ...more },
  });
  return lines((JSON.parse(stdout) as Report).findings);
}

/** Findings with the places that report them. */
async function reported(): Promise<[places: string, finding: string][]> {
  const places = new Map<string, string>();
  const add = (place: string, findings: readonly string[]) => {
    for (const finding of new Set(findings)) places.set(finding, (places.get(finding) ?? "") + place);
  };
  add("d", await doctor(["--data", data, "--port", "0", "--admin-port", "0"]));
  const server = await startServer({ data, isOnSqlite: true, args: settings, env });
  const answer = await server.admin("GET", "/admin/v1/findings");
  add("s", lines((await json<{ data: Finding[] }>(answer)).data));
  const ports = ["--port", new URL(server.publicUrl).port, "--admin-port", new URL(server.adminUrl).port];
  add("b", await doctor(["--data", data, ...ports]));
  add("u", await doctor(["--url", server.adminUrl], { ONAIR_ADMIN_KEY: adminKey }));
  await server.stop();
  return [...places].map(([finding, places]) => [places, finding]);
}

// The places: d for onair doctor, b beside a server, u with --url; s for the server itself, in the console.
const expected: [places: string, finding: string][] = [
  ["dbu", "settings wrong: ONAIR_PROT is not a setting, so it has no effect → rename it to ONAIR_PORT"],
  [
    "dbu",
    "settings warning: ONAIR_IMAGE_TAG is not a setting of this version → unset it, unless another program uses it",
  ],
  [
    "dsbu",
    "public_url warning: http://api.example.com is http, but the public listener is https, because --tls-cert is set → begin --public-url with https://",
  ],
  [
    "dsbu",
    "admin_host warning: other machines can reach the admin listener (N) → make sure that only the platform's own machines can reach it",
  ],
  [
    "dsbu",
    "file_modes warning: FILES/notify-secret holds a secret, and every user of this machine can read it (mode N) → chmod o= FILES/notify-secret",
  ],
  [
    "dsbu",
    "certificates warning: FILES/api.crt is not valid for api.example.com, the host of --public-url: clients refuse it → get a certificate for that host, or correct --public-url",
  ],
  ["dsbu", "certificates ok: FILES/api.crt is valid for N days"],
  ["db", "data_directory ok: DATA exists, and this user can write in it"],
  ["dsbu", "file_modes ok: N files, accessible only to their owner"],
  ["dsbu", "disk_space ok: N MB free on the disk of DATA; its database has N MB"],
  ["db", "integrity ok: every page is intact"],
  ["db", "foreign_keys ok: every row refers to rows that exist"],
  ["db", "event_bodies ok: the body of every event can be read"],
  ["db", "schema ok: the database has the schema of this version (N_start)"],
  [
    "dsbu",
    "disk_forecast warning: the disk of DATA fills by N MB a day, and will be full in N hours → free some space, or keep less data: --max-data-size, --keep-delivered-days",
  ],
  ["dsbu", "search_index ok: N users, all in the search index"],
  ["dsbu", "signing_key ok: a valid Ed25519 key"],
  ["dsbu", "webhooks ok: no endpoint is failing; pending deliveries: N"],
  [
    "dsbu",
    'deliveries_held warning: deliveries are held since TIME, because a backup was restored or a server was started with --hold-deliveries → run "onair deliveries release" once no other server uses a copy of this data',
  ],
  ["db", "sizes ok: …"],
  [
    "db",
    'backups warning: no backup in DATA/backups, although --backup-every is set → look for the reason in the log, and make one with "onair backup"',
  ],
  ["dsbu", "clock ok: it is TIME"],
  ["d", "server ok: no server uses the directory"],
  ["d", "public_port ok: N: any free port"],
  ["d", "admin_port ok: N: any free port"],
  ["su", "settings ok: every setting is valid, and every ONAIR_ variable is known"],
  [
    "su",
    "public_url warning: webhooks can reach the private network of the server at http://api.example.com → remove --allow-private-webhooks: it is for development only",
  ],
  [
    "su",
    'data_directory skipped: the database pages were not read, because that takes long → "onair doctor" reads them',
  ],
  ["b", "server ok: process N uses the directory"],
  ["bu", "server ok: the server at http://N:PORT is healthy and ready"],
  ["b", "public_listener ok: the server answers at https://N:PORT"],
  ["u", "operator_key ok: the server accepts it"],
];

test.skipIf(!hasOpenssl || isOnPostgres)(
  "every finding is reported in its places, with its advice",
  async () => {
    const sorted = (rows: typeof expected) => rows.map((row) => row.join(" ")).sort();
    expect(sorted(await reported())).toEqual(sorted(expected));
  },
);

test.skipIf(!hasOpenssl)("onair config check reports settings, and missing credentials", async () => {
  const args = ["config", "check", ...settings, "--backup-to", "s3://bucket/onair"];
  const credentials = { AWS_SHARED_CREDENTIALS_FILE: path("none") };
  const { code, stdout, stderr } = await run(args, { env: { ...env, ...credentials } });
  expect([code, stdout, plain(stderr).split("\n")]).toEqual([
    1,
    "",
    [
      "ONAIR_PROT is not a setting, so it has no effect",
      "  → rename it to ONAIR_PORT",
      "ONAIR_IMAGE_TAG is not a setting of this version",
      "  → unset it, unless another program uses it",
      "http://api.example.com is http, but the public listener is https, because --tls-cert is set",
      "  → begin --public-url with https://",
      "backup-to is s3://bucket/onair. No credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into FILES/none under [default].",
      "  → if only the service has them in its environment, that is fine",
      "",
    ],
  ]);
});
