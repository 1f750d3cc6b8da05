import { expect, test } from "bun:test";
import { AuditTrail } from "../../../src/api/admin/audit-trail.ts";
import type { NewAuditEntry } from "../../../src/domain/audit.ts";
import type { OperatorKey } from "../../../src/domain/operator-keys.ts";
import type { Store } from "../../../src/domain/store.ts";
import { createLog } from "../../../src/runtime/log.ts";

const key = { id: "key", name: "by hand", role: "operator" } as OperatorKey;
const route = { operationId: "publishEvents", allowed: ["operator", "publisher"] } as const;

test("events of many channels are written seldom enough that ten entries a second are", async () => {
  const written: number[] = [];
  const waits: number[] = [];
  let write = (): void => {};
  const count = async (entries: readonly NewAuditEntry[]) => void written.push(entries.length);
  const trail = new AuditTrail({
    store: { audit: { count } } as unknown as Pick<Store, "audit">,
    log: createLog("off"),
    now: () => 0,
    after: (ms, work) => {
      waits.push(ms);
      write = work;
      return () => {};
    },
  });
  const publish = async (channels: number) => {
    for (let channel = 0; channel < channels; channel++) {
      const change = {
        object_name: `channel.followed@1`,
        changes: [{ field: "id", from: null, to: channel }],
      };
      const requestContext = {
        method: "POST",
        path: "/admin/v1/events",
        change,
        clientAddress: "",
        requestId: "",
      };
      const request = { requestContext, params: null, query: null, body: null, value: null };
      await trail.note(route, key, request as unknown as Parameters<AuditTrail["note"]>[2]);
    }
  };
  await publish(50); // The first event of each channel is written at once.
  expect(written).toEqual(Array(50).fill(1));
  for (let round = 0; round < 2; round++) {
    await publish(50);
    await publish(50);
    write();
  }
  expect(written.slice(50)).toEqual([50, 50]);
  expect(waits).toEqual([1_000, 5_000]);
});
