import { describe, expect, test } from "bun:test";
import { ownServer, testServer } from "../support/server.ts";

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
      const url = new URL(address, `${server.publicUrl}/docs/api`);
      expect(url.origin).toBe(server.publicUrl);
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
      return fetch(server.publicUrl + path, init);
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

test("HEAD and GET of the reference answer in any order, again and again, on both listeners", async () => {
  for (const first of ["HEAD", "GET"]) {
    const fresh = await ownServer();
    for (const method of [first, "GET", "HEAD", "GET"]) {
      for (const url of [`${fresh.publicUrl}/docs/api`, `${fresh.adminUrl}/docs`]) {
        const answer = await fetch(url, { method });
        expect(answer.status).toBe(200);
        expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
        expect((await answer.text()).includes("<html")).toBe(method === "GET");
      }
    }
  }
});
