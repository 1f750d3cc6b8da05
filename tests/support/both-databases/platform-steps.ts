import { oddTexts, refusedTexts } from "../requests/vocabulary.ts";
import { ndjson } from "../server.ts";
import { pages, partOf, query, type Step, some, text, type World } from "./world.ts";

/* Users, categories, channels and livestreams, and what is asked about them. */

const count = (world: World) => world.pick([0, 1, 7, 7, 8, 2 ** 31, 2 ** 53 - 1]);
const timestamps = [
  "2020-02-29T23:59:59Z",
  "2026-01-14T16:00:00.5Z",
  "2026-01-14T18:00:00.123456+02:00",
  "0001-01-01T00:00:00Z",
];
const pictures = ["https://pictures.example/a.png", null, ""];
const names = [
  "Ninja",
  "ninja",
  "NINJA_fox",
  "ninja-fox",
  "fox",
  "FOX",
  "search",
  "a",
  "z".repeat(64),
  "x_y",
  "xzy",
];

/** A text, seldom one that is refused. */
const anyText = (world: World) => (world.chance(0.04) ? world.pick(refusedTexts) : text(world.random));
/** A text without spaces, for an address. */
const slug = (world: World) => anyText(world).replace(/\s/g, "-").slice(0, 150);

const rowOf: Readonly<Record<string, (world: World) => object>> = {
  users: (world) => ({
    username: world.chance(0.8) ? world.pick(names) : `user${world.between(1, 12)}`,
    ...some(world, {
      display_name: anyText(world),
      bio: `${anyText(world)}\n${text(world.random)}`,
      profile_picture: world.pick(pictures),
      followers_count: count(world),
      following_count: count(world),
      is_verified: world.chance(0.5),
      created_at: world.pick(timestamps),
    }),
  }),
  categories: (world) => ({
    name: anyText(world),
    slug: slug(world),
    ...some(world, {
      icon: world.pick(pictures),
      banner: world.pick(pictures),
      description: anyText(world),
      tags: Array.from({ length: world.between(0, 3) }, () =>
        world.chance(0.7) ? anyText(world) : { id: world.between(1, 5), name: anyText(world) },
      ),
    }),
  }),
  channels: (world) => ({
    user_id: world.id(),
    slug: world.chance(0.5) ? slug(world) : `channel-${world.id()}`,
    ...some(world, { name: anyText(world), profile_image: world.pick(pictures) }),
  }),
};
const kinds = Object.keys(rowOf);
const row = (world: World, kind: string) => ({ id: world.id(), ...rowOf[kind]?.(world) });

const stream = (world: World) => ({
  channel_id: world.id(),
  category_id: world.id(),
  viewers: count(world),
  ...some(world, {
    title: anyText(world),
    language: world.pick(["en", "", null]),
    started_at: world.pick(timestamps),
  }),
});

const put: Step = (world) => {
  const kind = world.pick(kinds);
  const body = rowOf[kind]?.(world);
  return world.call({ method: "PUT", path: `/admin/v1/${kind}/${world.id()}`, body });
};
const remove: Step = (world) => {
  // With a user go all subscriptions to events of that user.
  const kind = world.pick(world.chance(0.2) ? kinds : ["categories", "channels", "livestreams"]);
  return world.call({ method: "DELETE", path: `/admin/v1/${kind}/${world.id()}` });
};
const get: Step = (world) =>
  world.call({ method: "GET", path: `/admin/v1/${world.pick(kinds)}/${world.id()}` });

const batch: Step = (world) => {
  const kind = world.pick([...kinds, "livestreams"]);
  const rows = Array.from({ length: world.between(0, 15) }, () => {
    if (world.chance(0.03))
      return world.pick(["{", "[]", "", '{"id":1e2}', '{"id":1,"id":2}', "\ufeff{}", "null"]);
    return kind === "livestreams" ? stream(world) : row(world, kind);
  });
  const [method, path] = kind === "livestreams" ? ["PUT", kind] : ["POST", `${kind}/batch`];
  const parameters = {
    atomic: world.chance(0.5),
    ...(kind === "livestreams" && { snapshot: world.chance(0.5) }),
  };
  const headers = { "content-type": "application/x-ndjson" };
  return world.call({
    method,
    path: `/admin/v1/${path}${query(world, parameters)}`,
    body: ndjson(rows),
    headers,
  });
};

const search: Step = async (world) => {
  const whole = world.chance(0.3) ? world.pick(names) : world.pick([...oddTexts, ...refusedTexts]);
  const part = world.chance(0.5) ? whole : partOf(world.random, whole);
  const cased = world.pick([part, part.toLowerCase(), part.toUpperCase(), part.normalize("NFD"), `${part} `]);
  const limit = query(world, { limit: world.pick([1, 2, 100, 101, 0]) }).replace("?", "&");
  // What is no Unicode is sent as it would be by a client in error.
  const sought = world.chance(0.03)
    ? world.pick(["%ff%fe%fd", "abc%", "a%00bc", "%ed%a0%80abc"])
    : encodeURIComponent(cased.toWellFormed());
  await world.call({
    method: "GET",
    path: `/public/v1/users/search?query=${sought}${limit}`,
    token: world.token(),
  });
  await world.call({ method: "GET", path: `/admin/v1/users/search?query=${sought}${limit}` });
  await world.call({ method: "GET", path: `/public/v1/categories?name=${sought}${limit}` });
};

const user: Step = (world) => {
  const name = world.chance(0.9) ? world.pick(names) : world.pick(["a%00", "%C3%A9", "%", "x".repeat(65)]);
  return world.call({ method: "GET", path: `/public/v1/users/${name}`, token: world.token() });
};
const usersById: Step = (world) => {
  const ids = Array.from(
    { length: world.between(0, 4) },
    () => `id=${world.chance(0.95) ? world.id() : "x"}`,
  );
  return world.call({ method: "GET", path: `/public/v1/users?${ids.join("&")}`, token: world.token() });
};
const category: Step = (world) => world.call({ method: "GET", path: `/public/v1/categories/${world.id()}` });
const categories: Step = (world) =>
  pages(
    world,
    `/public/v1/categories${query(world, { limit: world.pick([1, 3, 100]), name: world.pick(["che", "CHESS", "é", "%", "_"]) })}`,
  );
const ranking: Step = async (world) => {
  await world.call({
    method: "GET",
    path: `/admin/v1/ranking${query(world, { limit: 5, name: text(world.random).slice(0, 90) })}`,
  });
  await world.call({ method: "GET", path: `/admin/v1/ranking/${world.id()}` });
};
/** Everything, as it is exported. */
export const exported: Step = async (world) => {
  for (const path of [...kinds.map((kind) => `${kind}/batch`), "livestreams"])
    await world.call({ method: "GET", path: `/admin/v1/${path}` });
};

export const platformSteps: readonly (readonly [weight: number, step: Step])[] = [
  [6, put],
  [3, remove],
  [2, get],
  [5, batch],
  [8, search],
  [3, user],
  [2, usersById],
  [2, category],
  [2, categories],
  [1, ranking],
  [1, exported],
];
