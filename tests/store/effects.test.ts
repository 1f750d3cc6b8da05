import { expect, test } from "bun:test";
import type { Application } from "../../src/domain/applications.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { Store } from "../../src/domain/store.ts";
import { withEffects } from "../../src/store/effects.ts";
import { ownStore, storedApplication, storedAt } from "../support/store.ts";

const silent = { applicationChanged() {}, subscriptionsRemoved() {}, sendNow() {} };

test("when the removal of an application is interrupted, the engine is told that it may have changed", async () => {
  const { store } = await ownStore();
  const id = await storedApplication(store);
  const changes: (Application | null)[] = [];
  const deliveries = {
    ...silent,
    applicationChanged: (_: string, changed: Application | null) => void changes.push(changed),
  };
  const applications = {
    ...store.applications,
    async remove(_: string, now: number): Promise<never> {
      await store.applications.update(id, { disabled: true }, now);
      throw new DomainError("unavailable", "The disk is full");
    },
  };
  const interrupted: Store = { ...store, applications };
  const told = withEffects({ reads: interrupted, writes: interrupted, deliveries });
  await expect(told.applications.remove(id, storedAt)).rejects.toMatchObject({ code: "unavailable" });
  expect(changes).toEqual([null]);
});

test("when a change of an application gets no answer, the engine is told that it may have changed", async () => {
  const { store } = await ownStore();
  const id = await storedApplication(store);
  const told: unknown[][] = [];
  const deliveries = { ...silent, applicationChanged: (...given: unknown[]) => void told.push(given) };
  const lost = () => Promise.reject(new DomainError("unavailable", "The connection was lost"));
  const applications = { ...store.applications, update: lost, rotateWebhookSecret: lost };
  const unanswered: Store = { ...store, applications };
  const { applications: changed } = withEffects({ reads: unanswered, writes: unanswered, deliveries });
  const rotation = { now: storedAt, overlapMs: 0 };
  for (const change of [
    () => changed.update(id, { disabled: true }, storedAt),
    () => changed.rotateWebhookSecret(id, "whsec_", rotation),
  ])
    await expect(change()).rejects.toMatchObject({ code: "unavailable" });
  expect(told).toEqual([
    [id, null],
    [id, null],
  ]);
});

test("callers are told of a change, and of a failed one that may be stored, before the answer; not of others", async () => {
  const { store } = await ownStore();
  const id = await storedApplication(store);
  const order: string[] = [];
  const failing = { ...store.tokens, removeOfApplication: () => Promise.reject(new Error("lost")) };
  const writes: Store = { ...store, tokens: failing };
  const callersChanged = () => void order.push("callers");
  const told = withEffects({ reads: store, writes, callersChanged });
  const answered = (call: Promise<unknown>) =>
    call.then(
      () => order.push("answer"),
      () => order.push("error"),
    );
  await answered(told.applications.update(id, { disabled: false }, storedAt));
  await answered(told.tokens.removeOfApplication(id));
  expect(order.splice(0)).toEqual(["callers", "answer", "callers", "error"]);
  await answered(told.tokens.revoke(new Uint8Array(32), id));
  await answered(told.applications.find(id));
  await answered(told.settings.put("a", "b"));
  expect(order).toEqual(["answer", "answer", "answer"]);
});

test("the rest of a long backlog ends once all are told, in the engine's thread alone, and may fail", async () => {
  const { store } = await ownStore();
  const id = await storedApplication(store);
  const order: string[] = [];
  const applications = {
    ...store.applications,
    async endRest(of: string): Promise<void> {
      order.push(`rest of ${of === id}`);
      throw new DomainError("unavailable", "The disk is full");
    },
  };
  const own: Store = { ...store, applications };
  const deliveries = { ...silent, applicationChanged: () => void order.push("engine") };
  const callersChanged = () => void order.push("callers");
  const told = withEffects({ reads: own, writes: own, deliveries, callersChanged });
  const changed = (by: Store, disabled: boolean) => by.applications.update(id, { disabled }, storedAt);
  expect(await changed(told, true)).toMatchObject({ disabled: true });
  expect(order.splice(0)).toEqual(["engine", "callers", "rest of true"]);
  await changed(told, false);
  expect(order.splice(0)).toEqual(["engine", "callers"]);
  // Without a server, nothing is told.
  await changed(withEffects({ reads: own, writes: own }), true);
  expect(order.splice(0)).toEqual(["rest of true"]);
  await changed(withEffects({ reads: { ...own }, writes: own, callersChanged }), true);
  expect(order).toEqual(["callers"]);
});

test("a linked store reads here, writes there, and leaves publishing and closing to the engine", async () => {
  const { store } = await ownStore();
  const calls: string[] = [];
  const recording = (side: string) => {
    const noun = (name: string) =>
      new Proxy({}, { get: (_, verb) => async () => void calls.push(`${side}: ${name}.${String(verb)}`) });
    // A boundary: a store that has every noun and method.
    return new Proxy({}, { get: (_, name) => noun(String(name)) }) as Store;
  };
  const linked = withEffects({ reads: recording("here"), writes: recording("there") });
  await linked.users.find("a");
  await linked.users.remove(1, storedAt);
  await linked.deliveries.pending();
  await linked.close();
  expect(calls).toEqual(["here: users.find", "there: users.remove", "there: deliveries.pending"]);
  await expect(linked.events.publishAll([], () => false)).rejects.toThrow("published by the engine");
  // The table has what the store has, noun by noun.
  const methodsOf = (of: Store) =>
    Object.fromEntries(
      Object.entries(of).flatMap(([noun, methods]) =>
        noun === "close" ? [] : [[noun, Object.keys(methods).sort()]],
      ),
    );
  expect(methodsOf(linked)).toEqual(methodsOf(store));
});
