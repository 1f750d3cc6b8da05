import { describe, expect, test } from "bun:test";
import { stuckWatch } from "../../../src/delivery/maintenance.ts";
import { createNotifier, noticesOf } from "../../../src/delivery/notices.ts";
import { DeliveryCounter } from "../../../src/delivery/record.ts";
import type { SendRequest, SendResult } from "../../../src/delivery/send/send.ts";
import {
  newSigningKey,
  publicKeyForms,
  readPublicKey,
  readSigningKey,
  verify,
} from "../../../src/delivery/signature.ts";
import type { ServerNoticeData } from "../../../src/domain/notices.ts";
import type { Store } from "../../../src/domain/store.ts";
import { hour, minute } from "../../../src/domain/time.ts";
import { StorageWatch } from "../../../src/operations/storage-health.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { emptyStore } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const now = () => 1_000_000;

/** A notifier on a store, whose URL takes everything. */
function notifierOn(store: Pick<Store, "notices">) {
  const sent: SendRequest[] = [];
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const ok: SendResult = {
    class: "ok",
    status: 204,
    retryAfterMs: null,
    durationMs: 1,
    responseBody: "",
    error: null,
    timings,
    repeated: false,
  };
  const key = newSigningKey();
  const notifier = createNotifier({
    store,
    ownership: { leads: () => true },
    sender: {
      async send(request) {
        sent.push(request);
        return ok;
      },
    },
    url: "https://operator.example/notices",
    secret: null,
    signingKey: readSigningKey(key),
    log: createLog("off"),
    now,
    random: () => 0.5,
    isHeld: () => false,
  });
  const run = async (work: () => Promise<unknown>) => {
    const stopping = new AbortController();
    const running = notifier.run(stopping.signal);
    await work();
    stopping.abort();
    await running;
  };
  return { sent, run, notifier, key };
}

describe("the notify URL", () => {
  test("gets a notice that was not sent before a restart", async () => {
    const { store } = emptyStore();
    const notice = noticesOf(true).ofServer("backup.failed", { summary: "It failed.", advice: null }, 1_000);
    await store.notices.put(notice);
    let looks = 0;
    const claim: Store["notices"]["claim"] = async (...given) => {
      const found = await store.notices.claim(...given);
      looks++;
      return found;
    };
    const { sent, run } = notifierOn({ ...store, notices: { ...store.notices, claim } });
    await run(async () => until(() => sent.length === 1));
    const before = looks;
    await run(async () => until(() => looks > before));
    expect(sent.map(({ headers }) => headers["webhook-id"])).toEqual([notice.id]);
  });

  test("is signed by the platform's key alone where no secret is set", async () => {
    const { store } = emptyStore();
    await store.notices.put(
      noticesOf(true).ofServer("backup.failed", { summary: "It failed.", advice: null }, now()),
    );
    const { sent, run, key } = notifierOn(store);
    await run(async () => until(() => sent.length === 1));
    const { headers = {}, body = new Uint8Array() } = sent[0] ?? {};
    expect(headers["webhook-signature"]).toStartWith("v1a,");
    const publicKey = publicKeyForms(key).pem;
    expect(
      verify({
        id: headers["webhook-id"] ?? "",
        timestamp: headers["webhook-timestamp"] ?? "",
        signature: headers["webhook-signature"] ?? "",
        body,
        publicKey: readPublicKey(publicKey),
        now: now(),
      }),
    ).toBe("ok");
  });

  test("gets a notice that the storage refuses once; the notice is stored as soon as that is possible", async () => {
    const { store } = emptyStore();
    let isFull = true;
    let refused = 0;
    const put: Store["notices"]["put"] = (notice) => {
      if (!isFull) return store.notices.put(notice);
      refused++;
      return Promise.reject(new Error("full"));
    };
    const { sent, run, notifier } = notifierOn({ ...store, notices: { ...store.notices, put } });
    const data = { summary: "The disk is full.", advice: null };
    await notifier.announce(noticesOf(true).ofServer("storage.failing", data, now()));
    await run(async () => {
      // The notice, and the result of sending it.
      await until(() => refused === 2);
      isFull = false;
      await until(async () => (await store.notices.page(null, null, 10)).length === 1);
    });
    expect(sent).toHaveLength(1);
    expect((await store.notices.page(null, null, 10))[0]?.sending).toMatchObject({
      status: "delivered",
      attempts: 1,
    });
  });

  test("gets a notice once when it is stored while it is being sent from memory", async () => {
    const { store } = emptyStore();
    const storing = Promise.withResolvers<void>();
    const put: Store["notices"]["put"] = async (notice) => {
      await storing.promise;
      await store.notices.put(notice);
    };
    const claim: Store["notices"]["claim"] = async (...given) => {
      storing.resolve();
      await announced;
      return store.notices.claim(...given);
    };
    const { sent, run, notifier } = notifierOn({ ...store, notices: { ...store.notices, put, claim } });
    const data = { summary: "The disk is full.", advice: null };
    const announced = notifier.announce(noticesOf(true).ofServer("storage.failing", data, now()));
    await run(async () => until(() => sent.length > 0));
    expect(sent).toHaveLength(1);
  });
});

describe("the storage", () => {
  test("is announced once when it cannot be written, and once when it can again", async () => {
    const told: [string, ServerNoticeData][] = [];
    let found: "full" | null = null;
    let time = 0;
    const watch = new StorageWatch(createLog("off"), () => time);
    watch.start(
      async () => found,
      (type, data) => void told.push([type, data]),
    );
    found = "full";
    watch.note("full");
    watch.note("full");
    await watch.check();
    found = null;
    time += 1_000;
    await watch.check();
    watch.stop();
    expect(told.map(([type, { fault }]) => [type, fault])).toEqual([
      ["storage.failing", "full"],
      ["storage.recovered", undefined],
    ]);
  });
});

describe("stuck deliveries", () => {
  test("are announced once after ten minutes without an attempt, and once when attempts go on", async () => {
    let at = 0;
    const told: [string, ServerNoticeData][] = [];
    const counts = { ...new DeliveryCounter().counts, attempts: { ok: 1 } };
    let due = [{ application_id: "a", due_at: 0 }];
    const held = new Set<string>();
    const look = stuckWatch({
      ownership: { holds: () => true },
      store: { deliveries: { pending: async () => due } as never },
      dispatcher: {
        stats: { inFlight: 0, queued: 0, unrecorded: 0, suspended: 0, waiting: 0, counts },
        isSuspended: (id) => held.has(id),
      },
      now: () => at,
      isHeld: () => false,
      announce: (type, data) => void told.push([type, data]),
    });
    const pass = async (ms: number) => {
      at += ms;
      await look();
    };
    await look();
    await pass(9 * minute);
    expect(told).toEqual([]);
    // Nothing is due: it is not stuck.
    due = [];
    await pass(hour);
    // The due delivery belongs to a held-up endpoint: it is not stuck.
    due = [{ application_id: "a", due_at: 0 }];
    held.add("a");
    await pass(hour);
    expect(told).toEqual([]);
    held.clear();
    await pass(11 * minute);
    await pass(hour);
    expect(told.map(([type]) => type)).toEqual(["deliveries.stuck"]);
    expect(told[0]?.[1].summary).toBe(
      "No delivery was attempted for 11 minutes, although deliveries of 1 application are due.",
    );
    counts.attempts.ok++;
    await pass(minute);
    await pass(minute);
    expect(told.map(([type]) => type)).toEqual(["deliveries.stuck", "deliveries.resumed"]);
  });
});
