import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { atomicLimits } from "../../src/platform/batches.ts";
import { category, channel, json, live, ownServer, startServer, user } from "../support/server.ts";
import { type SmallPlatform, smallPlatform } from "../support/small-platform.ts";

// Batches with `?atomic=true`.

let platform: SmallPlatform;

// One server for all of them: what is refused changes nothing.
describe("refused batches", () => {
  beforeAll(async () => {
    platform = await smallPlatform(startServer);
  });
  afterAll(() => platform.server.stop());

  const lives = [live(11, 6, 100), live(19, 6, 1)];

  test.each<[string, unknown[], number, string]>([
    [
      "users/batch",
      [user(3, "three"), user(1, "renamed"), user(4, "TWO")],
      3,
      'username "TWO" is taken by user 2',
    ],
    ["users/batch", [user(3, "three"), "", "{"], 3, "The line is not valid JSON"],
    // The unknown user of the first line is reported once every line has the right form.
    ["channels/batch", [channel(14, "y", 9), "{"], 2, "The line is not valid JSON"],
    [
      "categories/batch",
      [category(7, "X", { tags: ["New"] }), category(8, "Go")],
      2,
      'slug "go" is taken by category 6',
    ],
    [
      "channels/batch",
      [channel(13, "x", 1), channel(14, "y", 9)],
      2,
      "user_id 9 is not a known user: import users first",
    ],
    ["livestreams", lives, 2, "channel_id 19 is not a known channel: import channels first"],
    ["livestreams?snapshot=true", lives, 2, "channel_id 19 is not a known channel: import channels first"],
  ])("%s with one refused line takes none", async (path, rows, line, message) => {
    const before = await platform.everything();
    const answer = await platform.put(`${path}${path.includes("?") ? "&" : "?"}atomic=true`, rows);
    const ended = path.startsWith("livestreams") ? { ended: 0 } : {};
    const none = {
      accepted: 0,
      rejected: 1,
      ignored_fields: 0,
      duplicate_ids: 0,
      errors: [{ line, message }],
      ...ended,
    };
    expect([answer.status, await json<object>(answer)]).toEqual([200, none]);
    expect(await platform.everything()).toBe(before);
    expect([(await platform.shown(5)).viewers, (await platform.shown(6)).viewers]).toEqual([10, 0]);
    expect([await platform.found("three"), await platform.found("one")]).toEqual([[], [1, 2]]);
  });
});

describe("accepted batches", () => {
  beforeEach(async () => {
    platform = await smallPlatform(ownServer);
  });

  const took = (accepted: number) => ({
    accepted,
    rejected: 0,
    ignored_fields: 0,
    duplicate_ids: 0,
    errors: [],
  });

  test("takes all where none is refused", async () => {
    const users = [user(3, "three"), user(1, "renamed")];
    expect(await platform.report("users/batch?atomic=true", users)).toEqual(took(2));
    expect(await platform.found("renamed")).toEqual([1]);
    expect(await platform.report("livestreams?atomic=true&snapshot=true", [live(12, 6, 4)])).toEqual({
      ...took(1),
      ended: 1,
    });
    expect([(await platform.shown(5)).viewers, (await platform.shown(6)).viewers]).toEqual([0, 4]);
  });

  test("takes names that two give to each other, or pass on, and finds each by its new one", async () => {
    const swapped = [user(1, "TWO"), user(2, "one", { display_name: "Uno" })];
    expect(await platform.report("users/batch?atomic=true", swapped)).toEqual(took(2));
    expect([await platform.found("two"), await platform.found("one"), await platform.found("twin")]).toEqual([
      [1],
      [2],
      [],
    ]);
    const passed = [user(3, "two"), user(1, "one"), user(2, "other")];
    expect(await platform.report("users/batch?atomic=true", passed)).toEqual(took(3));
    expect([await platform.found("two"), await platform.found("one"), await platform.found("other")]).toEqual(
      [[3], [1], [2]],
    );
    const channels = [channel(11, "two", 1), channel(12, "one", 2)];
    expect(await platform.report("channels/batch?atomic=true", channels)).toEqual(took(2));
    const categories = [category(5, "Chess", { slug: "go" }), category(6, "Go", { slug: "chess" })];
    expect(await platform.report("categories/batch?atomic=true", categories)).toEqual(took(2));
    const slugs = {
      "channels/11": "two",
      "channels/12": "one",
      "categories/5": "go",
      "categories/6": "chess",
    };
    for (const [path, slug] of Object.entries(slugs))
      expect(await (await platform.server.admin("GET", `/admin/v1/${path}`)).text()).toContain(
        `"slug":"${slug}"`,
      );
    expect(await platform.everything()).not.toContain('" ');
  });

  test("without it, slugs are swapped across groups of lines, and every refused line is counted", async () => {
    const between = Array.from({ length: 1_200 }, (_, i) => channel(100 + i, `c${i}`, 9));
    const rows = [channel(11, "two", 1), ...between, channel(12, "one", 2)];
    const { errors, ...counts } = await platform.report("channels/batch", rows);
    expect(counts).toEqual({ accepted: 2, rejected: 1_200, ignored_fields: 0, duplicate_ids: 0 } as object);
    expect([errors.length, errors[0]]).toMatchObject([1_000, { line: 2 }]);
  });

  test("is bounded, and over the bound takes none", async () => {
    const before = await platform.everything();
    const rows = Array.from({ length: atomicLimits.lines + 1 }, (_, i) => user(100 + i));
    const message = "An atomic batch may have at most 2,000 lines and 4 MiB; nothing was stored";
    const refused = { code: "body_too_large", message };
    const tooMany = await platform.put("users/batch?atomic=true", rows);
    expect([tooMany.status, await json<object>(tooMany)]).toMatchObject([413, refused]);
    expect(await platform.everything()).toBe(before);
    const long = Array<string>(50).fill("x".repeat(200_000));
    expect(await platform.report("users/batch?atomic=true", long)).toMatchObject(refused);
    expect((await platform.put("users/batch?atomic=true", rows.slice(0, atomicLimits.lines))).status).toBe(
      200,
    );
  });
});
