import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import type { EndpointNotification } from "../../../src/domain/replicas.ts";
import { EndpointOutbox } from "../../../src/postgres/notifications.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Lets what is not waiting for time come to its end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

const requested: EndpointNotification = { kind: "requested", application: "a" };
const published: EndpointNotification = { kind: "published", applications: ["a"] };

/** An outbox to a database that is away until `isAway` is set to false; what was tried is in `tried`. */
function sending() {
  const state = { tried: [] as string[], isAway: true };
  const outbox = new EndpointOutbox(async ({ kind }) => {
    state.tried.push(kind);
    if (state.isAway) throw new Error("the database is away");
  });
  return { outbox, state };
}

test("manual retries are notified again until the database takes them, published events once", async () => {
  const { outbox, state } = sending();
  outbox.add(requested);
  outbox.add(published);
  await settle();
  expect(state.tried).toEqual(["requested"]);
  state.isAway = false;
  jest.advanceTimersByTime(500);
  await settle();
  expect(state.tried).toEqual(["requested", "requested", "published"]);
  expect(jest.getTimerCount()).toBe(0);
  outbox.add(published);
  await settle();
  expect(state.tried.slice(3)).toEqual(["published"]);
});

test.each(["waits to send again", "is sending"])(
  "nothing is sent behind close, which comes while it %s",
  async (when) => {
    const { outbox, state } = sending();
    outbox.add(requested);
    if (when === "waits to send again") await settle();
    outbox.close();
    await settle();
    expect(jest.getTimerCount()).toBe(0);
    outbox.add(requested);
    jest.advanceTimersByTime(10_000);
    await settle();
    expect(state.tried).toEqual(["requested"]);
  },
);

test("what waits for a batch in progress is sent at close", async () => {
  const { outbox, state } = sending();
  state.isAway = false;
  for (let n = 0; n < 3; n++) outbox.add(requested);
  expect(state.tried).toHaveLength(1);
  outbox.close();
  await settle();
  expect(state.tried).toHaveLength(3);
});
