import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pick, type Random, seeded } from "../../../src/dev/chance.ts";
import { type UserInput, userFrom } from "../../../src/domain/users.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import schema from "../yardsticks/schema.sql" with { type: "text" };
import { BenchError, endWithThis, removeAtEnd } from "./processes.ts";
import { whole } from "./report.ts";

/** How many of the most popular users are live, and how many categories there are. */
const platformSize = { live: 1_000, categories: 300 } as const;

const qualities =
  "silent crazy golden lucky frozen tiny mighty sleepy royal cosmic retro turbo shadow iron".split(" ");
const things =
  "gamer wolf ninja panda dragon pixel wizard tiger rocket potato knight raven captain fox".split(" ");
const foreign =
  "한국방송 게임왕 台灣實況 小魚直播 ゲーム実況 しずく Стример Игрок Música José Zoë Çelik".split(" ");
const topics =
  "Racing Chess Cooking Survival Arena Puzzle Football Space Legends Tactics Music Farming".split(" ");
const tags = "English Korean FPS RPG Strategy Casual Speedrun Esports".split(" ");
const words = "live every evening from a small room with friends old games and new records".split(" ");

export const firstUserId = 1001;

/** Where Get User is. */
export const usersPath = "/public/v1/users/";

/** A prime, so that no count but its multiples has a divisor in common with it. */
const stride = 1_000_003;

/** The username of the user of a rank, 0 for the most followed. */
export function usernameOf(rank: number): string {
  const quality = qualities[rank % qualities.length];
  const thing = things[Math.floor(rank / qualities.length) % things.length];
  return `${quality}_${thing}${rank.toString(36)}`;
}

/**
 * Users as the admin API takes them, the most followed first, or in the order of their ids, as platforms export them.
 * Ids are shuffled over the ranks, so that popular rows do not lie side by side.
 */
export function* sampleUsers(
  count: number,
  order: "popular first" | "by id" = "popular first",
): Generator<object> {
  const random = seeded(1);
  for (let i = 0; i < count; i++) {
    const rank = order === "by id" ? (i * stride) % count : i;
    const username = usernameOf(rank);
    yield {
      id: order === "by id" ? firstUserId + i : userId(rank, count),
      username,
      display_name: random() < 0.3 ? `${pick(random, foreign)} ${rank}` : username,
      bio: Array.from({ length: Math.floor(random() * 20) }, () => pick(random, words)).join(" "),
      profile_picture: random() < 0.7 ? `https://pictures.example.com/users/${rank}/300x300.webp` : null,
      followers_count: Math.floor(5_000_000 / (rank + 1)),
      following_count: Math.floor(random() * 500),
      is_verified: rank < 200,
      created_at: new Date(Date.UTC(2016, 0, 1) + Math.floor(random() * 3e11)).toISOString(),
    };
  }
}

export function* sampleCategories(): Generator<object> {
  for (let id = 1; id <= platformSize.categories; id++) {
    yield {
      id,
      name: `${topics[id % topics.length]} ${id}`,
      slug: `category-${id}`,
      icon: id % 3 ? `https://pictures.example.com/categories/${id}/icon.webp` : null,
      banner: id % 3 ? `https://pictures.example.com/categories/${id}/banner.webp` : null,
      description: `Everything about ${topics[id % topics.length]}.`,
      tags: tags.slice(id % 4, (id % 4) + (id % 5)),
    };
  }
}

/** Channels of the most followed users. */
function* sampleChannels(userCount: number): Generator<object> {
  for (let rank = 0; rank < Math.min(platformSize.live, userCount); rank++) {
    const id = userId(rank, userCount);
    yield { id, user_id: id, slug: usernameOf(rank), name: usernameOf(rank) };
  }
}

/** All channels are live, in categories that differ in popularity. */
function* sampleLivestreams(userCount: number): Generator<object> {
  const random = seeded(2);
  for (let rank = 0; rank < Math.min(platformSize.live, userCount); rank++) {
    yield {
      channel_id: userId(rank, userCount),
      category_id: 1 + Math.floor(random() ** 2 * platformSize.categories),
      viewers: Math.floor(200_000 / (rank + 1)) + 3,
      title: "Live now",
      language: "English",
    };
  }
}

function userId(rank: number, count: number): number {
  return firstUserId + ((rank * stride) % count);
}

/**
 * `draws` ranks from 0 to below `size`, by Zipf's law with exponent 1: rank r is drawn in proportion to 1 / (r + 1).
 */
export function zipfRanks(size: number, draws: number, random: Random): Uint32Array {
  const cumulated = new Float64Array(size);
  let sum = 0;
  for (let rank = 0; rank < size; rank++) {
    sum += 1 / (rank + 1);
    cumulated[rank] = sum;
  }
  return Uint32Array.from({ length: draws }, () => firstAbove(cumulated, random() * sum));
}

function firstAbove(ascending: Float64Array, value: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** `draws` distinct ranks from 0 to below `size`, each as likely as any other; all of them where there are no more. */
export function distinctRanks(size: number, draws: number, random: Random): Uint32Array {
  const ranks = Uint32Array.from({ length: size }, (_, rank) => rank);
  const drawn = Math.min(size, draws);
  for (let i = 0; i < drawn; i++) {
    const other = i + Math.floor(random() * (size - i));
    const rank = ranks[other] ?? 0;
    ranks[other] = ranks[i] ?? 0;
    ranks[i] = rank;
  }
  return ranks.slice(0, drawn);
}

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
    "tests/bench/support/platform.ts",
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
