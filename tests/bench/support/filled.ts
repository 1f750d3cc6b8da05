import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type UserInput, userFrom } from "../../../src/domain/users.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import schema from "../yardsticks/schema.sql" with { type: "text" };
import { sampleCategories, sampleChannels, sampleLivestreams, sampleUsers } from "./platform.ts";
import { BenchError, endWithThis, removeAtEnd } from "./processes.ts";
import { whole } from "./report.ts";

/** A platform of so many users on disk, kept from one benchmark to the next; to be copied and never to be changed. */
export interface Filled {
  readonly users: number;
  readonly directory: string;
}

/** The address that On Air is told it has, so that its answers are the same on every port. */
export const publicUrl = "https://api.example.com";

const root = resolve(import.meta.dir, "../../..");
const cache = join(tmpdir(), "onair-bench-filled");
const keptForMs = 7 * 24 * 3_600_000;

type Say = (line: string) => void;

/** The platform of so many users, made unless it is there already: half a minute for a million of them. */
export async function filledPlatform(users: number, say: Say): Promise<Filled> {
  const filled = { users, directory: join(cache, `${users}-${await versionOfSources()}`) };
  await made(join(filled.directory, "data"), async (data) => {
    removeUnused();
    say(`Importing ${whole(users)} users; they are kept in ${cache} for the next time`);
    await importRows(data, "users", sampleUsers(users));
    await importRows(data, "categories", sampleCategories());
    await importRows(data, "channels", sampleChannels(users));
    await importRows(data, "livestreams", sampleLivestreams(users));
    // What a server would do in its first idle minutes, beside the load.
    const store = openStore(data);
    while (await store.users.tidySearch());
    await store.close();
  });
  const now = new Date();
  utimesSync(filled.directory, now, now);
  return filled;
}

/** A data directory for one server; copied, or shared until it is changed where the file system can do that. */
export async function copyOfData({ directory }: Filled, to: string): Promise<void> {
  await copy(join(directory, "data"), to);
}

/** The answer to Get User of a row of `sampleUsers`. */
export function profileOf(row: object): { username: string; body: string } {
  const user = userFrom(row as UserInput);
  const picture = user.profile_picture ?? `${publicUrl}/assets/profile-picture.png`;
  const body = JSON.stringify({ user: { ...user, profile_picture: picture }, message: "OK" });
  return { username: user.username, body };
}

/** A copy of the database of the other stacks, with all users and nothing else. */
export async function copyOfYardstickDatabase(
  { users, directory }: Filled,
  to: string,
  say: Say,
): Promise<void> {
  const kept = await made(join(directory, "yardsticks.db"), async (file) => {
    say("Filling the database of the other stacks");
    const db = new Database(file, { create: true, strict: true });
    db.run(schema);
    const put = db.prepare("INSERT INTO users VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    db.transaction(() => {
      for (const row of sampleUsers(users)) put.run(...Object.values(userFrom(row as UserInput)));
    })();
    db.close();
  });
  await copy(kept, to);
}

/** Makes `path` with `make`, which gets another path to write to, unless it is there already. */
async function made(path: string, make: (path: string) => Promise<void>): Promise<string> {
  if (existsSync(path)) return path;
  mkdirSync(join(path, ".."), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  removeAtEnd(unfinished);
  await make(unfinished);
  // Somebody else may have made it meanwhile; both are the same.
  if (!existsSync(path)) renameSync(unfinished, path);
  return path;
}

async function copy(from: string, to: string): Promise<void> {
  const child = Bun.spawn(["cp", "--recursive", "--reflink=auto", from, to], { stderr: "inherit" });
  if ((await child.exited) !== 0) throw new BenchError(`${from} could not be copied`);
}

/** What decides how the rows look, on disk and before, as a short hash. */
async function versionOfSources(): Promise<string> {
  const files = [
    "drizzle/sqlite/*.sql",
    "src/store/sqlite/{users,schema,open,search,matches}.ts",
    "src/domain/validation/fields.ts",
    "tests/bench/support/{filled,platform}.ts",
    "tests/support/ranks.ts",
    "src/dev/chance.ts",
    "tests/bench/yardsticks/schema.sql",
  ].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]);
  const hash = createHash("sha256");
  for (const file of files.sort()) hash.update(`${file}\n`).update(await Bun.file(join(root, file)).bytes());
  return hash.digest("hex").slice(0, 12);
}

function removeUnused(): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (Date.now() - statSync(path).mtimeMs > keptForMs) rmSync(path, { recursive: true, force: true });
  }
}

const linesAtOnce = 1_000;

async function importRows(data: string, kind: string, rows: Iterable<object>): Promise<void> {
  const command = [process.execPath, "src/main.ts", "import", kind, "-", "--data", data, "--json"];
  const child = Bun.spawn(command, { cwd: root, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  endWithThis(child);
  let lines = "";
  let count = 0;
  for (const row of rows) {
    lines += `${JSON.stringify(row)}\n`;
    if (++count % linesAtOnce > 0) continue;
    child.stdin.write(lines);
    await child.stdin.flush();
    lines = "";
  }
  child.stdin.write(lines);
  await child.stdin.end();
  const { accepted } = JSON.parse((await child.stdout.text()) || "{}") as { accepted?: number };
  if (accepted !== count) throw new BenchError(`Of ${count} ${kind} ${accepted ?? 0} were imported`);
}
