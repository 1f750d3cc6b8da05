import { expect } from "bun:test";
import type { Documented } from "./requests/documented.ts";

/** A request like `GET /path?query`, the status of its answer, and what else is sent. */
export type Call = readonly [request: string, status: number, given?: Given];

interface Given {
  readonly token?: string;
  /** An object is sent as JSON. */
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends the requests one after the other, and expects that status, headers, media type and body of each answer are as
 * the document of its operation says. Returns the names of the operations.
 * @param secret what no answer may contain
 */
export async function expectAsDocumented(
  operations: readonly Documented[],
  calls: readonly Call[],
  ask: (method: string, path: string, given: Given) => Promise<Response>,
  secret?: string,
): Promise<Set<string>> {
  const asked = new Set<string>();
  for (const [request, status, given = {}] of calls) {
    const [method = "", path = ""] = request.split(" ");
    const { name, answers } = operationOf(operations, method, path);
    asked.add(name);
    const answer = await ask(method, path, given);
    const label = `${name} ${status}`;
    expect([label, path, answer.status]).toEqual([label, path, status]);
    const documented = answers.get(status);
    if (!documented) throw new Error(`${label} is not documented`);
    expect([label, missingHeaders(answer, label, documented.headers)]).toEqual([label, []]);
    expect([label, answer.headers.get("cache-control")]).toEqual([label, documented.caching]);
    const [[type = null, complaint] = []] = [...documented.bodies];
    expect([label, answer.headers.get("content-type")?.replace(/;.*/, "") ?? null]).toEqual([label, type]);
    // A stream has no end: of it the beginning.
    const text = type === "text/event-stream" ? await firstPart(answer) : await answer.text();
    if (secret !== undefined) expect(text).not.toContain(secret);
    if (type === null) expect(text).toBe("");
    else if (type === "text/event-stream") expect(text).toMatch(/^(retry|event): /);
    else if (type === "text/html") expect(text).toStartWith("<!doctype html>");
    else if (type === "application/json")
      expect([label, text, complaint?.(JSON.parse(text))]).toEqual([label, text, null]);
  }
  return asked;
}

/** That of a request; a path without parameters comes before one with them. */
function operationOf(operations: readonly Documented[], method: string, path: string): Documented {
  const [pathname = ""] = path.split("?");
  const matches = (one: Documented) =>
    one.method === method && new RegExp(`^${one.path.replace(/\{[a-z_]+\}/g, "[^/]+")}$`).test(pathname);
  const found = operations.find(({ name }) => name === `${method} ${pathname}`) ?? operations.find(matches);
  if (!found) throw new Error(`${method} ${path} is not documented`);
  return found;
}

/** What an answer lacks of the headers that all answers of its status have. */
function missingHeaders(answer: Response, label: string, documented: readonly string[]): string[] {
  // The budget comes only with some of the errors that share the status 400, so does the challenge with 403.
  const isRefusedItself = /^(GET .*\/events\/stream|PATCH \/public\/v1\/application) 403$/.test(label);
  const own = isRefusedItself ? /^WWW-Authenticate$/ : / 400$/.test(label) ? /^Onair-/ : /^$/;
  return documented.filter((name) => !own.test(name) && !answer.headers.has(name));
}

async function firstPart(answer: Response): Promise<string> {
  const reader = answer.body?.getReader();
  const part = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(part?.value);
}
