import { afterAll, beforeAll, expect, test } from "bun:test";
import { documentOf, operations, parameters } from "../../support/openapi.ts";
import { adminKey, startServer, type TestServer } from "../../support/server.ts";

/*
 * Every parameter of every operation, and every header that is read before a route is known, as long as a request head
 * may be: its work grows with its length, and no further. One thread answers all requests, so that a request of 16 KiB
 * that takes 50 ms would delay everybody.
 */

/** The sizes of a parameter. The rest of the longest head, 16 KiB, is for the other lines. */
const [half, whole] = [7_900, 15_800] as const;
const mostMs = 5;

/** Values of a size: one long item, a list, and empty items; then the parameter repeated, with and without a value. */
const forms: [form: string, make: (name: string, size: number) => string][] = [
  ["one value", (name, size) => `${name}=${"a".repeat(size - name.length - 1)}`],
  ["items", (name, size) => `${name}=${"a,".repeat((size - name.length - 1) / 2)}`],
  ["empty items", (name, size) => `${name}=${",".repeat(size - name.length - 1)}`],
  ["escapes", (name, size) => `${name}=${"%C3%A4".repeat((size - name.length - 1) / 6)}`],
  ["broken escapes", (name, size) => `${name}=${"%".repeat(size - name.length - 1)}`],
  ["repetitions", (name, size) => `${name}=1&`.repeat(size / (name.length + 3))],
  ["empty repetitions", (name, size) => `${name}=&`.repeat(size / (name.length + 2))],
  ["bare names", (name, size) => `${name}&`.repeat(size / (name.length + 1))],
  ["separators", (_, size) => "&".repeat(size)],
];

/** For a parameter that another operation has, too, which reads it by the same rules. */
const formsOfKnown = forms.filter(([form]) => ["one value", "items", "repetitions"].includes(form));

/** Texts of a size for a header. */
const texts: [form: string, make: (size: number) => string][] = [
  ["one word", (size) => "a".repeat(size)],
  ["items", (size) => "a,".repeat(size / 2)],
  ["spaces", (size) => `a${" ".repeat(size - 2)}a`],
  ["parameters", (size) => "a;q=0".repeat(size / 5)],
  ["colons", (size) => ":".repeat(size)],
  ["digits", (size) => "0".repeat(size)],
];

/** Headers that are read on every path, or by the handler. */
const headers = [
  "Accept",
  "Accept-Encoding",
  "Authorization",
  "Cookie",
  "Host",
  "If-None-Match",
  "Last-Event-ID",
  "Range",
  "X-Forwarded-For",
  "X-Request-Id",
  "Traceparent",
  "Access-Control-Request-Headers",
];

let server: TestServer;
let token = "";
beforeAll(async () => {
  server = await startServer({ args: ["--portal", "--trusted-proxies", "127.0.0.1"] });
  ({ token } = await server.application({ delivery: "both" }));
});
afterAll(() => server.stop());

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
}

/** How long one answer takes to come, in milliseconds. Its body is not read. */
async function answerMs({ url, ...init }: Asked): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(url, { ...init, redirect: "manual" });
  const ms = performance.now() - startedAt;
  await answer.body?.cancel();
  return ms;
}

/**
 * Why the work is not linear, or too much; null if it is fine. The least times of several are compared, because other
 * processes only add to a time. More are taken only while they do not suffice.
 */
async function complaint(asked: (size: number) => Asked): Promise<string | null> {
  const least = { half: Number.POSITIVE_INFINITY, whole: Number.POSITIVE_INFINITY };
  for (let i = 0; i < 60; i++) {
    least.half = Math.min(least.half, await answerMs(asked(half)));
    least.whole = Math.min(least.whole, await answerMs(asked(whole)));
    // Twice as much for twice as long, and some more for what does not depend on it.
    if (least.whole < mostMs && least.whole < 3 * least.half + 0.5) return null;
  }
  return `${least.half.toFixed(1)} ms for half of it, ${least.whole.toFixed(1)} ms for the whole`;
}

const authorization = (listener: string) => ({
  authorization: `Bearer ${listener === "admin" ? adminKey : token}`,
});

test.each(["public", "admin"])(
  "parameters of the %s listener",
  async (listener) => {
    const url = listener === "admin" ? server.adminUrl : server.publicUrl;
    const document = await documentOf(url);
    const slow: string[] = [];
    let tried = 0;
    const known = new Set<string>();
    for (const { name, operation } of operations(document)) {
      const [method = "", template = ""] = name.split(" ");
      const path = template.replace(/\{[^}]+\}/g, "1");
      const one = async (what: string, asked: (size: number) => Asked) => {
        tried++;
        const found = await complaint(asked);
        if (found) slow.push(`${name}, ${what}: ${found}`);
      };
      for (const parameter of parameters(document, operation)) {
        const about = (form: string) => `${parameter.in} ${parameter.name}, ${form}`;
        if (parameter.in === "query")
          for (const [form, make] of known.has(parameter.name) ? formsOfKnown : forms)
            await one(about(form), (size) => ({
              url: `${url}${path}?${make(parameter.name, size)}`,
              method,
              headers: authorization(listener),
            }));
        if (parameter.in === "path")
          await one(about("one value"), (size) => ({
            url: url + template.replace(`{${parameter.name}}`, "1".repeat(size)).replace(/\{[^}]+\}/g, "1"),
            method,
            headers: authorization(listener),
          }));
        if (parameter.in === "header")
          for (const [form, make] of texts)
            await one(about(form), (size) => ({
              url: url + path,
              method,
              headers: { ...authorization(listener), [parameter.name]: make(size) },
            }));
        known.add(parameter.name);
      }
    }
    expect(slow).toEqual([]);
    expect(tried).toBeGreaterThan(100);
  },
  300_000,
);

test.each(headers)("the header %s", async (header) => {
  const slow: string[] = [];
  for (const path of ["/public/v1/categories", "/docs/api", "/portal/session", "/unknown"])
    for (const [form, make] of texts)
      for (const prefix of header === "Authorization" ? ["", "Bearer ", "Basic "] : [""]) {
        const method = header.startsWith("Access-Control") ? "OPTIONS" : "GET";
        const found = await complaint((size) => ({
          url: server.publicUrl + path,
          method,
          headers: { "onair-page": "http", [header]: prefix + make(size - prefix.length) },
        }));
        if (found) slow.push(`${path}, ${prefix}${form}: ${found}`);
      }
  expect(slow).toEqual([]);
});

test("a parameter that is wrong many times is one problem", async () => {
  const asked = await server.get(`/public/v1/categories?${"limit=1&".repeat(800)}${"cursor=%&".repeat(800)}`);
  const { errors } = (await asked.json()) as { errors: { field: string }[] };
  expect([asked.status, errors.map(({ field }) => field)]).toEqual([400, ["limit", "cursor"]]);
});

test("only so many items of a list are read that it can be refused", async () => {
  const asked = (query: string) =>
    server.get(`/public/v1/events/subscriptions?${query}`, token, { method: "DELETE" });
  for (const query of [`id=${"a,".repeat(51)}`, "id=a&".repeat(51), `id=${"a,".repeat(7_000)}%`])
    expect((await asked(query)).status).toBe(400);
  // Empty items do not count.
  for (const query of [`id=${",".repeat(200)}a`, `${"id=&".repeat(200)}id=a`, `id=${"a,".repeat(50)}`])
    expect((await asked(query)).status).toBe(204);
});
