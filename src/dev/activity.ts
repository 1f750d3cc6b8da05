import { defaultPictures } from "../api/public/assets.ts";
import { newId } from "../domain/ids.ts";
import type { Livestream } from "../domain/livestreams.ts";
import { second } from "../domain/time.ts";
import { repeating, type Service } from "../runtime/services.ts";
import type { App } from "../server/start.ts";
import { between, type Random } from "./chance.ts";
import { type GeneratedEvent, generateEvent, nextEvent, type Scene } from "./generated-events.ts";
import { nextToChange, nextViewers, type SampleData } from "./sample-data.ts";
import type { SamplePerson } from "./sample-languages.ts";

interface ActivityOptions {
  readonly app: Pick<App, "store" | "data" | "publisher">;
  /** The URL of the public listener. The listener serves the pictures. */
  readonly publicUrl: string;
  readonly sample: SampleData;
  /** Whether to publish events, in addition to changing viewer counts. */
  readonly events: boolean;
  readonly now: () => number;
  readonly random: Random;
}

/** Seconds between two events with a subscriber, and between two changes of a channel's live status. */
const eventEvery = [2, 5] as const;
const changeEvery = [10, 30] as const;

/**
 * Simulates the sample platform: viewer counts change every second, and sample users have events from time to time. The
 * simulation keeps no state: it continues from the store, also after a restart and after changes by other programs.
 */
export function activity({ app, publicUrl, sample, events, now, random }: ActivityOptions): Service {
  const { store, data, publisher } = app;
  const byUser = new Map(sample.people.map((person) => [person.user.id, person]));
  const byChannel = new Map(sample.people.map((person) => [person.channel.id, person]));
  const pictures = defaultPictures(publicUrl);
  let nextEventAt = now();
  let nextChangeAt = now() + between(random, ...changeEvery) * second;

  const sampleStreams = async (): Promise<Map<number, Livestream>> => {
    const live = await store.livestreams.all();
    return new Map(live.filter((one) => byChannel.has(one.channel_id)).map((one) => [one.channel_id, one]));
  };

  const moveViewers = async (live: ReadonlyMap<number, Livestream>): Promise<void> => {
    const moved = [...live.values()].map((stream) => {
      const typical = byChannel.get(stream.channel_id)?.typicalViewers ?? stream.viewers;
      return { ...stream, viewers: nextViewers(stream.viewers, typical, random) };
    });
    await data.livestreams.keep(moved);
  };

  /** Returns the subscribed events of all applications that can be generated. */
  const wanted = async (live: ReadonlyMap<number, Livestream>) => {
    const applications = await store.applications.all();
    const lists = await Promise.all(applications.map(({ id }) => store.subscriptions.ofApplication(id)));
    return lists.flat().flatMap(({ event, broadcaster_user_id }) => {
      const broadcaster = byUser.get(broadcaster_user_id ?? 0);
      return broadcaster ? [{ event, broadcaster, live: live.has(broadcaster.channel.id) }] : [];
    });
  };

  const happen = async (event: string, broadcaster: SamplePerson, live: ReadonlyMap<number, Livestream>) => {
    const scene: Scene = {
      broadcaster,
      live: live.get(broadcaster.channel.id) ?? null,
      people: sample.people,
      categories: sample.categories,
      pictures,
      id: newId(),
      now: now(),
      random,
    };
    const generated = generateEvent(event, scene);
    await change(broadcaster, generated);
    await publisher.publish({
      name: event,
      version: 1,
      broadcaster_user_id: broadcaster.user.id,
      data: generated.data,
    });
  };

  const change = async ({ channel }: SamplePerson, { livestream }: GeneratedEvent): Promise<void> => {
    if (livestream === "ended") await data.end([channel.id]);
    else if (livestream) await data.livestreams.keep([livestream]);
  };

  return repeating("sample platform", second, async () => {
    await moveViewers(await sampleStreams());
    if (!events) return;
    if (now() >= nextEventAt) {
      nextEventAt = now() + between(random, ...eventEvery) * second;
      const live = await sampleStreams();
      const next = nextEvent(await wanted(live), random);
      if (next) await happen(next.event, next.broadcaster, live);
    }
    if (now() >= nextChangeAt) {
      nextChangeAt = now() + between(random, ...changeEvery) * second;
      const live = await sampleStreams();
      await happen("livestream.status.updated", nextToChange(sample.people, live, random), live);
    }
  });
}
