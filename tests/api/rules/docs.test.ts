import { describe, expect, test } from "bun:test";
import { documentOf, operations, parameters } from "../../support/openapi.ts";
import { ownServer, testServer } from "../../support/server.ts";

const server = await testServer();

/** The page without tags, and with the characters that its text has. */
const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");

describe.each([
  ["public", server.publicUrl, "Authorization: Bearer $TOKEN"],
  ["admin", server.adminUrl, "Authorization: Bearer $ONAIR_ADMIN_KEY"],
])("the API reference of the %s listener", (_, url, authorization) => {
  const page = async () => (await fetch(`${url}/docs/api`)).text();

  test("has every operation, parameter, field and event of the document, without scripts", async () => {
    const document = await documentOf(url);
    const html = await page();
    const missing: string[] = [];
    for (const { name, operation } of operations(document)) {
      const { operationId, summary, responses } = operation;
      const from = html.indexOf(`<section class="operation" id="${operationId}"`);
      const section = html.slice(from, html.indexOf("</section>", from));
      const text = textOf(section).replace(/\s+/g, " ");
      const names = parameters(document, operation).map(({ name }) => name);
      for (const part of [name, summary, ...names, ...Object.keys(responses)])
        if (from === -1 || !text.includes(part)) missing.push(`${operationId}: ${part}`);
      for (const language of ["curl", "JavaScript", "Python"])
        if (!section.includes(`<summary>${language}</summary>`)) missing.push(`${operationId}: ${language}`);
    }
    for (const name of Object.keys(document.webhooks))
      if (!html.includes(`<section class="operation" id="${name}"`)) missing.push(name);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const { properties = {} } = schema as { readonly properties?: object };
      const from = html.indexOf(`<section class="operation" id="object-${name}"`);
      const section = html.slice(from, html.indexOf("</section>", from));
      for (const field of Object.keys(properties))
        if (from === -1 || !section.includes(`<code class="field-key">${field}</code>`))
          missing.push(`${name}.${field}`);
    }
    expect(missing).toEqual([]);
  });

  test("has samples that work where they are pasted", async () => {
    const text = textOf(await page());
    expect(text).toContain(`-H "${authorization}"`);
    expect(text).toContain(url);
    expect(text).not.toContain("--data-binary '{}'");
    // Values of examples stand in the place of parameters.
    expect([...text.matchAll(/curl[^\n]*\{\w+\}/g)].map(([line]) => line)).toEqual([]);
  });

  test("lets no script run but its own, and is a page of some hundred kilobytes", async () => {
    const answer = await fetch(`${url}/docs/api`, {
      headers: { "accept-encoding": "gzip" },
      decompress: false,
    });
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain(`connect-src 'self' ${url};`);
    expect(policy).not.toContain("unsafe");
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect((await answer.bytes()).length).toBeLessThan(100_000);
    const etag = answer.headers.get("etag") ?? "";
    const headers = { "accept-encoding": "gzip", "if-none-match": etag };
    expect((await fetch(`${url}/docs/api`, { headers })).status).toBe(304);
    expect((await fetch(`${url}/docs/api/`)).status).toBe(404);
  });
});

test("HEAD and GET of the reference answer in any order, again and again, on both listeners", async () => {
  for (const first of ["HEAD", "GET"]) {
    const fresh = await ownServer();
    for (const method of [first, "GET", "HEAD", "GET"]) {
      for (const url of [`${fresh.publicUrl}/docs/api`, `${fresh.adminUrl}/docs/api`]) {
        const answer = await fetch(url, { method });
        expect(answer.status).toBe(200);
        expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
        expect((await answer.text()).includes("<html")).toBe(method === "GET");
      }
    }
  }
});
