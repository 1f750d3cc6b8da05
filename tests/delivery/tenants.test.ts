import { describe, expect, test } from "bun:test";
import { pick, seeded } from "../../src/dev/chance.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import { Clock, isOnPostgres, ownServer } from "../support/server.ts";
import { newEvent } from "../support/store.ts";
import { broadcasters, eventNames, type Published, publishSome, Rivals, Victim } from "../support/tenants.ts";
import { until } from "../support/until.ts";

/** `ONAIR_TEST_SEED=… bun test tests/delivery/tenants.test.ts` makes the choices of that seed again. */
const seed = Number(process.env["ONAIR_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const usual = { rivals: 6, actors: 8, publishers: 4, forMs: 600 };

describe("tenants are apart", () => {
  test.each([
    ["in a thread of its own", true],
    // Requests and deliveries share turns of its event loop, and so commits, which on PostgreSQL they never do.
    ...(isOnPostgres ? [] : [["in the thread of the requests", false] as const]),
  ] as const)(
    "acknowledged events arrive once and in order whatever other applications and the operator do, with the engine %s",
    async (_, engineThread) => {
      const server = await ownServer({ engineThread, users });
      const problems: string[] = [];
      const wrong = (what: string) => {
        if (problems.length < 10) problems.push(what);
      };
      const latency = seeded(seed);
      const victims: Victim[] = [];
      for (const ms of [0, 5, 40]) {
        const victim = await Victim.start(server, ms, latency);
        afterThisTest(() => victim.receiver.stop());
        victims.push(victim);
      }
      const rivals = new Rivals(server, victims, wrong);
      afterThisTest(() => rivals.stop());
      await rivals.begin(usual.rivals, seeded(seed));
      const published: Published[] = [];
      // All of it is done at least once, however slow the machine is.
      const endsAt = performance.now() + usual.forMs;
      const isOver = () => performance.now() >= endsAt && rivals.haveDoneAll && published.length > 100;

      const publisher = async (number: number) => {
        const random = seeded(seed + number);
        for (let n = 0; !isOver(); n++) {
          // At the same time as deletions that must not affect them.
          const requests = Array.from({ length: random() < 0.5 ? 1 : 8 }, async (_, part) => {
            const deletes = Array.from({ length: 3 }, () => rivals.deleteNothing(random));
            const some = Array.from({ length: random() < 0.7 ? 1 : 8 }, (_, i) => ({
              id: `event-${number}-${n}-${part}-${i}`,
              name: pick(random, eventNames),
              broadcaster: pick(random, broadcasters),
            }));
            const answer = await publishSome(server, some);
            if (answer.status >= 300) wrong(`publishing answers ${answer.status}`);
            published.push(...answer.published);
            await Promise.all(deletes);
          });
          await Promise.all(requests);
          await Bun.sleep(random() * 20);
        }
      };
      const actor = async (number: number) => {
        const random = seeded(seed + 1_000 + number);
        while (!isOver()) await rivals.act(random);
      };
      await Promise.all([
        ...Array.from({ length: usual.publishers }, (_, i) => publisher(i)),
        ...Array.from({ length: usual.actors }, (_, i) => actor(i)),
      ]);

      for (const victim of victims) await until(() => victim.hasAll(published)).catch(() => {});
      for (const victim of victims) for (const what of await victim.problems(published)) wrong(what);
      expect({ seed, problems }).toEqual({ seed, problems: [] });
      expect(published.length).toBeGreaterThan(100);
    },
  );

  test.each(["before", "behind"])(
    "an event published in the same turn as a DELETE that removes nothing, %s it, is not canceled",
    async (place) => {
      // With a clock the server has its engine in this thread, so that both share a commit.
      const server = await ownServer({ clock: new Clock(), users });
      const receiver = ownReceiver();
      const victim = await server.application({ webhook_url: receiver.url });
      const other = await server.application({ webhook_url: receiver.url });
      await subscribe(server, victim, ["channel.followed"]);
      const { store, publish } = server.app.engine;
      for (let n = 0; n < 20; n++) {
        const event = newEvent(`event-${n}`, { broadcaster_user_id: 1001, published_at: 0 });
        const publishing = () => publish(event);
        const removing = () => store.subscriptions.remove(other.id, ["01JHJ1V2GQ5Z8N1F4T7Y0XW3C0"], 0);
        const both = place === "before" ? [publishing, removing] : [removing, publishing];
        await Promise.all(both.map((one) => one()));
      }
      await settled(server);
      expect((await server.app.engine.stats()).counts.finished).toEqual({
        delivered: 20,
        failed: 0,
        expired: 0,
        canceled: 0,
      });
    },
  );

  // On PostgreSQL the two are never one commit: what is committed first may have been sent before the removal.
  const sharing = test.skipIf(isOnPostgres);
  sharing(
    "a delivery that is committed together with the removal of its own subscription is not sent",
    async () => {
      const server = await ownServer({ clock: new Clock(), users });
      const receiver = ownReceiver();
      const app = await server.application({ webhook_url: receiver.url });
      for (const [n, broadcaster_user_id] of broadcasters.entries()) {
        const ids = await subscribe(server, app, ["channel.followed"], broadcaster_user_id);
        const { store, publish } = server.app.engine;
        const event = newEvent(`event-${n}`, { broadcaster_user_id, published_at: 0 });
        await Promise.all([publish(event), store.subscriptions.remove(app.id, ids, 0)]);
      }
      await settled(server);
      expect(receiver.received).toEqual([]);
    },
  );
});
