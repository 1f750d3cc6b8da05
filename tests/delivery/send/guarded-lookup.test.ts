import { describe, expect, test } from "bun:test";
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import {
  BlockedAddressError,
  blockedAddressCode,
  guardedLookup,
  type Resolve,
} from "../../../src/delivery/send/address.ts";

type Answer = {
  error: NodeJS.ErrnoException | null;
  address: string | LookupAddress[];
  family: number | undefined;
};

function lookup(
  addresses: string[] | Error,
  options: { all?: boolean; allowPrivate?: boolean } = {},
): Answer {
  const { all = true, allowPrivate = false } = options;
  const resolve: Resolve = (hostname, asked, callback) => {
    expect(hostname).toBe("hook.test");
    expect(asked).toEqual({ hints: 32, all: true });
    if (addresses instanceof Error) return callback(addresses, []);
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  };
  const answers: Answer[] = [];
  guardedLookup({ allowPrivate }, resolve)("hook.test", { hints: 32, all }, (error, address, family) => {
    answers.push({ error, address, family });
  });
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) throw new Error(`answered ${answers.length} times`);
  return answer;
}

describe("guardedLookup", () => {
  test("returns all public addresses in their order", () => {
    expect(lookup(["8.8.8.8", "2606:4700:4700::1111"]).address).toEqual([
      { address: "8.8.8.8", family: 4 },
      { address: "2606:4700:4700::1111", family: 6 },
    ]);
  });

  test("returns the first when one is asked for", () => {
    const { error, address, family } = lookup(["2606:4700:4700::1111", "8.8.8.8"], { all: false });
    expect({ error, address, family }).toEqual({ error: null, address: "2606:4700:4700::1111", family: 6 });
  });

  test("fails when one of the addresses is not public", () => {
    for (const addresses of [
      ["127.0.0.1"],
      ["8.8.8.8", "10.0.0.1"],
      ["8.8.8.8", "::ffff:127.0.0.1"],
      ["0x7f.1"],
    ]) {
      for (const all of [true, false]) {
        const { error, address } = lookup(addresses, { all });
        expect(error).toBeInstanceOf(BlockedAddressError);
        expect(error?.code).toBe(blockedAddressCode);
        for (const ip of addresses) expect(error?.message).not.toContain(ip);
        expect(address).toEqual([]);
      }
    }
  });

  test("returns all addresses when private ones are allowed", () => {
    expect(lookup(["127.0.0.1"], { allowPrivate: true })).toMatchObject({
      error: null,
      address: [{ address: "127.0.0.1", family: 4 }],
    });
  });

  test("fails with ENOTFOUND for an empty answer, and with the error of the lookup", () => {
    expect(lookup([]).error?.code).toBe("ENOTFOUND");
    const failed = Object.assign(new Error("server failed"), { code: "ESERVFAIL" });
    expect(lookup(failed).error).toBe(failed);
  });
});
