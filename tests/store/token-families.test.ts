import { beforeEach, describe, expect, test } from "bun:test";
import { maxOperatorSessions, newOperatorKey } from "../../src/domain/operator-keys.ts";
import type { Store } from "../../src/domain/store.ts";
import { hour, isoTime } from "../../src/domain/time.ts";
import { codeChallenge, refreshTokensAnHour } from "../../src/domain/tokens.ts";
import { userFrom } from "../../src/domain/users.ts";
import { isOnPostgres } from "../support/server.ts";
import { ownStore, storedApplication, storedAt } from "../support/store.ts";

/*
 * The tokens of one sign-in end together, however many there are.
 */

const redirectUri = "https://client.test/";
const codeVerifier = "v".repeat(43);
const hash = (name: string) => new Bun.CryptoHasher("sha256").update(name).digest();
const pair = (nth: number) => ({ accessHash: hash(`access ${nth}`), refreshHash: hash(`refresh ${nth}`) });
// Several steps of the removal. PostgreSQL runs other work beside them: more of them show nothing there.
const hours = isOnPostgres ? 9 : 20;
const many = hours * refreshTokensAnHour + 1;
const last = storedAt + hours * hour;
/** The access tokens that no refresh has ended: those of the last hour, and one of each before. */
const accessTokens = hours + refreshTokensAnHour;

describe("a family of many tokens", () => {
  let store: Store;
  let applicationId: string;
  beforeEach(async () => {
    ({ store } = await ownStore());
    applicationId = await storedApplication(store);
    await store.users.upsert([userFrom({ id: 1, username: "user" })], isoTime(storedAt));
    const { loginRequests, tokens } = store;
    const request = {
      ...{ applicationId, redirectUri, scopes: [], state: null, expiresAt: storedAt + hour },
      ...{ codeChallenge: codeChallenge(codeVerifier), browserHash: hash("browser") },
    };
    const answer = { userId: 1, scopes: [], remember: false };
    const hashes = { challenge: hash("challenge"), verifier: hash("verifier") };
    await loginRequests.answer(request, answer, hashes);
    await loginRequests.redeem(hash("verifier"), [hash("browser")], hash("code"), storedAt);
    await tokens.redeemCode(hash("code"), { applicationId, redirectUri, codeVerifier }, pair(0), storedAt);
    // Each hour a program refreshes in many places at once.
    for (let first = 1; first < many; first += refreshTokensAnHour) {
      const at = storedAt + Math.ceil(first / refreshTokensAnHour) * hour;
      const some = Array.from({ length: refreshTokensAnHour }, (_, i) => refresh(first - 1, first + i, at));
      for (const one of await Promise.all(some)) expect(one).toHaveProperty("grant");
    }
  });

  const refresh = (nth: number, next: number, at: number) =>
    store.tokens.refresh(pair(nth).refreshHash, { applicationId, scopes: null }, pair(next), at);

  /** How many of its tokens still mean anything. */
  const left = async () => {
    const all = Array.from({ length: many }, async (_, nth) => {
      const access = await store.tokens.find(pair(nth).accessHash);
      const used = await refresh(nth, many, last);
      return access === null && "refused" in used && used.refused === "invalid";
    });
    return (await Promise.all(all)).filter((isGone) => !isGone).length;
  };
  const ends: readonly (readonly [string, () => Promise<unknown>, unknown])[] = [
    ["that is revoked", () => store.tokens.revoke(pair(many - 1).refreshHash, applicationId), "revoked"],
    ["of which one is reused", () => refresh(0, many, last), { refused: "reused" }],
    ["whose consent is revoked", () => store.consents.revoke(1, applicationId, last), []],
    [
      "whose application loses all tokens",
      () => store.tokens.removeOfApplication(applicationId),
      accessTokens,
    ],
    ["whose application is removed", () => store.applications.remove(applicationId, last), true],
    ["whose user is removed", () => store.users.remove(1, last), { channelIds: [], subscriptions: [] }],
  ];

  test.each(ends)("%s ends as a whole, and holds up no other work", async (_, end, expected) => {
    const finished: string[] = [];
    const other = async () => {
      for (const name of ["one", "two", "three"]) await store.settings.put(name, "x");
      finished.push("others");
    };
    const ending = end().then((result: unknown) => {
      finished.push("family");
      return result;
    });
    await Promise.all([ending, other()]);
    expect(await ending).toEqual(expected);
    // PostgreSQL runs both at once.
    if (!isOnPostgres) expect(finished).toEqual(["others", "family"]);
    expect(await left()).toBe(0);
  });

  test.skipIf(isOnPostgres)("stops working as soon as the removal of its application begins", async () => {
    const removing = store.applications.remove(applicationId, last);
    await store.settings.put("one", "x");
    expect((await store.applications.find(applicationId))?.disabled).toBe(true);
    await removing;
    expect(await store.applications.find(applicationId)).toBeNull();
  });
});

const sessionHash = (n: number) =>
  new Uint8Array(32)
    .fill(7)
    .with(0, n % 256)
    .with(1, n >> 8);
const session = (n: number, expires_at: number, key_id = "a") => ({
  hash: sessionHash(n),
  key_id,
  expires_at,
});

describe("sessions of operators", () => {
  test("are there until they end or expire", async () => {
    const { store, reopen } = await ownStore();
    await store.operatorKeys.beginSession(session(1, 1_000), 0);
    await store.operatorKeys.beginSession(session(2, 1_000), 0);
    await store.operatorKeys.endSession(sessionHash(1));
    const { operatorKeys } = await reopen();
    expect(await operatorKeys.hasSession(sessionHash(1), 0)).toBe(false);
    expect(await operatorKeys.hasSession(sessionHash(2), 999)).toBe(true);
    expect(await operatorKeys.hasSession(sessionHash(2), 1_000)).toBe(false);
    expect(await operatorKeys.hasSession(sessionHash(3), 0)).toBe(false);
  });

  test("of one key are bounded: expired ones are removed first, then the next to expire; those of other keys stay", async () => {
    const { store } = await ownStore();
    const { operatorKeys } = store;
    await operatorKeys.beginSession(session(0, 5), 0);
    const other = maxOperatorSessions + 2;
    await operatorKeys.beginSession(session(other, 500, "b"), 0);
    const numbers = Array.from({ length: maxOperatorSessions }, (_, i) => i + 1);
    await Promise.all(numbers.map((n) => operatorKeys.beginSession(session(n, 1_000 + n), 10)));
    // The expired session was removed, also for a clock that is behind.
    expect(await operatorKeys.hasSession(sessionHash(0), 0)).toBe(false);
    expect(await operatorKeys.hasSession(sessionHash(1), 10)).toBe(true);
    await operatorKeys.beginSession(session(maxOperatorSessions + 1, 5_000), 10);
    const open = [1, 2, maxOperatorSessions + 1, other].map((n) =>
      operatorKeys.hasSession(sessionHash(n), 10),
    );
    expect(await Promise.all(open)).toEqual([false, true, true, true]);
  });

  test("are removed with their key", async () => {
    const { store } = await ownStore();
    const { operatorKeys } = store;
    const { key } = newOperatorKey({ name: "Ada", role: "reader", source: "created", now: 0 });
    await operatorKeys.create(key);
    await operatorKeys.beginSession(session(1, 1_000, key.id), 0);
    await operatorKeys.beginSession(session(2, 1_000), 0);
    await operatorKeys.revoke(key.id, 0, true);
    const open = [1, 2].map((n) => operatorKeys.hasSession(sessionHash(n), 0));
    expect(await Promise.all(open)).toEqual([false, true]);
  });
});
