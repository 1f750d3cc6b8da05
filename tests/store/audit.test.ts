import { beforeEach, describe, expect, test } from "bun:test";
import { auditLimits, type NewAuditEntry } from "../../src/domain/audit.ts";
import type { Store } from "../../src/domain/store.ts";
import { hour } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { ownStore } from "../support/store.ts";

const all = {
  actor: null,
  action: null,
  object: null,
  object_id: null,
  of: [],
  after: null,
  before: null,
};
const entry = (at: number, more: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  at,
  last_at: at,
  count: 1,
  actor_kind: "operator_key",
  actor_id: "key",
  actor_name: "a key",
  action: "changeApplication",
  object: "applications",
  object_id: null,
  object_name: null,
  fields: ["name"],
  changes: [],
  address: "10.0.0.1",
  request_id: `r${at}`,
  accepted: null,
  ended: null,
  ...more,
});

describe("the audit trail", () => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await ownStore());
  });
  const kept = () => store.audit.page(all, null, 1_000);

  test("counts equal changes of an hour as one entry, and different ones apart", async () => {
    await store.audit.count([entry(1), entry(2)]);
    await store.audit.count([entry(5, { count: 3, last_at: 9 }), entry(6, { actor_id: "other" })]);
    await store.audit.count([entry(hour)]);
    const shown = (await kept()).map(({ count, at, last_at, actor_id }) => [actor_id, count, at, last_at]);
    expect(shown).toEqual([
      ["key", 1, hour, hour],
      ["other", 1, 6, 6],
      ["key", 5, 1, 9],
    ]);
  });

  test("a range includes entries that begin before its end and whose last change is not before its start", async () => {
    await store.audit.count([entry(5, { count: 3, last_at: 9 }), entry(2, { actor_id: "other" })]);
    const found = async (range: object) =>
      (await store.audit.page({ ...all, ...range }, null, 10)).map(({ actor_id, count }) => [
        actor_id,
        count,
      ]);
    expect(await found({ after: 9 })).toEqual([["key", 3]]);
    expect(await found({ after: 10 })).toEqual([]);
    expect(await found({ after: 2, before: 5 })).toEqual([["other", 1]]);
    expect(await found({ before: 6 })).toHaveLength(2);
  });

  test("keeps the newest entries of an application, without removing an operator's", async () => {
    await store.audit.add(entry(0));
    const own = { actor_kind: "application", actor_id: "app" } as const;
    for (let at = 1; at <= auditLimits.ofApplication + 3; at++) await store.audit.add(entry(at, own));
    const [newest, ...older] = await kept();
    expect(newest?.at).toBe(auditLimits.ofApplication + 3);
    expect(older.map(({ at }) => at).slice(-2)).toEqual([4, 0]);
  });

  test("finds changes by the id or the name of the author and of the object, at that time", async () => {
    await store.audit.add(
      entry(1, { object_id: "a1", object_name: "Bot", actor_id: "k1", actor_name: "maya" }),
    );
    await store.audit.add(
      entry(2, { object_id: "a1", object_name: "Robot", actor_id: "k2", actor_name: "ben" }),
    );
    await store.audit.add(entry(3, { object: "categories", object_id: "a1", object_name: "Bot" }));
    const found = async (filter: object) =>
      (await store.audit.page({ ...all, ...filter }, null, 10)).map(({ at }) => at);
    expect(await found({ actor: "k1" })).toEqual([1]);
    expect(await found({ actor: "ben" })).toEqual([2]);
    expect(await found({ of: [[{ kind: "applications", idOrName: "a1" }]] })).toEqual([2, 1]);
    expect(await found({ of: [[{ kind: "applications", idOrName: "Bot" }]] })).toEqual([1]);
    expect(await found({ of: [[{ kind: "categories", idOrName: "Bot" }]] })).toEqual([3]);
    const both = ["applications", "categories"].map((kind) => ({ kind, idOrName: "a1" }));
    expect(await found({ of: [both] })).toEqual([3, 2, 1]);
    expect(await found({ of: both.map((one) => [one]) })).toEqual([]);
  });

  const changes = [{ field: "bio", from: null, to: "secretly a cat" }];
  const ofUser = (at: number, id: number) =>
    entry(at, { object: "users", object_id: String(id), object_name: `cat${id}`, changes });
  const addUsers = (...ids: number[]) =>
    store.users.upsert(
      ids.map((id) => userFrom({ id, username: `cat${id}` })),
      "2026-01-14T16:00:00.000Z",
    );
  const named = async () =>
    (await kept()).map(({ at, object_name, changes }) => [at, object_name, changes.length]);

  test("forgets the names and values of a removed user, whatever the order in which removal and entry are stored", async () => {
    const ids = Array.from({ length: 30 }, (_, i) => i + 1);
    await addUsers(...ids);
    const both = (id: number) => [store.audit.add(ofUser(id, id)), store.users.remove(id, 0)];
    await Promise.all(ids.flatMap((id) => (id % 2 === 0 ? both(id) : both(id).reverse())));
    expect((await named()).filter(([, name, values]) => name !== null || values !== 0)).toEqual([]);
    expect(await kept()).toHaveLength(ids.length);
  });

  test("removes entries older than a time", async () => {
    for (const at of [1, 2, 3]) await store.audit.add(entry(at));
    expect(await store.audit.prune(3)).toBe(true);
    expect((await kept()).map(({ at, fields }) => [at, fields])).toEqual([[3, ["name"]]]);
  });
});
