import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, onTestFinished, test } from "bun:test";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { everything } from "../../../src/domain/deliveries.ts";
import type { Store } from "../../../src/domain/store.ts";
import dictionary from "../../../src/store/sqlite/body-dictionary-1.txt" with { type: "text" };
import { bodyBytes, type KeptBody, keptBody } from "../../../src/store/sqlite/delivery-rows.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { randomText, sampleBodies } from "../../support/bodies.ts";
import { holds } from "../../support/property.ts";
import { ownDirectory } from "../../support/server.ts";
import { newEvent, subscriber } from "../../support/store.ts";

const [followed = ""] = sampleBodies(1).find(({ type }) => type === "channel.followed")?.bodies ?? [];

const tooLarge = "x".repeat(2 ** 20 + 1);

describe("a body", () => {
  test.each(sampleBodies(20).map(({ type, bodies }) => [type, bodies] as const))(
    "of %s takes less than half, and is read as it was",
    (_, bodies) => {
      const kept = bodies.map(keptBody);
      const bytes = (all: readonly KeptBody[]) => all.reduce((sum, one) => sum + Buffer.from(one).length, 0);
      expect(bytes(kept)).toBeLessThan(bytes(bodies) / 2);
      expect(kept.map((one) => bodyBytes(one).toString())).toEqual([...bodies]);
    },
  );

  test("that would not become shorter, or is very large, is kept as it is", () => {
    for (const body of ["", "{}", '{"ü":1}', randomText(700), tooLarge]) expect(keptBody(body)).toBe(body);
  });

  test("that was packed by the first version of the format can always be read", () => {
    const packed = "AYPHCUrlSiA6DAx1DU1CDM2sDCysDMz0DI2MozDjRMlK6XALyGuleekKb6fOebV1rVJtLQA=";
    expect(bodyBytes(Buffer.from(packed, "base64")).toString()).toBe(
      '{"type":"kicks.gifted","version":1,"timestamp":"2026-01-14T16:08:06.123Z","data":{"message":"Änderung 한국"}}',
    );
    expect(new Bun.CryptoHasher("sha256").update(dictionary).digest("hex")).toBe(
      "a7b2079eccddb810f054e1bd398ebe858624366b58e104ea39cd7ff2dd539285",
    );
  });

  test("of any text is read as it was", () => {
    holds(
      fc.property(fc.string({ unit: "grapheme", maxLength: 2_000 }), (text) => {
        expect(bodyBytes(keptBody(text))).toEqual(Buffer.from(text));
      }),
      { examples: [["x".repeat(256 * 1024)], ['{"type":"chat.message.sent","content":"한국방송 🎉"}']] },
    );
  });

  test.each<[string, Uint8Array]>([
    ["of a format that is not known", Buffer.concat([Buffer.of(2), packedPart()])],
    ["that is cut off", Buffer.concat([Buffer.of(1), packedPart().subarray(0, 40)])],
    ["that is something else", Buffer.concat([Buffer.of(1), Buffer.alloc(40, 0xff)])],
    ["without any bytes", Buffer.alloc(0)],
    ["that would become too large", Buffer.concat([Buffer.of(1), deflateRawSync(tooLarge)])],
  ])("%s is an error with a name", (_, damaged) => {
    expect(() => bodyBytes(damaged)).toThrow(
      expect.objectContaining({
        name: "DamagedValue",
        message: "the body of an event cannot be unpacked",
      }),
    );
  });
});

describe("in the store", () => {
  const at = "2026-01-14T16:00:00.000Z";
  const now = Date.parse(at);
  let path: string;
  let store: Store;
  let application: string;
  const faults: string[] = [];
  beforeEach(async () => {
    path = ownDirectory();
    faults.length = 0;
    store = openStore(path, { onFault: (fault) => faults.push(fault) });
    onTestFinished(() => store.close());
    application = await subscriber(store);
    await store.deliveries.releaseAll();
  });

  const publish = (id: string, name = "channel.followed") =>
    store.events.publish(newEvent(id, { name, body: followed }), () => false);

  /** The body of an event as each way out of the store gives it. */
  const waysOut: Record<string, () => Promise<string | null | undefined>> = {
    "the log": async () => {
      const { due } = await store.deliveries.claim(application, now, 1);
      await store.deliveries.release(due.map(({ seq }) => seq));
      const [{ id } = { id: "" }] = due;
      return (await store.deliveries.find(everything, id))?.body;
    },
    "a claim": async () => {
      const { due } = await store.deliveries.claim(application, now, 1);
      return Buffer.from(due[0]?.event.body ?? "").toString();
    },
    "an event stream": async () =>
      (await store.deliveries.streamed({ applicationId: application, userId: null, shard: null }, 0))
        .deliveries[0]?.event.body,
  };

  /** Changes what is kept of all bodies, as another program does. */
  function change(to: string): void {
    const db = new Database(`${path}/onair.db`);
    db.run(`UPDATE events SET body = ${to}`);
    db.close();
  }

  describe.each(Object.entries(waysOut))("%s", (_, body) => {
    test("gives it as it was published", async () => {
      await publish("packed");
      expect(await body()).toBe(followed);
    });

    test("gives one that is stored as text", async () => {
      await publish("text");
      change(`'${followed}'`);
      expect(await body()).toBe(followed);
    });
  });

  test("an event without a subscriber keeps no body, whether it comes alone or with others", async () => {
    const unwanted = "channel.subscription.new";
    await publish("alone", unwanted);
    await publish("alone-wanted");
    await Promise.all(Array.from({ length: 20 }, (_, n) => publish(`with-others-${n}`, unwanted)));
    await publish("wanted");
    expect(await publish("alone", unwanted)).toMatchObject({ id: "alone", deliveries: 0 });
    await store.deliveries.claim(application, now, 1); // moves what is staged
    const db = new Database(`${path}/onair.db`, { readonly: true });
    const kept = db.query("SELECT id, name FROM events WHERE body IS NOT NULL ORDER BY seq").all();
    const bare = db.query("SELECT count(*) AS n FROM events WHERE body IS NULL AND deliveries = 0").get();
    db.close();
    expect(kept).toEqual([
      { id: "alone-wanted", name: "channel.followed" },
      { id: "wanted", name: "channel.followed" },
    ]);
    expect(bare).toEqual({ n: 21 });
  });

  test("a damaged one is empty in a claim, and lost everywhere else; the others are read", async () => {
    await publish("damaged");
    await publish("another");
    await store.deliveries.claim(application, now, 0); // moves what is staged
    change("iif(id = 'damaged', x'0102030405', body)");
    const { due } = await store.deliveries.claim(application, now, 10);
    expect(due.map(({ event }) => Buffer.from(event.body).toString())).toEqual(["", followed]);
    const found = await Promise.all(due.map(({ id }) => store.deliveries.find(everything, id)));
    expect(found.map((one) => one?.body)).toEqual([null, followed]);
    const { deliveries, lost } = await store.deliveries.streamed(
      { applicationId: application, userId: null, shard: null },
      0,
    );
    expect([deliveries.map(({ event }) => event.body), lost]).toEqual([[followed], 1]);
    expect(faults).toEqual([]);
    await publish("goes on");
  });
});

function packedPart(): Uint8Array {
  return (keptBody(followed) as Uint8Array).subarray(1);
}
