import { describe, expect, test } from "bun:test";
import { inflateSync } from "node:zlib";
import { defaultPictures } from "../../../src/api/public/assets.ts";
import { testServer } from "../../support/server.ts";

interface Answer {
  user?: { profile_picture: string };
  category?: { icon: string; banner: string };
}

const server = await testServer();

describe.each([
  ["/assets/profile-picture.png", 300, 300],
  ["/assets/category-icon.png", 285, 380],
  ["/assets/category-banner.png", 1200, 400],
])("GET %s", (path, width, height) => {
  test("is a small PNG of its size", async () => {
    const answer = await server.get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("image/png");
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    expect(answer.headers.get("ratelimit-limit")).toBeNull();
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(bytes.length).toBeLessThan(64 * 1024);
    expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    expect(bytes.toString("latin1", 12, 16)).toBe("IHDR");
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([width, height]);
    const length = bytes.readUInt32BE(33);
    expect(bytes.toString("latin1", 37, 41)).toBe("IDAT");
    expect(inflateSync(bytes.subarray(41, 41 + length)).length).toBe(height * (1 + width * 3));
  });

  test("may be kept for long, and asked for again", async () => {
    const answer = await server.get(path);
    const etag = answer.headers.get("etag") ?? "";
    expect(answer.headers.get("cache-control")).toBe("public, max-age=604800");
    const again = await server.get(path, undefined, { headers: { "if-none-match": `"other", W/${etag}` } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await server.get(path, undefined, { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
    const length = (await answer.arrayBuffer()).byteLength;
    expect(head.headers.get("content-length")).toBe(String(length));
    expect((await server.get(path, undefined, { method: "DELETE" })).status).toBe(405);
  });
});

test("nothing else is reachable beside the pictures", async () => {
  for (const path of [
    "/assets",
    "/assets/",
    "/assets/introduction.md",
    "/assets/../package.json",
    "/assets/%2e%2e/x",
  ]) {
    const answer = await server.get(path);
    expect([path, answer.status]).toEqual([path, 404]);
  }
});

test("users and categories without pictures have them", async () => {
  await server.load("users", [{ id: 1, username: "nemo" }]);
  await server.load("categories", [{ id: 1, name: "Chess", slug: "chess" }]);
  const { token } = await server.application();
  const read = async (path: string) => (await server.get(path, token)).json() as Promise<Answer>;
  const { user } = await read("/public/v1/users/nemo");
  const { category } = await read("/public/v1/categories/1");
  for (const url of [user?.profile_picture, category?.icon, category?.banner]) {
    expect((await fetch(url ?? "")).headers.get("content-type")).toBe("image/png");
  }
});

test("their addresses follow the address of the server", () => {
  const pictures = defaultPictures("https://api.example.com");
  expect(pictures.profile).toBe("https://api.example.com/assets/profile-picture.png");
  expect(defaultPictures("https://other.example.com").icon).toStartWith("https://other.example.com/");
});
