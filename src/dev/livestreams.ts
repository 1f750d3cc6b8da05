import type { Livestream } from "../domain/livestreams.ts";
import { isoTime } from "../domain/time.ts";
import { normalNumber, pick, type Random, weighted } from "./chance.ts";
import type { SamplePerson } from "./sample-languages.ts";

/** The simulation tends towards this number of live channels. */
export const typicallyLive = 80;

/**
 * Returns the number of viewers one second later: a random step of a few percent, with a drift towards the channel's
 * typical number, so that counts stay in range over days.
 */
export function nextViewers(viewers: number, typical: number, random: Random): number {
  const step = 0.025 * normalNumber(random) + 0.01 * Math.log(typical / Math.max(1, viewers));
  // The fraction becomes a viewer by chance: with plain rounding, a small audience would never change.
  return Math.max(1, Math.floor(viewers * Math.exp(step) + random()));
}

/** Returns the livestream of a person who goes live at `now`. */
export function newLivestream(person: SamplePerson, now: number, random: Random): Livestream {
  return {
    channel_id: person.channel.id,
    category_id: person.homeCategoryId,
    viewers: Math.ceil(person.typicalViewers * (0.2 + 0.3 * random())),
    title: pick(random, person.language.titles),
    language: person.language.code,
    started_at: isoTime(Math.floor(now / 1000) * 1000),
  };
}

/** Chooses the person whose livestream starts or ends next. The more people are live, the more likely an end is. */
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
