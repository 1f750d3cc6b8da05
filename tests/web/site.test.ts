import { describe, expect, test } from "bun:test";
import { find, operationsOf } from "../../src/web/docs/search.ts";
import { rendered } from "../../src/web/site/markdown.ts";
import { testServer } from "../support/server.ts";

const server = await testServer();
const open = (path: string, init?: RequestInit) => fetch(server.publicUrl + path, init);

/** The addresses that a page leads to or is made of. */
const addressesOf = (html: string) =>
  [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, address = ""]) => unescaped(address));
const unescaped = (text: string) => text.replaceAll("&amp;", "&");

const idsOf = (html: string) => [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id);

/** Every page of the site that links lead to from the front, by its path. */
async function allPages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const todo = ["/docs"]; todo.length > 0; ) {
    const path = todo.pop() ?? "";
    if (pages.has(path)) continue;
    const answer = await open(path);
    expect([path, answer.status]).toEqual([path, 200]);
    const html = await answer.text();
    pages.set(path, html);
    for (const address of addressesOf(html)) {
      const { origin, pathname } = new URL(address, server.publicUrl + path);
      const isPage = /^\/docs(\/[a-z0-9-]+)?$/.test(pathname) && pathname !== "/docs/api";
      if (origin === server.publicUrl && isPage) todo.push(pathname);
    }
  }
  return pages;
}

describe("the documentation at /docs", () => {
  test("has every page of docs/, and each of its links leads to a page, a heading or a file", async () => {
    const pages = await allPages();
    const files = [...new Bun.Glob("*.md").scanSync(`${import.meta.dir}/../../docs`)];
    expect([...pages.keys()].sort()).toEqual(
      ["/docs", ...files.map((file) => `/docs/${file.slice(0, -3)}`)].sort(),
    );
    const broken: string[] = [];
    const others = new Set<string>();
    for (const [path, html] of pages) {
      for (const address of addressesOf(html)) {
        const url = new URL(address, server.publicUrl + path);
        if (url.origin !== server.publicUrl) continue;
        const target = pages.get(url.pathname);
        const anchor = decodeURIComponent(url.hash.slice(1));
        if (target === undefined) others.add(url.pathname);
        else if (anchor && !idsOf(target).includes(anchor)) broken.push(`${path} → ${address}`);
      }
      expect([path, idsOf(html).length]).toEqual([path, new Set(idsOf(html)).size]);
    }
    expect(broken).toEqual([]);
    expect(others).toContain("/docs/api");
    for (const path of others) expect([path, (await open(path)).status]).toEqual([path, 200]);
  });

  test("runs and loads nothing but files of its own, which are kept for good", async () => {
    for (const path of ["/docs", "/docs/oauth"]) {
      const answer = await open(path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).not.toContain("unsafe");
      const html = await answer.text();
      // A proxy may serve all of it below a path of its own.
      expect(addressesOf(html).filter((address) => address.startsWith("/"))).toEqual([]);
      expect(html).not.toMatch(/<style|\sstyle=|<script>|\son[a-z]+="/);
      const parts = [...html.matchAll(/<(?:script src|link [^>]*?href)="([^"]*)"/g)].map(
        ([, part = ""]) => part,
      );
      expect(parts).toHaveLength(4);
      for (const part of parts) {
        const found = await fetch(new URL(part, server.publicUrl + path));
        expect([part, found.status]).toEqual([part, 200]);
        expect(found.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      }
    }
  });

  test("is compressed where that is understood, and not sent twice", async () => {
    const plain = await open("/docs/delivery", { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const html = await plain.text();
    const init = { headers: { "accept-encoding": "gzip" }, decompress: false };
    const zipped = await open("/docs/delivery", init);
    expect(zipped.headers.get("vary")).toBe("accept-encoding");
    const bytes = new Uint8Array(await zipped.arrayBuffer());
    expect(bytes.length).toBeLessThan(html.length / 2);
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(html);
    const etag = plain.headers.get("etag") ?? "";
    const again = { headers: { "accept-encoding": "identity", "if-none-match": etag } };
    expect((await open("/docs/delivery", again)).status).toBe(304);
    expect(zipped.headers.get("etag")).not.toBe(etag);
  });

  test.each([
    ["/docs/nothing", 404],
    ["/docs/", 404],
    ["/docs/files/nothing.js", 404],
    ["/docs/files/__proto__", 404],
    ["/docs/constructor", 404],
    ["/docs/oauth/", 404],
    ["/docs/oauth.md", 404],
    ["/docs/..%2fpackage.json", 404],
  ])("GET %s is %d, for a program as JSON", async (path, status) => {
    const answer = await open(path);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/json"]);
  });

  test("shows a browser a page in place of one that is not there, whose links lead on", async () => {
    const answer = await open("/docs/nothing", { headers: { accept: "text/html,*/*;q=0.8" } });
    expect([answer.status, answer.headers.get("vary")]).toEqual([404, "accept"]);
    const html = await answer.text();
    expect(html).toContain("<h1>Page not found</h1>");
    for (const address of addressesOf(html)) {
      const { href, hash } = new URL(address, `${server.publicUrl}/docs/nothing`);
      if (hash === "") expect([href, (await fetch(href)).status]).toEqual([href, 200]);
    }
  });

  test("answers HEAD like GET, and refuses other methods", async () => {
    expect((await open("/docs/oauth", { method: "HEAD" })).status).toBe(200);
    expect((await open("/docs/oauth", { method: "POST" })).status).toBe(405);
  });

  test("is not on the admin listener, whose /docs is the reference of its API", async () => {
    expect(await (await fetch(`${server.adminUrl}/docs`)).text()).toContain("On Air Admin API");
    expect((await fetch(`${server.adminUrl}/docs/oauth`)).status).toBe(404);
  });
});

describe("a page of Markdown", () => {
  const made = (markdown: string) =>
    rendered(markdown, (path) => {
      if (path === "docs/gone.md") throw new Error("gone");
      return `to:${path}`;
    });

  test("has the anchors that GitHub gives to headings", () => {
    const { html, title, sections } = made("# Who & `what` — now\n\n## Same\n\na\n\n## Same\n\nb <c> `d`\n");
    expect(title).toBe("Who & what — now");
    expect(idsOf(html)).toEqual(["who--what--now", "same", "same-1"]);
    expect(sections.map(({ anchor, text }) => [anchor, text])).toEqual([
      ["", ""],
      ["same", "a"],
      ["same-1", "b <c> d"],
    ]);
  });

  test("leads to other pages of the site, and nowhere that it does not have", () => {
    const { html } = made("[a](oauth.md#x) [b](../ops/c.service) [d](#here) [e](https://e.example/f)");
    expect(addressesOf(html)).toEqual([
      "to:docs/oauth.md#x",
      "to:ops/c.service",
      "#here",
      "https://e.example/f",
    ]);
    expect(() => made("[a](gone.md)")).toThrow("gone");
  });

  test("takes nothing in it for HTML", () => {
    const { html } = made("<script>alert(1)</script>\n\na <b onclick=x>c</b>\n\n```html run\n<i>\n```\n");
    expect(html).not.toMatch(/<script|<b |<i>/);
    expect(html).toContain("&lt;i&gt;");
  });
});

describe("the search", () => {
  const entry = (heading: string, text: string, anchor = "x") => ({
    page: "p",
    title: "Page",
    heading,
    anchor,
    text,
  });
  const entries = [
    entry("Elsewhere", "A word about retries, and nothing else."),
    entry("Retries", "How often."),
    entry("Signatures", `${"long ".repeat(60)}the secret whsec_ ${"tail ".repeat(60)}`),
    entry("Signing in", "With PKCE.", ""),
  ];
  const headings = (query: string) => find(entries, query).map(({ heading }) => heading);

  test.each([
    ["retries", ["Retries", "Elsewhere"]],
    ["RETR", ["Retries", "Elsewhere"]],
    // Other forms of a word, behind the word itself.
    ["signing secret", ["Signatures"]],
    ["signing", ["Signing in", "Signatures"]],
    ["retry", ["Retries", "Elsewhere"]],
    ["how to retry", ["Retries", "Elsewhere"]],
    ["how", ["Retries"]],
    ["sign", ["Signatures", "Signing in"]],
    ["word retries", ["Elsewhere"]],
    ["  ", []],
    ["unheard", []],
    [".*", []],
  ])("%o finds %o", (query, found) => {
    expect(headings(query)).toEqual(found);
  });

  test("shows what stands around a word", () => {
    const [found] = find(entries, "whsec_");
    expect(found?.excerpt).toMatch(/^….*the secret whsec_ tail.*…$/);
  });

  test("has an entry for each operation of the API, at its place in the reference", async () => {
    const document = (await (await open("/openapi.json")).json()) as Parameters<typeof operationsOf>[0];
    const [found] = find(operationsOf(document), "users/search");
    expect(found).toMatchObject({ page: "api", anchor: "tag/users/GET/public/v1/users/search" });
  });
});
