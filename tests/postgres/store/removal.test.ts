import { describe, expect, test } from "bun:test";
import type { Store } from "../../../src/domain/store.ts";
import { codeChallenge } from "../../../src/domain/tokens.ts";
import { consents } from "../../../src/postgres/schema.ts";
import { hasPostgres, ownPostgres, waitingForLocks } from "../../support/postgres.ts";
import { storedApplication } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/*
 * Rows of an application or a user are inserted while it is removed. Both transactions lock applications, then users,
 * then their rows, so that they cannot deadlock: PostgreSQL would notice that after a second, at every attempt.
 */

const now = Date.parse("2026-01-14T16:00:00.000Z");
const redirectUri = "https://client.test/";
const verifier = "v".repeat(43);
const user = {
  id: 1,
  username: "user",
  display_name: "User",
  bio: "",
  profile_picture: null,
  followers_count: 0,
  following_count: 0,
  is_verified: false,
  created_at: null,
};
const hash = (name: string) => new Bun.CryptoHasher("sha256").update(name).digest();
const made = { accessHash: hash("access"), refreshHash: hash("refresh") };

const times = { createdAt: now, expiresAt: now + 1e6 };
const grant = (applicationId: string) => ({ applicationId, userId: 1, scopes: [], ...times });

function logsIn({ loginRequests }: Store, applicationId: string): Promise<void> {
  const request = {
    ...{ applicationId, redirectUri, scopes: [], state: null, expiresAt: now + 1e6 },
    ...{ codeChallenge: codeChallenge(verifier), browserHash: hash("browser") },
  };
  const answer = { userId: 1, scopes: [], remember: true };
  const hashes = { challenge: hash("challenge"), verifier: hash("verifier") };
  return loginRequests.answer(request, answer, hashes);
}

const comesBack = ({ loginRequests }: Store) =>
  loginRequests.redeem(hash("verifier"), [hash("browser")], hash("code"), now);

const redeems = ({ tokens }: Store, applicationId: string) =>
  tokens.redeemCode(hash("code"), { applicationId, redirectUri, codeVerifier: verifier }, made, now);

interface Use {
  readonly name: string;
  prepare?(store: Store, application: string): Promise<unknown>;
  use(store: Store, application: string): Promise<unknown>;
}

const uses: readonly Use[] = [
  {
    name: "a subscription, by a token",
    prepare: ({ tokens }, application) => tokens.create(hash("token"), grant(application)),
    use({ subscriptions }, applicationId) {
      const wanted = [{ broadcaster_user_id: 1, event: "channel.followed", version: 1 }];
      return subscriptions.subscribe({ applicationId, wanted, limit: 10, token: hash("token") }, now);
    },
  },
  { name: "a token", use: ({ tokens }, application) => tokens.create(hash("token"), grant(application)) },
  { name: "the answer to a login", use: logsIn },
  { name: "a code, as a browser comes back", prepare: logsIn, use: comesBack },
  {
    name: "tokens for a code",
    async prepare(store, application) {
      await logsIn(store, application);
      await comesBack(store);
    },
    use: redeems,
  },
  {
    name: "tokens for a refresh token",
    async prepare(store, application) {
      await logsIn(store, application);
      await comesBack(store);
      await redeems(store, application);
    },
    use: ({ tokens }, applicationId) =>
      tokens.refresh(
        made.refreshHash,
        { applicationId, scopes: null },
        { accessHash: hash("next access"), refreshHash: hash("next refresh") },
        now,
      ),
  },
];

describe.skipIf(!hasPostgres)("while it is removed", () => {
  for (const owner of ["applications", "users"] as const) {
    test.each(uses)(`one of ${owner}: $name`, async ({ prepare, use }) => {
      const { store, pool: remover } = await ownPostgres();
      await store.users.upsert([user], "");
      const application = await storedApplication(store);
      await prepare?.(store, application);

      let isUsed: Promise<unknown> | undefined;
      await remover.transact(async ({ run }) => {
        await run(`SELECT FROM ${owner} FOR UPDATE`);
        isUsed = use(store, application).catch((error: unknown) => error);
        await until(async () => (await waitingForLocks(remover)) > 0);
        // It holds no lock on rows that are removed with the owner.
        await run("SET LOCAL lock_timeout = '1ms'");
        await run(`DELETE FROM ${owner}`);
      });
      await isUsed;
      expect(await remover.run("SELECT FROM tokens")).toEqual([]);
      expect(await remover.run("SELECT FROM subscriptions")).toEqual([]);
      expect(await remover.run("SELECT FROM login_requests")).toEqual([]);
    });
  }
});

test.skipIf(!hasPostgres)(
  "a consent that is given while the one before is revoked is there, as its code is",
  async () => {
    const { store, pool: revoker } = await ownPostgres();
    await store.users.upsert([user], "");
    const application_id = await storedApplication(store);
    await logsIn(store, application_id);
    const before = { user_id: 1, application_id, scopes: [], created_at: "", updated_at: "" };
    await revoker.orm.insert(consents).values(before);

    let given: Promise<unknown> | undefined;
    await revoker.transact(async ({ run }) => {
      await run("SELECT FROM consents FOR UPDATE");
      given = comesBack(store);
      await until(async () => (await waitingForLocks(revoker)) > 0);
      await run("DELETE FROM consents");
    });
    await given;
    const rows = async (table: string) => (await revoker.run(`SELECT FROM ${table}`)).length;
    expect([await rows("authorization_codes"), await rows("consents")]).toEqual([1, 1]);
  },
);

interface Revocation {
  readonly name: string;
  revoke(store: Store, application: string): Promise<unknown>;
}

const revocations: readonly Revocation[] = [
  { name: "the consent", revoke: ({ consents }, application) => consents.revoke(1, application, now) },
  {
    name: "all tokens of the application",
    revoke: ({ tokens }, application) => tokens.removeOfApplication(application),
  },
];
const exchanges: readonly { name: string; prepare(store: Store, application: string): Promise<unknown> }[] = [
  { name: "a code", prepare: async () => {} },
  { name: "a refresh token", prepare: redeems },
];

describe.skipIf(!hasPostgres)("tokens that are being given when what they rest on is revoked", () => {
  const next = { accessHash: hash("next access"), refreshHash: hash("next refresh") };
  const refreshes = ({ tokens }: Store, applicationId: string) =>
    tokens.refresh(made.refreshHash, { applicationId, scopes: null }, next, now);

  /** Revokes while tokens are given: neither has ended when the other begins. Gives how many rows are left. */
  async function left(
    prepare: (store: Store, application: string) => Promise<unknown>,
    given: { readonly accessHash: Uint8Array; give(store: Store, application: string): Promise<unknown> },
    revoke: Revocation["revoke"],
  ): Promise<number[]> {
    const { store, other: revoking, pool: other } = await ownPostgres();
    await store.users.upsert([user], "");
    const application = await storedApplication(store);
    await logsIn(store, application);
    await comesBack(store);
    await prepare(store, application);
    let both: Promise<unknown> | undefined;
    const undone = new Error("undone");
    // A token with the same hash, which does not come to be: the new one waits for that.
    const holding = other.transact(async ({ run }) => {
      const row = [given.accessHash, application];
      await run(
        "INSERT INTO tokens (hash, application_id, scopes, expires_at, created_at) VALUES ($1, $2, '{}', 0, 0)",
        row,
      );
      const giving = given.give(store, application);
      await until(async () => (await waitingForLocks(other)) === 1);
      both = Promise.all([giving, revoke(revoking, application)]);
      await until(async () => (await waitingForLocks(other)) === 2);
      throw undone;
    });
    await expect(holding).rejects.toBe(undone);
    await both;
    const tables = ["authorization_codes", "refresh_tokens", "tokens"];
    return Promise.all(tables.map(async (table) => (await other.run(`SELECT FROM ${table}`)).length));
  }

  for (const { name, revoke } of revocations) {
    test.each(exchanges)(`${name}: of those for $name none is left`, async ({ name, prepare }) => {
      const isCode = name === "a code";
      const given = isCode ? { ...made, give: redeems } : { ...next, give: refreshes };
      expect(await left(prepare, given, revoke)).toEqual([0, 0, 0]);
    });
  }

  test("a refresh token that was used before: of those for the one in its place none is left", async () => {
    const later = { accessHash: hash("later access"), refreshHash: hash("later refresh") };
    const prepare = async (store: Store, application: string) => {
      await redeems(store, application);
      await refreshes(store, application);
    };
    const give = ({ tokens }: Store, applicationId: string) =>
      tokens.refresh(next.refreshHash, { applicationId, scopes: null }, later, now);
    const revoke = ({ tokens }: Store, application: string) => tokens.revoke(made.refreshHash, application);
    const [, ...tokens] = await left(prepare, { ...later, give }, revoke);
    expect(tokens).toEqual([0, 0]);
  });
});
