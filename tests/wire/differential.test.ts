import { expect, test } from "bun:test";
import { WireFault } from "../../src/wire/fault.ts";
import { Requests } from "../../src/wire/requests.ts";
import { RequestFuzz } from "../support/http-fuzz.ts";
import { llhttpRequests } from "../support/llhttp.ts";

/**
 * What we take for a request, another reader takes for the same one: llhttp, the parser of `node:http`. With it as a
 * proxy in front, no bytes would be two requests to one and one to the other. We may well refuse what it takes.
 */

interface Seen {
  readonly method: string;
  readonly target: string;
  /** Names in lower case, each followed by its value. */
  readonly fields: readonly string[];
  readonly body: string;
}

/** The requests that we find in these bytes. */
function ours(input: string): Seen[] {
  const seen: Seen[] = [];
  const requests = new Requests();
  requests.add(Buffer.from(input, "latin1"));
  try {
    for (let arrived = requests.next(); arrived && !arrived.isTooLarge; arrived = requests.next()) {
      const { method, target, fields, isHttp11 } = arrived.head;
      const body = Buffer.from(arrived.body ?? "").toString("latin1");
      seen.push({ method, target, fields: fields.entries, body });
      // Behind this one a connection does not read on.
      if (fields.connection === "close" || (!isHttp11 && fields.connection === null)) break;
    }
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
  }
  return seen;
}

/** Those that llhttp finds. */
function theirs(input: string): Seen[] {
  return llhttpRequests(input).map(({ method, url, fields, body }) => ({
    method,
    target: url === "*" ? "/*" : url.replace(/^https?:\/\/[^/?]*/i, "").replace(/^(?!\/)/, "/"),
    fields: fields.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text)),
    body,
  }));
}

test("llhttp finds the same requests in the same bytes", () => {
  const fuzz = new RequestFuzz(20_260_115);
  let count = 0;
  for (let i = 0; i < 20_000; i++) {
    // llhttp takes a tab around a coding for a part of it, against RFC 9110, section 5.6.3, and refuses it.
    const input = fuzz.input().replace(/^transfer-encoding:.*/gim, (line) => line.replaceAll("\t", " "));
    const mine = ours(input);
    // UTF-8 in a target is ours alone: node refuses it, and Bun takes it as well.
    const beyond = mine.findIndex(({ target }) => /[^\x21-\x7e]/.test(target));
    const compared = beyond === -1 ? mine : mine.slice(0, beyond);
    expect([input, theirs(input).slice(0, compared.length)]).toEqual([input, compared]);
    count += compared.length;
  }
  // It is of use only where there is something to compare.
  expect(count).toBeGreaterThan(10_000);
});
