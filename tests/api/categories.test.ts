import { describe, expect, test } from "bun:test";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { Clock, category, channel, json, live, refusal, testServer, user } from "../support/server.ts";

const clock = new Clock();

const server = await testServer({ clock, users });
await server.load("categories", categories);
await server.load("channels", channels);
await server.load("livestreams", livestreams);

interface Category {
  id: number;
  name: string;
  viewers: number;
  [field: string]: unknown;
}
interface List {
  categories: Category[];
  pagination: { cursor: string; has_more: boolean };
}

const list = async (query = "") => json<List>(await server.get(`/public/v1/categories${query}`));
const detail = async (id: number) => {
  const answer = await server.get(`/public/v1/categories/${id}`);
  return (await json<{ category: Category & { top_channels: Record<string, unknown>[] } }>(answer)).category;
};
const viewersOf = (id: number) =>
  livestreams.filter(({ category_id }) => category_id === id).reduce((sum, { viewers }) => sum + viewers, 0);

/** Every page of a walk. */
async function walk(query: string): Promise<Category[]> {
  const found: Category[] = [];
  for (let cursor = ""; ; ) {
    const page = await list(`?${query}${cursor && `&cursor=${cursor}`}`);
    found.push(...page.categories);
    expect(page.pagination.cursor === "").toBe(!page.pagination.has_more);
    cursor = page.pagination.cursor;
    if (!page.pagination.has_more) return found;
    expect(cursor.length).toBeLessThanOrEqual(200);
    expect(encodeURIComponent(cursor)).toBe(cursor);
  }
}

describe("GET /public/v1/categories", () => {
  test("needs no token and answers with exactly the fields of the list form", async () => {
    const response = await server.get("/public/v1/categories?limit=1");
    expect(response.status).toBe(200);
    const body = await json<List>(response);
    expect(Object.keys(body).sort()).toEqual(["categories", "pagination"]);
    expect(Object.keys(body.pagination).sort()).toEqual(["cursor", "has_more"]);
    const fields = ["banner", "icon", "id", "name", "slug", "tags", "viewers"];
    expect(Object.keys(body.categories[0] ?? {}).sort()).toEqual(fields);
    for (const field of ["icon", "banner"]) {
      const picture = await fetch(String(body.categories[0]?.[field]));
      expect(picture.headers.get("content-type")).toBe("image/png");
    }
  });

  test("shows more viewers first, then the lower id, and the sum over the live channels", async () => {
    const all = await walk("limit=100");
    const expected = categories
      .map(({ id, name }) => ({ id, name, viewers: viewersOf(id) }))
      .sort((a, b) => b.viewers - a.viewers || a.id - b.id);
    expect(all.map(({ id, name, viewers }) => ({ id, name, viewers }))).toEqual(expected);
  });

  test("has 25 on a page by default", async () => {
    expect((await list()).categories).toHaveLength(25);
    expect((await list("?limit=100")).categories).toHaveLength(Math.min(100, categories.length));
  });

  test.each([1, 25, 66])("a walk with limit %i shows every category exactly once", async (limit) => {
    const ids = (await walk(`limit=${limit}`)).map(({ id }) => id);
    expect(ids.toSorted((a, b) => a - b)).toEqual(categories.map(({ id }) => id).toSorted((a, b) => a - b));
  });

  test.each<[string, string[]]>([
    ["name=pokemon", ["Pokémon Scarlet/Violet"]],
    ["name=POKÉ", ["Pokémon Scarlet/Violet"]],
    ["q=pokemon", ["Pokémon Scarlet/Violet"]],
    ["name=pokemon&q=fortnite", ["Pokémon Scarlet/Violet"]],
    ["name=zzz", []],
  ])("?%s filters by a part of the name", async (query, expected) => {
    const found = await walk(`${query}&limit=10`);
    expect(found.map(({ name }) => name)).toEqual(expected);
  });

  test.each(["name=", "name=%20%20", "cursor="])("?%s is no filter and no cursor", async (query) => {
    expect((await list(`?${query}`)).categories).toEqual((await list()).categories);
  });

  test("a filter holds for the whole walk", async () => {
    const found = await walk("name=of&limit=3");
    expect(found.length).toBeGreaterThan(3);
    expect(found.every(({ name }) => name.toLowerCase().includes("of"))).toBe(true);
  });

  describe("refuses", () => {
    const code = async (query: string) => {
      const response = await server.get(`/public/v1/categories?${query}`);
      expect(response.status).toBe(400);
      const body = await json<{ code: string; errors: { field: string }[] }>(response);
      return [body.code, body.errors.map(({ field }) => field)];
    };
    test.each(["0", "101", "-1", "1e1", "0x1", "5.0", "%205", "%2B5", "", "ten"])(
      "limit=%s",
      async (limit) => {
        expect(await code(`limit=${limit}`)).toEqual(["invalid_parameter", ["limit"]]);
      },
    );
    test("a repeated limit", async () => {
      expect(await code("limit=1&limit=1")).toEqual(["invalid_parameter", ["limit"]]);
    });
    test("the cursor of another filter", async () => {
      const { cursor } = (await list("?name=of&limit=2")).pagination;
      expect(await code(`cursor=${cursor}`)).toEqual(["invalid_cursor", ["cursor"]]);
      expect(await code(`cursor=${cursor}&name=the`)).toEqual(["invalid_cursor", ["cursor"]]);
      expect((await server.get(`/public/v1/categories?cursor=${cursor}&q=OF`)).status).toBe(200);
    });
    test("all wrong parameters at once", async () => {
      expect(await code(`limit=x&cursor=y&name=${"n".repeat(101)}`)).toEqual([
        "invalid_parameter",
        ["limit", "cursor", "name"],
      ]);
    });
  });
});

describe("GET /public/v1/categories/{id}", () => {
  test("answers with exactly the fields of the detail form", async () => {
    const body = await json<{ category: Category }>(await server.get("/public/v1/categories/56"));
    const fields = ["banner", "description", "icon", "id", "name", "slug", "tags", "top_channels", "viewers"];
    expect(Object.keys(body)).toEqual(["category"]);
    expect(Object.keys(body.category).sort()).toEqual(fields);
    expect(body.category).toMatchObject({ id: 56, viewers: viewersOf(56), description: "", tags: [] });
    expect(body.category["top_channels"]).toEqual([
      {
        id: 1001,
        name: "xQcOW",
        slug: "xqcow",
        profile_image: `${server.publicUrl}/assets/profile-picture.png`,
        viewers: 27716,
      },
    ]);
  });

  test("shows the ten live channels with the most viewers", async () => {
    const crowd = Array.from({ length: 12 }, (_, i) =>
      user(5000 + i, `crowd${i}`, { profile_picture: `https://img.example/${i}.png` }),
    );
    await server.load("users", crowd);
    const theirs = crowd.map(({ id, username }) => channel(id + 1000, username, id));
    await server.load("channels", theirs);
    const crowded = category(9000, "Crowded", { description: "Many.", tags: ["fps", "team"] });
    await server.load("categories", [crowded]);
    const lives = theirs.map(({ id }, i) => live(id, 9000, i < 2 ? 50 : i));
    await server.load("livestreams", lives);
    clock.advance(1_000);
    const shown = await detail(9000);
    const order = [6000, 6001, 6011, 6010, 6009, 6008, 6007, 6006, 6005, 6004];
    expect(shown.top_channels.map(({ id }) => id)).toEqual(order);
    expect(shown.top_channels[0]).toEqual({
      id: 6000,
      name: "crowd0",
      slug: "crowd0",
      profile_image: "https://img.example/0.png",
      viewers: 50,
    });
    const tags = [{ name: "fps" }, { name: "team" }];
    expect(shown).toMatchObject({ viewers: 100 + 65, description: "Many.", tags });
  });

  test.each(["abc", "1e2", "0x10", "-1", "0", "+5", "%205", "5.0", "05", "9007199254740992", "1/2"])(
    "id %s is refused",
    async (id) => {
      const response = await server.get(`/public/v1/categories/${id}`);
      expect(response.status).toBe(id === "1/2" ? 404 : 400);
    },
  );

  test("an unknown id is 404", async () => {
    const answer = server.get("/public/v1/categories/9007199254740991");
    expect(await refusal(answer)).toEqual([404, "category_not_found"]);
  });
});

describe("freshness and caching", () => {
  const viewers = async (id: number) => (await detail(id)).viewers;
  const later = async (...livestreams: object[]) => {
    await server.load("livestreams", livestreams);
    clock.advance(2_000);
  };

  test("the filter by name finds letters with a stroke, ligatures and full-width forms", async () => {
    await server.load("categories", [{ ...category(900_000, "Łódź ﬁne ＮＩＮＪＡ"), slug: "folded" }]);
    const { categories: found } = await list(`?name=${encodeURIComponent("lodz fine ninja")}`);
    expect(found.map(({ id }) => id)).toEqual([900_000]);
  });

  test("a report shows within two seconds, a new category at once", async () => {
    const before = await viewers(1);
    await later(live(1001, 1, 100_000));
    expect(await viewers(1)).toBe(before + 100_000);
    expect(await viewers(56)).toBe(0);
    await server.load("categories", [category(9001, "Brand new")]);
    expect(await viewers(9001)).toBe(0);
    expect((await list("?name=brand new")).categories).toHaveLength(1);
  });

  test("a snapshot ends whatever it does not name", async () => {
    const only = JSON.stringify(live(1001, 56, 5));
    const response = await server.admin("PUT", "/admin/v1/livestreams?snapshot=true&confirm=true", only);
    expect(response.status).toBe(200);
    clock.advance(2_000);
    const watched = (await walk("limit=100")).filter(({ viewers }) => viewers > 0);
    expect(watched).toMatchObject([{ id: 56, viewers: 5 }]);
  });

  test("carries an ETag and answers 304 while nothing changed", async () => {
    for (const path of ["/public/v1/categories?limit=3", "/public/v1/categories/56"]) {
      const first = await server.get(path);
      const etag = first.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[^"]+"$/);
      expect(first.headers.get("cache-control")).toMatch(/^public, max-age=\d+$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await server.get(path, undefined, { headers: { "if-none-match": known } });
        expect([known, again.status, await again.text()]).toEqual([known, 304, ""]);
        expect(again.headers.get("etag")).toBe(etag);
      }
      const other = await server.get(path, undefined, { headers: { "if-none-match": '"other"' } });
      expect(other.status).toBe(200);
    }
    const etag = (await server.get("/public/v1/categories/56")).headers.get("etag") ?? "";
    await later(live(1001, 56, 6));
    const headers = { "if-none-match": etag };
    const changed = await server.get("/public/v1/categories/56", undefined, { headers });
    expect(changed.status).toBe(200);
  });

  test("a name changed beside the ranking shows too", async () => {
    await server.load("channels", [channel(1001, "xqcow", 1001, { name: "Renamed" })]);
    clock.advance(2_000);
    expect((await detail(56)).top_channels[0]).toMatchObject({ name: "Renamed" });
  });
});
