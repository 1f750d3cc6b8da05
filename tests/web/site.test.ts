import { describe, expect, test } from "bun:test";
import { find, operationsOf } from "../../src/web/docs/search.ts";
import { contentsOf } from "../../src/web/site/make.ts";
import { rendered } from "../../src/web/site/markdown.ts";
import { json, ownServer, testServer } from "../support/server.ts";

const server = await testServer();
const open = (path: string, init?: RequestInit) => fetch(server.publicUrl + path, init);
const readme = await Bun.file(`${import.meta.dir}/../../README.md`).text();

/** The addresses that a page leads to or is made of. */
const addressesOf = (html: string) =>
  [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, address = ""]) => unescaped(address));
const unescaped = (text: string) => text.replaceAll("&amp;", "&");

const idsOf = (html: string) => [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id);

/** Every page of the site that links lead to from the front of a listener, by its path. */
async function allPages(listener: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const todo = ["/docs"]; todo.length > 0; ) {
    const path = todo.pop() ?? "";
    if (pages.has(path)) continue;
    const answer = await fetch(listener + path);
    expect([path, answer.status]).toEqual([path, 200]);
    const html = await answer.text();
    pages.set(path, html);
    for (const address of addressesOf(html)) {
      const { origin, pathname } = new URL(address, listener + path);
      if (origin === listener && /^\/docs(\/[a-z0-9-]+)?$/.test(pathname)) todo.push(pathname);
    }
  }
  return pages;
}

const listeners = [
  ["public", "developer", server.publicUrl],
  ["admin", "operator", server.adminUrl],
] as const;

describe("the documentation at /docs", () => {
  test("has each page of docs/ on one listener, that of its readers", () => {
    const files = [...new Bun.Glob("*.md").scanSync(`${import.meta.dir}/../../docs`)];
    const groups = contentsOf(readme);
    const names = groups.flatMap(({ pages }) => pages.map(({ name }) => `${name}.md`));
    expect(names.sort()).toEqual(files.sort());
    expect(new Set(groups.map(({ reader }) => reader))).toEqual(new Set(["developer", "operator"]));
    expect(() => contentsOf("## More\n\n### Elsewhere\n\n- [A](docs/a.md): b")).toThrow("Elsewhere");
  });

  test.each(listeners)(
    "of the %s listener leads from each page to pages, headings and files",
    async (_, reader, url) => {
      const pages = await allPages(url);
      const own = contentsOf(readme).filter((group) => group.reader === reader);
      expect([...pages.keys()].sort()).toEqual(
        [
          "/docs",
          "/docs/api",
          ...own.flatMap((group) => group.pages.map(({ name }) => `/docs/${name}`)),
        ].sort(),
      );
      // An operator is led to the guides for developers. The public listener names nothing of the admin listener.
      const elsewhere = reader === "operator" ? await allPages(server.publicUrl) : new Map<string, string>();
      const broken: string[] = [];
      const others = new Set<string>();
      for (const [path, html] of pages) {
        for (const address of addressesOf(html)) {
          const { origin, pathname, hash } = new URL(address, url + path);
          const target = origin === url ? pages.get(pathname) : elsewhere.get(pathname);
          const isOwn = origin === url || (reader === "operator" && origin === server.publicUrl);
          if (isOwn && target === undefined) others.add(origin + pathname);
          const anchor = decodeURIComponent(hash.slice(1));
          if (target && anchor && !idsOf(target).includes(anchor)) broken.push(`${path} → ${address}`);
        }
        expect([path, idsOf(html).length]).toEqual([path, new Set(idsOf(html)).size]);
        if (reader === "developer") expect(html).not.toContain(server.adminUrl);
      }
      expect(broken).toEqual([]);
      for (const other of others) expect([other, (await fetch(other)).status]).toEqual([other, 200]);
      // A developer is told where a page is that the public listener does not have.
      const isTold = [...pages.values()].some((html) => html.includes(">guide for operators</small>"));
      expect(isTold).toBe(reader === "developer");
      const another = reader === "developer" ? "operating" : "stream";
      expect((await fetch(`${url}/docs/${another}`)).status).toBe(404);
    },
  );

  test("names the address at which it was asked, and no cache may give that to others", async () => {
    const at = async (headers: Record<string, string>, path = "/docs/first-webhook") => {
      const answer = await open(path, { headers });
      return [await answer.text(), answer.headers.get("cache-control")] as const;
    };
    const [html, caching] = await at({ host: "API.lan:8080" });
    expect(html).toContain("http://api.lan:8080/oauth/token");
    expect(html).not.toContain("http://127.0.0.1:8080");
    expect(caching).toBe("private, no-cache");
    expect((await at({}))[0]).toContain(`${server.publicUrl}/oauth/token`);
    for (const path of ["/docs/api", "/docs/search.json"])
      expect((await at({ host: "api.lan:8080" }, path))[0]).toContain("http://api.lan:8080/");
    // What is no plain host name is not repeated, nor what a proxy or an attacker adds.
    for (const host of [
      'x"><script>',
      `${"a".repeat(300)}.example`,
      "evil.example/path",
      "evil.example:123456",
    ])
      expect((await at({ host }))[0]).not.toContain(host);
    const forwarded = { "x-forwarded-host": "evil.example", forwarded: "host=evil.example" };
    expect((await at(forwarded))[0]).not.toContain("evil.example");
  });

  test("names the address and the brand of the platform where they are settings", async () => {
    const logo = `${import.meta.dir}/../../src/api/public/assets/profile-picture.png`;
    const look = ["--portal-name", "Kite <TV>", "--portal-accent", "#ff8800", "--portal-logo", logo];
    const own = await ownServer({ args: ["--public-url", "https://api.kite.example/live", ...look] });
    const api = "https://api.kite.example/live";
    for (const path of ["/docs", "/docs/stream", "/docs/api", "/docs/search.json"]) {
      const answer = await fetch(own.publicUrl + path, { headers: { host: "evil.example" } });
      expect(answer.headers.get("cache-control")).toBe("no-cache");
      const text = await answer.text();
      expect(text).not.toMatch(/evil\.example|On Air/);
      expect(text).toContain(path === "/docs/search.json" ? "Kite <TV>" : "<bdi>Kite &lt;TV&gt;</bdi>");
      if (path !== "/docs")
        expect(text).toContain(`${api}${path === "/docs/api" ? "/public/v1/events/stream" : ""}`);
      if (path === "/docs/search.json") continue;
      for (const part of ["theme.css", "logo"]) {
        const address = addressesOf(text).find((one) => one.endsWith(part)) ?? "";
        expect((await fetch(new URL(address, own.publicUrl + path))).status).toBe(200);
      }
    }
    expect(await (await fetch(`${own.publicUrl}/docs/theme.css`)).text()).toContain("--accent: #ff8800");
    // Operators read the product's own pages.
    const operating = await (await fetch(`${own.adminUrl}/docs/operating`)).text();
    expect(operating).toContain("<bdi>On Air</bdi>");
    expect(operating).toContain('href="https://api.kite.example/live/docs"');
    expect(operating).toContain(`${own.adminUrl}/docs`);
  });

  test("runs and loads nothing but files of its own, which are kept for good", async () => {
    for (const path of ["/docs", "/docs/stream", "/docs/api"]) {
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
    const plain = await open("/docs/stream", { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const html = await plain.text();
    const init = { headers: { "accept-encoding": "gzip" }, decompress: false };
    const zipped = await open("/docs/stream", init);
    expect(zipped.headers.get("vary")).toBe("accept-encoding");
    const bytes = new Uint8Array(await zipped.arrayBuffer());
    expect(bytes.length).toBeLessThan(html.length / 2);
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(html);
    const etag = plain.headers.get("etag") ?? "";
    const again = { headers: { "accept-encoding": "identity", "if-none-match": etag } };
    expect((await open("/docs/stream", again)).status).toBe(304);
    expect(zipped.headers.get("etag")).not.toBe(etag);
  });

  test.each([
    ["/docs/nothing", 404],
    ["/docs/", 404],
    ["/docs/files/nothing.js", 404],
    ["/docs/files/__proto__", 404],
    ["/docs/constructor", 404],
    ["/docs/stream/", 404],
    ["/docs/stream.md", 404],
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
    expect((await open("/docs/stream", { method: "HEAD" })).status).toBe(200);
    expect((await open("/docs/stream", { method: "POST" })).status).toBe(405);
  });

  test("is where the root of the public listener leads a browser; a program gets what it gets elsewhere", async () => {
    const root = await open("/", { redirect: "manual", headers: { accept: "text/html,*/*;q=0.8" } });
    expect([root.status, root.headers.get("vary")]).toEqual([302, "accept"]);
    const location = new URL(root.headers.get("location") ?? "", server.publicUrl);
    expect(location.href).toBe(`${server.publicUrl}/docs`);
    for (const accept of ["*/*", "application/json", "text/html;q=0"]) {
      const answer = await open("/", { redirect: "manual", headers: { accept } });
      expect([answer.status, await json(answer)]).toMatchObject([404, { code: "not_found" }]);
    }
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
    // A typing error: a letter that is wrong, missing, too many, or swapped with its neighbour.
    ["signatuers", ["Signatures"]],
    ["retreis", ["Retries", "Elsewhere"]],
    ["singing", ["Signing in", "Signatures"]],
    ["pcke", ["Signing in"]],
    ["secert whsec_", ["Signatures"]],
    ["signalures", ["Signatures"]],
    // Too far away, or too short.
    ["signals", []],
    ["hwo", []],
    ["x".repeat(5_000), []],
  ])("%o finds %o", (query, found) => {
    expect(headings(query)).toEqual(found);
  });

  test("looks for typing errors in bounded work", () => {
    const many = Array.from({ length: 40 }, (_, i) => entry(`Part ${i}`, `word${i}x `.repeat(2_000)));
    const started = performance.now();
    find(many, Array.from({ length: 500 }, (_, i) => `wrod${i}yz`).join(" "));
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  test("shows what stands around a word", () => {
    const [found] = find(entries, "whsec_");
    expect(found?.excerpt).toMatch(/^….*the secret whsec_ tail.*…$/);
  });

  test("has an entry for each operation of the API, at its place in the reference", async () => {
    const document = (await (await open("/openapi.json")).json()) as Parameters<typeof operationsOf>[0];
    const [found] = find(operationsOf(document), "users/search");
    expect(found).toMatchObject({ page: "api", anchor: "searchUsers" });
  });
});
