import { Database } from "bun:sqlite";
import { beforeAll } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, serve } from "./process.ts";
import { subscriber } from "./publishing.ts";
import { adminKey, testDirectory } from "./server.ts";

export const pageBytes = 4096;
export const userCount = 1_000;
/** The id of a user in the middle of the table; the names of that one and of one far from it. */
export const [damagedId, damagedUser, wholeUser] = [501, "user_500", "user_10"];

/**
 * At the top of a file: a data directory that was closed, with users and a subscribed application, to be damaged in
 * copies.
 */
export function testSample() {
  const directory = testDirectory();
  const path = join(directory, "sample");
  const sample = { directory, path, token: "", copy };
  beforeAll(async () => {
    const server = await serve(["--data", path], { env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" } });
    const rows = Array.from({ length: userCount }, (_, i) => ({
      id: i + 1,
      username: `user_${i}`,
      bio: "b".repeat(200),
    }));
    await server.load("users", rows);
    const webhook = { webhook_url: "http://127.0.0.1:9/", event: "channel.followed", broadcasters: [1] };
    sample.token = (await subscriber(server, webhook)).token;
    await server.end("SIGTERM");
  });

  let copies = 0;
  /** A data directory of its own with something done to it. */
  function copy(damage: (data: string) => void): string {
    const data = join(directory, `copy-${copies++}`);
    cpSync(path, data, { recursive: true });
    damage(data);
    return data;
  }
  return sample;
}

export const fileIn = (data: string) => join(data, "onair.db");

export function overwrite(data: string, at: number, bytes: Uint8Array): void {
  const database = readFileSync(fileIn(data));
  database.set(bytes, at);
  writeFileSync(fileIn(data), database);
}

/** Where the first page of a table or index is. */
function rootOf(data: string, name: string): number {
  const db = new Database(fileIn(data), { readonly: true });
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
  const root = db.query<{ rootpage: number }, [string]>(sql).get(name)?.rootpage ?? 0;
  db.close();
  if (root < 2) throw new Error(`there is no ${name}`);
  return (root - 1) * pageBytes;
}

export const noise = (bytes: number) =>
  Buffer.alloc(bytes, new Bun.CryptoHasher("sha512").update("noise").digest());
/** Damages the first page of a table or index. */
export const noisyRoot = (name: string) => (data: string) =>
  overwrite(data, rootOf(data, name), noise(pageBytes));

/** Runs a command on a data directory. */
export const onair = (words: readonly string[], data: string) =>
  run([...words, "--data", data], { env: { ONAIR_ADMIN_KEY: adminKey, ONAIR_LOG_LEVEL: "error" } });
export const freePorts = ["--port", "0", "--admin-port", "0"];

export const toRestore = "then restore a backup: onair restore FILE --data ";
export const isDamaged = (finding: string) =>
  `onair.db is not a database of onair, or is damaged (${finding}). `;
