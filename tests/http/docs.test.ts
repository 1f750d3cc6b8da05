import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "puppeteer-core";
import { exampleUser } from "../../src/domain/examples.ts";
import { browserContext, chromium } from "../support/chromium.ts";
import { adminKey, ownServer, testServer } from "../support/server.ts";

const server = await testServer();

describe("GET /docs/api", () => {
  test("is a page that refers to nothing but this server", async () => {
    const answer = await server.get("/docs/api");
    const html = await answer.text();
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const addresses = [...html.matchAll(/\s(?:src|href|data-url)="([^"]*)"/g)].map(
      ([, address]) => address ?? "",
    );
    expect(addresses).toEqual(["/openapi.json", expect.stringMatching(/^\/docs\/api\/scalar-[0-9.]+\.js$/)]);
    for (const address of addresses) {
      const url = new URL(address, `${server.app.publicUrl}/docs/api`);
      expect(url.origin).toBe(server.app.publicUrl);
      expect((await fetch(url)).status).toBe(200);
    }
    const configuration = JSON.parse(/data-configuration='([^']*)'/.exec(html)?.[1] ?? "");
    expect(configuration).toMatchObject({
      url: "/openapi.json",
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: "",
      authentication: { preferredSecurityScheme: "bearerToken" },
      agent: { disabled: true },
      mcp: { disabled: true },
    });
    expect(configuration).not.toHaveProperty("spec");
    expect(html.replaceAll(/"favicon":"[^"]*"|href="data:[^"]*"/g, "")).not.toMatch(/https?:/);
  });

  test("lets no script run but its own", async () => {
    const answer = await server.get("/docs/api");
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    for (const [, inline] of (await answer.text()).matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)) {
      expect(inline).toBe("");
    }
    const etag = answer.headers.get("etag") ?? "";
    expect((await server.get("/docs/api", undefined, { headers: { "if-none-match": etag } })).status).toBe(
      304,
    );
  });

  test("serves its script for good, compressed where that is understood", async () => {
    const html = await (await server.get("/docs/api")).text();
    const path = /<script src="([^"]*)"/.exec(html)?.[1] ?? "";
    const ask = (encoding: string, method = "GET") => {
      const init = { method, headers: { "accept-encoding": encoding }, decompress: false };
      return fetch(server.app.publicUrl + path, init);
    };
    const plain = await ask("identity");
    const source = await plain.text();
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(plain.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(plain.headers.get("vary")).toBe("accept-encoding");
    expect(source.length).toBeGreaterThan(1_000_000);
    const gzipped = await ask("br, gzip;q=0.5");
    expect(gzipped.headers.get("content-encoding")).toBe("gzip");
    const compressed = new Uint8Array(await gzipped.arrayBuffer());
    expect(compressed.length).toBeLessThan(source.length / 2);
    expect(new TextDecoder().decode(Bun.gunzipSync(compressed))).toBe(source);
    expect((await ask("gzip;q=0, identity")).headers.get("content-encoding")).toBeNull();
    expect(await (await ask("gzip", "HEAD")).text()).toBe("");
    expect((await server.get("/docs/api/scalar-0.js")).status).toBe(404);
    expect((await server.get("/docs/api/")).status).toBe(404);
  });
});

/** What stands beyond the right edge of its box, or of the window, and the names that are broken in two. */
async function misfits(page: Page) {
  const cut = await page.$$eval("pre", (blocks) =>
    blocks
      .filter((block) => {
        const edge = (block.closest(".scalar-code-block") ?? block).getBoundingClientRect().right + 1;
        return [block, ...block.querySelectorAll("*")].some(
          (part) => part.getBoundingClientRect().right > edge,
        );
      })
      .map((block) => block.textContent),
  );
  const broken = await page.$$eval(".markdown :not(pre) > code", (names) =>
    names
      .filter((name) => {
        const text = name.ownerDocument.createRange();
        text.selectNodeContents(name);
        const lines = new Set(Array.from(text.getClientRects(), ({ top }) => Math.round(top)));
        return lines.size > 1 && !/[\s-]/.test(name.textContent ?? "");
      })
      .map((name) => name.textContent),
  );
  const beyond = await page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  return { cut, broken, beyond };
}

// One page serves all tests of a listener: the script of the reference takes seconds to start.
describe.skipIf(chromium === null).each([
  ["public", "/public/v1/users/{username}", `/public/v1/users/${exampleUser.username}`],
  ["admin", "/admin/v1/users/{id}", `/admin/v1/users/${exampleUser.id}`],
])("the reference of the %s listener in a real browser", (name, path, sent) => {
  const isPublic = name === "public";
  const url = isPublic ? server.app.publicUrl : server.app.adminUrl;
  const section = `tag/users/GET${path}`;
  const complaints: string[] = [];
  const asked = new Set<string>();
  let page: Page;
  beforeAll(async () => {
    await server.load("users", [exampleUser]);
    page = await (await browserContext()).newPage();
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith("data:")) asked.add(new URL(request.url()).origin);
    });
    await page.setViewport({ width: 1280, height: 1000 });
    // Sections are made when they come into sight.
    await page.goto(`${url}${isPublic ? "/docs/api" : "/docs"}#${section}`);
    await page.waitForSelector("input[placeholder=Token]", { timeout: 30_000 });
    await page.waitForSelector(".scalar-code-block pre .line", { timeout: 30_000 });
  }, 60_000);
  afterAll(() => page?.browserContext().close());

  test("is there without asking any other server", async () => {
    await page.waitForSelector("::-p-text(Get an access token)", { timeout: 30_000 });
    expect(await page.title()).toBe(isPublic ? "On Air API" : "On Air Admin API");
    expect(await page.$eval("html", ({ lang }) => lang)).toBe("en");
    expect(await page.$eval("link[rel~=icon]", (link) => link.getAttribute("href"))).toStartWith(
      "data:image",
    );
    expect([...asked]).toEqual([url]);
    expect(complaints).toEqual([]);
  });

  test.each([1280, 400])("wraps code and keeps names whole in a window of %d pixels", async (width) => {
    await page.setViewport({ width, height: 1000 });
    await page.waitForSelector(".scalar-code-block pre .line");
    expect(await misfits(page)).toEqual({ cut: [], broken: [], beyond: 0 });
  });

  test("takes a token that is pasted, and sends its example with it", async () => {
    const token = isPublic ? (await server.application({ scopes: ["users:read"] })).token : adminKey;
    await page.setViewport({ width: 1280, height: 1000 });
    const field = await page.waitForSelector("input[placeholder=Token]");
    await field?.evaluate((input) => (input as unknown as { select(): void }).select());
    await page.keyboard.sendCharacter(token);
    const button = await page.waitForSelector(`[id$="${section}"] button.show-api-client-button`);
    // By script: the sections above still load, and move it.
    await button?.evaluate((element) => element.click());
    await page.waitForSelector("::-p-text(Send Request)");
    const answered = page.waitForResponse((answer) => answer.url() === url + sent);
    await page.keyboard.down("Control");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Control");
    const answer = await answered;
    expect(answer.request().headers()["authorization"]).toBe(`Bearer ${token}`);
    expect([answer.status(), await answer.json()]).toMatchObject([200, { user: { id: exampleUser.id } }]);
    await page.waitForSelector("::-p-text(200 OK)");
  });
});

test("HEAD and GET of the reference answer in any order, again and again, on both listeners", async () => {
  for (const first of ["HEAD", "GET"]) {
    const fresh = await ownServer();
    for (const method of [first, "GET", "HEAD", "GET"]) {
      for (const url of [`${fresh.app.publicUrl}/docs/api`, `${fresh.app.adminUrl}/docs`]) {
        const answer = await fetch(url, { method });
        expect(answer.status).toBe(200);
        expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
        expect((await answer.text()).includes("<html")).toBe(method === "GET");
      }
    }
  }
});
