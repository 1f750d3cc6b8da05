import { expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import { fold } from "../../src/domain/text.ts";
import { type NewUser, userFrom } from "../../src/domain/users.ts";
import { differentNames, foldedNames } from "../support/folded-names.ts";
import { slowSearch } from "../support/slow-search.ts";
import { ownStore } from "../support/store.ts";

const now = "2026-01-01T00:00:00Z";

function randomFrom(seed: number): (below: number) => number {
  const random = seeded(seed);
  return (below) => Math.floor(random() * below);
}

// The private-use characters stand for "ann" and "nan" at the beginning of a username, and for four zeros.
const syllables = [
  "an",
  "na",
  "ann",
  "é",
  "ñ",
  "한",
  "국",
  "花",
  "x",
  "_",
  "%",
  "\\",
  "A",
  "ß",
  "9",
  "00",
  "0000000",
  "한한한한",
  "😀😀",
  '"',
  "😀",
  "\ue061\ue06e",
  "\u{f0030}\uf8ff\ue004",
];
const followerCounts = [0, 1, 1, 2, 7, 255, 256, 257, 300, 1_000, 1_001, 1_020, 5_000_000, 2 ** 40];

test("finds the same as a scan of all users, while they change at random", async () => {
  const opened = await ownStore();
  let { store } = opened;
  const random = randomFrom(42);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  const word = (length: number) => Array.from({ length }, () => pick(syllables)).join("");
  const known = new Map<number, NewUser>();
  const names = new Map<string, number>();
  const query = () => {
    const { username, display_name } = pick([...known.values()]);
    const longest = `${pick([username, display_name])}${pick(["", "", "x"])}`;
    return pick([word(3 + random(3)), longest.slice(random(3)), longest, word(40)]);
  };
  for (let round = 0; round < 10; round++) {
    const batch: NewUser[] = [];
    for (let i = 0; i < 60; i++) {
      const id = pick([random(300) + 1, 2 ** 53 - 1 - random(50)]);
      const username = word(1 + random(5)).replace(/[^A-Za-z0-9_]/g, "z") || "z";
      const owner = names.get(username.toLowerCase());
      if (owner !== undefined && owner !== id) continue;
      const before = known.get(id);
      if (before) names.delete(before.username.toLowerCase());
      const user = userFrom({
        id,
        username,
        display_name: word(1 + random(6)),
        followers_count: pick(followerCounts),
      });
      batch.push(user);
      known.set(id, user);
      names.set(username.toLowerCase(), id);
    }
    const refused = (await store.users.upsert(batch, now)).filter((reason) => reason !== null);
    expect(refused).toEqual([]);
    const gone = pick([...known.values()]);
    await store.users.remove(gone.id, 0);
    known.delete(gone.id);
    names.delete(gone.username.toLowerCase());
    if (round % 5 === 4) {
      store = await opened.reopen();
    }
    for (let i = 0; i < 80; i++) {
      const text = query().toWellFormed();
      if ([...fold(text)].length < 3) continue;
      const limit = pick([1, 2, 5, 25, 100]);
      const found = (await store.users.search(text, limit)).users.map(({ id }) => id);
      expect([text, limit, found]).toEqual([text, limit, slowSearch(known.values(), text, limit)]);
    }
  }
});

test("finds names of every class by what is typed, and what is typed by the name", async () => {
  const { store } = await ownStore();
  const named = foldedNames.flatMap(([, name, typed]) => [name, typed]);
  const all = [...named, ...differentNames.map(([name]) => name), "ab", "a\u0301b\u0302", "देव", "กี่"];
  const users = all.map((display_name, i) => userFrom({ id: i + 1, username: `user_${i}`, display_name }));
  const short = userFrom({ id: 1_000, username: "ab", followers_count: 1 });
  await store.users.upsert([...users, short], now);
  const typed = [
    ...foldedNames.flatMap(([, name, typed]) => [name, typed]),
    ...differentNames.map(([, typed]) => typed),
    // Shorter than a trigram when it is folded.
    "ที่",
    "राम",
    "हिन",
    "देव",
    "a\u0301b\u0302",
    "a\u0301\u0302",
    "한".normalize("NFD"),
    "\u0301\u0302\u0303",
  ];
  for (const query of typed) {
    const { users: found, isComplete } = await store.users.search(query, 100);
    expect([query, found.map(({ id }) => id)]).toEqual([query, slowSearch([...users, short], query, 100)]);
    expect([query, isComplete]).toEqual([query, true]);
  }
  for (const [kind, name, typed] of foldedNames)
    for (const query of [name, typed]) {
      const { users: found } = await store.users.search(query, 100);
      expect([kind, found.map(({ display_name }) => display_name)]).toEqual([
        kind,
        expect.arrayContaining(query === name && !fold(typed).includes(fold(name)) ? [name] : [name, typed]),
      ]);
    }
  for (const [name, typed] of differentNames) {
    const { users: found } = await store.users.search(typed, 100);
    expect(found.map(({ display_name }) => display_name)).not.toContain(name);
  }
});

test("finds names of one and two characters, and parts of that length in scripts without long words, among many users", async () => {
  const { store } = await ownStore();
  const popular = Array.from({ length: 4_000 }, (_, i) =>
    userFrom({ id: i + 1, username: `viewer_${i}`, display_name: `Viewer ${i}`, followers_count: 1_000 }),
  );
  const names = [
    "木棉花",
    "花火",
    "花",
    "はなび",
    "ナル",
    "풍월량",
    "한별",
    "𠮷野",
    "Bo",
    "李小龙 live",
    "กา",
  ];
  const unknown = names.map((display_name, i) =>
    userFrom({ id: 10_000 + i, username: `streamer_${i}`, display_name }),
  );
  const users = [...popular, ...unknown];
  for (let i = 0; i < users.length; i += 500) await store.users.upsert(users.slice(i, i + 500), now);
  const found = async (query: string) => (await store.users.search(query, 25)).users.map(({ id }) => id);
  for (const query of [
    "花",
    "木棉",
    "棉花",
    "花火",
    "はな",
    "なび",
    "풍월",
    "월량",
    "별",
    "𠮷野",
    "吉",
    "小龙",
    "กา",
    "火花",
  ])
    expect([query, await found(query)]).toEqual([query, slowSearch(users, query, 25)]);
  expect(await found("bo")).toEqual([10_008]);
});
