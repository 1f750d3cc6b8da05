import { Clock, category, channel, json, live, ndjson, type ownServer, user } from "./server.ts";

interface Report {
  readonly ended?: number;
  readonly errors: readonly object[];
}

/** A server with two users, categories and live channels, and functions that read its data. */
export async function smallPlatform(start: typeof ownServer) {
  const clock = new Clock();
  const users = [user(1, "one", { followers_count: 10 }), user(2, "two", { display_name: "One's twin" })];
  const server = await start({ clock, users });
  const chess = category(5, "Chess", { tags: ["Board game", "Calm"] });
  await server.load("categories", [chess, category(6, "Go", { tags: ["Calm"] })]);
  await server.load("channels", [channel(11, "one", 1), channel(12, "two", 2)]);
  await server.load("livestreams", [live(11, 5, 7), live(12, 5, 3)]);
  const reader = await server.application();
  const put = (path: string, rows: readonly unknown[]) =>
    server.admin(path.startsWith("livestreams") ? "PUT" : "POST", `/admin/v1/${path}`, ndjson(rows));
  return {
    server,
    clock,
    /** An application. */
    reader,
    /** Sends rows to a batch route. */
    put,
    /** Sends rows to a batch route and returns the answer. */
    report: async (path: string, rows: readonly unknown[]) => json<Report>(await put(path, rows)),
    /** All platform data in the store, to compare before and after. */
    async everything() {
      const parts = ["users/batch", "categories/batch", "channels/batch", "livestreams"];
      const texts = parts.map(async (part) => (await server.admin("GET", `/admin/v1/${part}`)).text());
      return (await Promise.all(texts)).join("---\n");
    },
    /** A category as the public API shows it now. */
    async shown(id: number) {
      clock.advance(2_000);
      const answer = await server.get(`/public/v1/categories/${id}`);
      return (await json<{ category: { viewers: number; top_channels: { id: number }[] } }>(answer)).category;
    },
    /** The ids of the users that a search finds. */
    async found(query: string) {
      const answer = await server.get(`/public/v1/users/search?query=${query}`, reader.token);
      return (await json<{ data: { id: number }[] }>(answer)).data.map(({ id }) => id);
    },
  };
}

export type SmallPlatform = Awaited<ReturnType<typeof smallPlatform>>;
