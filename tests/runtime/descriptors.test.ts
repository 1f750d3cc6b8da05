import { expect, test } from "bun:test";
import { requireFreeDescriptors } from "../../src/runtime/descriptors.ts";

test.each([
  { limit: 256, fewestFree: 32 },
  { limit: 1_024, fewestFree: 128 },
  { limit: 4_096, fewestFree: 256 },
  { limit: 1_048_576, fewestFree: 256 },
])("of $limit descriptors, $fewestFree must be free for a thread", ({ limit, fewestFree }) => {
  requireFreeDescriptors(limit, limit - fewestFree);
  expect(() => requireFreeDescriptors(limit, limit - fewestFree + 1)).toThrow("too many open files");
  // Where counting them needs a descriptor, there is none.
  expect(() => requireFreeDescriptors(limit, null)).toThrow("too many open files");
});

test("without a known limit, a thread is started", () => {
  requireFreeDescriptors(null, 1_000_000);
});
