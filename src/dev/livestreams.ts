import type { Livestream, LivestreamInput } from "../domain/livestreams.ts";
import { isoTime } from "../domain/time.ts";
import { bell, pick, type Random, weighted } from "./chance.ts";
import type { SamplePerson } from "./sample-data.ts";

/** About so many channels are live at any time. */
export const typicallyLive = 80;

/**
 * How many watch a second later: mostly a few percent more or fewer, and drawn back to what is typical of the
 * channel, so that counts neither run away nor dry up over days.
 */
export function nextViewers(viewers: number, typical: number, random: Random): number {
  const step = 0.025 * bell(random) + 0.01 * Math.log(typical / Math.max(1, viewers));
  // A fraction counts by chance; rounded, a small audience would never change.
  return Math.max(1, Math.floor(viewers * Math.exp(step) + random()));
}

/** The livestream of somebody who goes live at `now`. */
export function newLivestream(person: SamplePerson, now: number, random: Random): LivestreamInput {
  return {
    channel_id: person.channel.id,
    category_id: person.homeCategoryId,
    viewers: Math.ceil(person.typicalViewers * (0.2 + 0.3 * random())),
    title: pick(random, person.language.titles),
    language: person.language.code,
    started_at: isoTime(Math.floor(now / 1000) * 1000),
  };
}

/** Whose livestream starts or ends next: ends get likelier the more there are. */
export function nextToChange(
  people: readonly SamplePerson[],
  live: ReadonlyMap<number, Livestream>,
  random: Random,
): SamplePerson {
  const ends = random() < live.size / (2 * typicallyLive);
  const candidates = people.filter(({ channel }) => live.has(channel.id) === ends);
  return weighted(random, candidates.length > 0 ? candidates : people, ({ typicalViewers }) =>
    ends ? 1 : Math.sqrt(typicalViewers),
  );
}
