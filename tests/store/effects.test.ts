import { expect, test } from "bun:test";
import type { Application } from "../../src/domain/applications.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { Store } from "../../src/domain/store.ts";
import { type Makers, nounsOf, withEffects } from "../../src/store/effects.ts";
import { ownStore, storedApplication, storedAt } from "../support/store.ts";

const silent = { applicationChanged() {}, subscriptionsRemoved() {}, sendNow() {} };

test("when the removal of an application is interrupted, the engine is told that it is disabled", async () => {
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
  expect(changes).toMatchObject([{ id, disabled: true }]);
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

test("what tells nobody is passed on as it is, so that a read passes no further function", async () => {
  const { store } = await ownStore();
  const told = withEffects({ reads: store, writes: store, callersChanged() {} });
  expect(told.users.find).toBe(store.users.find);
  expect(told.replays.create).toBe(store.replays.create);
  expect(told.users.remove).not.toBe(store.users.remove);
});

test("every call passes one function of the table, which explains errors and tells", async () => {
  const stacks: string[] = [];
  const statement = async () => {
    stacks.push(new Error("passed").stack ?? "");
    throw new Error("locked");
  };
  // A boundary: the two nouns that are called.
  const makers = {
    applications: () => ({ find: statement, update: statement }),
    users: () => ({ remove: statement }),
  } as unknown as Makers;
  const close = async () => {};
  const store: Store = Object.assign(
    nounsOf(makers, () => new DomainError("unavailable", "Try again")),
    { close },
  );
  const told = withEffects({ reads: store, writes: store, callersChanged() {}, deliveries: silent });
  const results = await Promise.allSettled([
    told.applications.find("a"),
    told.applications.update("a", {}, storedAt),
    told.users.remove(1, storedAt),
  ]);
  expect(results).toMatchObject(Array(3).fill({ reason: { code: "unavailable" } }));
  const passed = (stack: string) => stack.split("\n").filter((line) => line.includes("store/effects.ts"));
  expect(stacks.map((stack) => passed(stack).length)).toEqual([1, 1, 1]);
});
