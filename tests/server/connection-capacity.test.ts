import { expect, test } from "bun:test";
import { connectionCapacity } from "../../src/server/engine-settings.ts";

const gib = 2 ** 30;

test.each([
  [{ descriptors: 10_000, memory: 16 * gib }, 4_936],
  [{ descriptors: 10_000, memory: gib }, 2_048],
  [{ descriptors: 341, memory: 16 * gib }, 106],
  [{ descriptors: 1_000_000, memory: 256 * gib }, 16_384],
  [{ descriptors: null, memory: 2 * gib }, 4_096],
  [{ descriptors: 100, memory: 16 * gib }, 16],
])("with %j there may be %p connections", (limits, connections) => {
  expect(connectionCapacity(limits)).toBe(connections);
});
