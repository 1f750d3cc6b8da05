import { pick } from "../../../src/dev/chance.ts";
import { newApplication } from "./applications.ts";
import { haveOneMoment, type Random, Register, type Scene, Turns, type World } from "./world.ts";

/*
 * Subscriptions of a few applications to a few broadcasters, created and deleted one by one, and all of a broadcaster
 * at once when the user is deleted. One change at a time for each broadcaster.
 */

const applicationCount = 3;
const broadcasterCount = 4;
const events = ["channel.followed", "chat.message.sent", "kicks.gifted", "moderation.banned"];
const path = "/public/v1/events/subscriptions";

/** A subscription; its id is known once its creation is acknowledged. */
interface Made {
  id: string | null;
}

interface Broadcaster {
  readonly id: number;
  /** By application and event. */
  readonly keys: ReadonlyMap<string, Key>;
}

interface Key {
  readonly application: Bot;
  readonly event: string;
  readonly register: Register<Made | null>;
  now: Made | null;
}

interface Bot {
  readonly id: string;
  readonly token: string;
}

interface Listed {
  readonly id: string;
  readonly broadcaster_user_id: number;
  readonly event: string;
}

const fields = "id app_id broadcaster_user_id event version method created_at updated_at".split(" ");

export async function subscriptions(world: World): Promise<Scene> {
  const bots: Bot[] = [];
  for (let i = 0; i < applicationCount; i++)
    bots.push(await newApplication(world, { webhook_url: "http://127.0.0.1:9/hook" }));
  const broadcasters = new Turns(
    Array.from({ length: broadcasterCount }, (_, i): Broadcaster => {
      const keys = bots.flatMap((application) =>
        events.map((event): [string, Key] => [
          `${application.id} ${event}`,
          { application, event, register: new Register<Made | null>(null), now: null },
        ]),
      );
      return { id: 700 + i, keys: new Map(keys) };
    }),
  );

  const putUser = ({ id }: Broadcaster) =>
    world.admin("PUT", `/admin/v1/users/${id}`, { username: `broadcaster${id}` });

  const some = (broadcaster: Broadcaster, random: Random): Key[] => {
    const application = pick(random, bots);
    const own = [...broadcaster.keys.values()].filter((key) => key.application === application);
    return own.filter(() => random() < 0.5);
  };

  const create = async (broadcaster: Broadcaster, random: Random) => {
    const keys = some(broadcaster, random);
    const [first] = keys;
    if (!first) return;
    const made = keys.map(({ now }): Made => now ?? { id: null });
    const writes = keys.flatMap(({ now, register }, i) => (now ? [] : [register.begin(made[i] ?? null)]));
    const body = {
      events: keys.map(({ event }) => ({ name: event, version: 1 })),
      broadcaster_user_id: broadcaster.id,
    };
    await world.change(writes, async () => {
      const { status, text } = await world.ask(path, {
        method: "POST",
        token: first.application.token,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const { data = [] } = JSON.parse(text) as { data?: { subscription_id?: string }[] };
      for (const [i, key] of keys.entries()) {
        const id = data[i]?.subscription_id ?? null;
        const one = made[i] as Made;
        if (status !== 200 || id === null || (one.id !== null && one.id !== id))
          world.wrong(`POST ${path}`, { body, made, status, text });
        one.id = id;
        key.now = one;
      }
    });
  };

  const remove = async (broadcaster: Broadcaster, random: Random) => {
    const keys = some(broadcaster, random).filter(({ now }) => now !== null);
    const [first] = keys;
    if (!first) return;
    const ids = keys.map(({ now }) => now?.id);
    const writes = keys.map((key) => {
      key.now = null;
      return key.register.begin(null);
    });
    await world.change(writes, async () => {
      const query = random() < 0.5 ? `id=${ids.join(",")}` : ids.map((id) => `id=${id}`).join("&");
      const { token } = first.application;
      const { status, text } = await world.ask(`${path}?${query}`, { method: "DELETE", token });
      if (status !== 204 || text !== "") world.wrong(`DELETE ${path}`, { query, status, text });
    });
  };

  const removeUser = async (broadcaster: Broadcaster) => {
    const keys = [...broadcaster.keys.values()].filter(({ now }) => now !== null);
    const writes = keys.map((key) => {
      key.now = null;
      return key.register.begin(null);
    });
    await world.change(writes, () => world.admin("DELETE", `/admin/v1/users/${broadcaster.id}`));
    await putUser(broadcaster);
  };

  const change = (random: Random) =>
    broadcasters.take(random, (broadcaster) => {
      const chance = random();
      if (chance < 0.55) return create(broadcaster, random);
      return chance < 0.95 ? remove(broadcaster, random) : removeUser(broadcaster);
    });

  const list = async (bot: Bot) => {
    const { status, headers, text, span } = await world.ask(path, { token: bot.token });
    const { data = [] } = JSON.parse(text) as { data?: Listed[] };
    const lifetimes = broadcasters.all.flatMap(({ id, keys }) =>
      [...keys.values()]
        .filter(({ application }) => application === bot)
        .map(({ event, register }) => {
          const shown = data.filter((one) => one.broadcaster_user_id === id && one.event === event);
          const fitting = register.possible(span).filter(({ value }) => {
            if (value === null) return shown.length === 0;
            return shown.length === 1 && (value.id === null || value.id === shown[0]?.id);
          });
          return fitting.map((write) => register.lifetime(write));
        }),
    );
    const isWhole = data.every((one) => Bun.deepEquals(Object.keys(one), fields));
    const used = Number(headers.get("onair-subscriptions-used"));
    if (status !== 200 || !isWhole || used !== data.length || !haveOneMoment(span, lifetimes))
      world.wrong(`GET ${path}`, { status, text, used, listed: data.length, lifetimes, span });
  };

  for (const broadcaster of broadcasters.all) await putUser(broadcaster);
  return {
    actions: [
      { name: "change subscriptions", weight: 8, run: change },
      { name: "Get Event Subscriptions", weight: 10, run: (random) => list(pick(random, bots)) },
    ],
    async settled() {
      for (const bot of bots) {
        await list(bot);
        await world.compareHead(path, bot.token);
      }
    },
  };
}
