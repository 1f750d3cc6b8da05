import type { Database } from "bun:sqlite";
import { once } from "../../domain/lazily.ts";
import type { Profile, ProfileForm, User } from "../../domain/users.ts";
import { LikelyIds } from "./likely-ids.ts";

const newline = 10;

/** What JSON shows of each field, as SQL of the user `u`. */
const values: Readonly<Record<keyof User, string>> = {
  id: "u.id",
  username: "json_quote(u.username)",
  display_name: "json_quote(u.display_name)",
  bio: "json_quote(u.bio)",
  profile_picture: "json_quote(coalesce(u.profile_picture, ?2))",
  followers_count: "u.followers_count",
  following_count: "u.following_count",
  is_verified: "iif(u.is_verified, 'true', 'false')",
  created_at: "json_quote(u.created_at)",
};
const members = Object.entries(values).map(
  ([name, value], i) => `'${i === 0 ? "" : ","}"${name}":', ${value}`,
);
const lineEnd = `char(${newline})`;

/**
 * Three lines for each who is wanted, by name or by id: id, username and profile, or three empty ones. JSON has no line
 * break.
 *
 * One statement for all of them, and its JSON from SQLite: with a statement, an object and its JSON for each, a user
 * costs 11 µs instead of 8, not counting what so many objects cost the collector.
 */
const sql = `
  SELECT CAST(group_concat(
    iif(u.id IS NULL, ${lineEnd} || ${lineEnd},
      concat(u.id, ${lineEnd}, u.username, ${lineEnd}, ?3, '{', ${members.join(", ")}, '}', ?4)),
    ${lineEnd}
  ) AS BLOB) AS lines
  FROM json_each(?1) AS wanted LEFT JOIN users AS u ON u.id = iif(wanted.type = 'integer', wanted.value,
    (SELECT id FROM users WHERE username = wanted.value COLLATE NOCASE))`;

/** Names that are read beside each that is asked for, until all are known; and as many at once. */
const namesAhead = 8;
const namesAtOnce = 512;
// Two subqueries: SQLite would go through all users for a single one with both.
const rangeOfIds = "SELECT (SELECT max(id) FROM users) - (SELECT min(id) FROM users) AS range";
const nextNames = `
  SELECT username, id FROM users INDEXED BY users_username WHERE username > ? COLLATE NOCASE
  ORDER BY username COLLATE NOCASE LIMIT ${namesAtOnce}`;

type Rows = { readonly lines: Uint8Array<ArrayBuffer> | null };
/** Someone by id, and what they should be called, or by name. */
type Wanted = number | string;

/** Finds the profiles of users by name; those of one call share a piece of memory. */
export function profileFinder(db: Database) {
  const statement = db.prepare<Rows, string[]>(sql);
  const likelyIds = once(() => new LikelyIds());
  const readAhead = nameReader(db);

  /** @returns null for who does not exist, or is called something else than in `names` */
  const find = (wanted: readonly Wanted[], names: readonly string[], form: ProfileForm) => {
    const { picture, before, after } = form;
    const lines = statement.get(JSON.stringify(wanted), picture, before, after)?.lines;
    return lines ? profilesIn(lines, names) : [];
  };

  return (names: readonly string[], form: ProfileForm): (Profile | null)[] => {
    const ids = likelyIds();
    const wanted = names.map((name) => ids.get(name) ?? name);
    const profiles = find(wanted, names, form);
    // Whoever is not the one that was likely is found by name.
    const missed = [...names.keys()].filter((i) => profiles[i] === null && wanted[i] !== names[i]);
    if (missed.length > 0) {
      const missedNames = missed.map((i) => names[i] ?? "");
      const found = find(missedNames, missedNames, form);
      for (const [n, i] of missed.entries()) profiles[i] = found[n] ?? null;
    }
    for (const [i, name] of names.entries()) {
      const id = profiles[i]?.id;
      if (id !== undefined && id !== wanted[i]) ids.note(name, id);
    }
    readAhead(ids, names.length);
    return profiles;
  };
}

/**
 * Notes some more names whenever as many were asked for as that is worth, until all are known. Where there may be more
 * users than there is room for it notes none: they would drive out those who are asked for. To count them would take
 * long, so the range of their ids stands for their number.
 */
function nameReader(db: Database) {
  const statement = once(() => db.prepare<{ username: string; id: number }, [string]>(nextNames));
  const range = once(() => db.prepare<{ range: number | null }, []>(rangeOfIds));
  let last = "";
  let owed = 0;
  let left = LikelyIds.most;
  return (ids: LikelyIds, asked: number) => {
    owed += asked * namesAhead;
    if (owed < namesAtOnce || left <= 0) return;
    owed = 0;
    if ((range().get()?.range ?? 0) > LikelyIds.most) return;
    const names = statement().all(last);
    for (const { username, id } of names) ids.note(username, id);
    last = names.at(-1)?.username ?? "";
    left = names.length < namesAtOnce ? 0 : left - names.length;
  };
}

function profilesIn(lines: Uint8Array<ArrayBuffer>, names: readonly string[]): (Profile | null)[] {
  let at = 0;
  return names.map((name) => {
    let id = 0;
    for (; at < lines.length && lines[at] !== newline; at++) id = id * 10 + ((lines[at] ?? 0) - 48);
    const nameAt = at + 1;
    const nameEnd = endOfLine(lines, nameAt);
    const start = nameEnd + 1;
    const end = endOfLine(lines, start);
    at = end + 1;
    if (start === end || nameEnd - nameAt !== name.length || !isAt(lines, nameAt, name)) return null;
    return { id, bytes: lines.subarray(start, end) };
  });
}

function endOfLine(lines: Uint8Array, start: number): number {
  const end = lines.indexOf(newline, start);
  return end === -1 ? lines.length : end;
}

/** Without regard to ASCII case; a username has no other letters. */
function isAt(lines: Uint8Array, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    if (lowerCase(lines[start + i] ?? 0) !== lowerCase(name.charCodeAt(i))) return false;
  }
  return true;
}

const lowerCase = (code: number) => (code >= 65 && code <= 90 ? code + 32 : code);
