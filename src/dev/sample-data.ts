import type { CategoryInput } from "../domain/categories.ts";
import type { Livestream } from "../domain/livestreams.ts";
import { day, isoTime, minute } from "../domain/time.ts";
import type { UserInput } from "../domain/users.ts";
import { between, normalNumber, pick, type Random, seeded, weighted } from "./chance.ts";
import { newLivestream, typicallyLive } from "./livestreams.ts";
import { sampleCategories } from "./sample-categories.ts";
import { english, languages, type SampleLanguage, stars } from "./sample-languages.ts";
import type { SamplePerson } from "./sample-person.ts";

/** The data of the sample platform. Popular people and categories come first. */
export interface SampleData {
  readonly people: readonly SamplePerson[];
  readonly categories: readonly CategoryInput[];
  /** Livestreams that are live at the start. */
  readonly livestreams: readonly Livestream[];
}

const firstWords =
  "brave sleepy cosmic velvet turbo salty lucky mellow electric crimson tiny grumpy silent golden pixel frosty wandering midnight clumsy humble";
const secondWords =
  "fox otter badger comet teapot wizard panda raven biscuit walrus goblin lantern moose pickle phoenix hedgehog noodle falcon yeti compass";
/** An English username is made of one first and one second word. */
const handleWords = { first: firstWords.split(" "), second: secondWords.split(" ") };

const peopleCount = 300;
const firstUserId = 1001;
const firstChannelId = 5001;
const seed = 20_260_114;
/** All accounts are created before this time, so that the data do not depend on the clock. */
const accountsUntil = Date.parse("2025-12-01T00:00:00Z");

/** Returns the sample platform. It is always the same, except that its livestreams started a while before `now`. */
export function sampleData(now: number): SampleData {
  const random = seeded(seed);
  const categories = sampleCategories.map((category, i) => ({ id: i + 1, ...category }));
  const names = uniqueNames(random, peopleCount);
  const people = names.map((name, i) => person(random, name, i));
  const livestreams = liveAtStart(random, people).map((one): Livestream => {
    const started = now - between(random, 5, 360) * minute;
    const viewers = Math.max(1, Math.round(one.typicalViewers * Math.exp(normalNumber(random) / 4)));
    return { ...newLivestream(one, started, random), viewers };
  });
  return { people, categories, livestreams };
}

interface Name {
  readonly username: string;
  readonly displayName: string;
  readonly language: SampleLanguage;
  readonly bio: string;
}

/** Returns the stars, then generated names up to `count`. Slugs are unique. */
function uniqueNames(random: Random, count: number): Name[] {
  const names: Name[] = stars.map(({ language, ...star }) => ({
    ...star,
    language: languages.find(({ code }) => code === language) ?? english,
  }));
  const taken = new Set(names.map(({ username }) => slugOf(username)));
  while (names.length < count) {
    const language = weighted(random, languages, ({ weight }) => weight);
    const name = language === english ? handle(random) : ownName(random, language);
    const slug = slugOf(name.username);
    if (taken.has(slug)) continue;
    taken.add(slug);
    names.push({ ...name, language, bio: pick(random, language.bios) });
  }
  return names;
}

function slugOf(username: string): string {
  return username.toLowerCase().replaceAll("_", "-");
}

function handle(random: Random): { username: string; displayName: string } {
  const words = [pick(random, handleWords.first), pick(random, handleWords.second)];
  const titled = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const username = pick(random, [
    words.join("_"),
    words.join("-"),
    titled.join(""),
    `${words.join("")}${between(random, 7, 99)}`,
    `The${titled.join("")}`,
  ]);
  return { username, displayName: pick(random, [username, titled.join(" ")]) };
}

function ownName(random: Random, { names }: SampleLanguage): { username: string; displayName: string } {
  const [base, displayName] = pick(random, names);
  const [ending, shown] = pick(random, [
    ["", ""],
    ["_tv", " TV"],
    ["_live", ""],
    ["-gg", ""],
    [`_${between(random, 2, 99)}`, ""],
    ["Plays", ""],
  ] as const);
  return { username: base + ending, displayName: displayName + shown };
}

function person(random: Random, { username, displayName, language, bio }: Name, rank: number): SamplePerson {
  const followers = Math.round((2_600_000 / (rank + 1) ** 1.6) * (0.8 + 0.4 * random()));
  // 97 and 300 have no common divisor: every id occurs once, and the order of ids does not follow the rank.
  const place = (rank * 97) % peopleCount;
  const user: Required<UserInput> = {
    id: firstUserId + place,
    username,
    display_name: displayName,
    bio,
    profile_picture: null,
    followers_count: followers,
    following_count: between(random, 0, 400),
    is_verified: rank < stars.length || random() < 30 / (rank + 30),
    created_at: isoTime(accountsUntil - between(random, 30, 3_600) * day - between(random, 0, 86_399) * 1000),
  };
  return {
    user,
    channel: {
      id: firstChannelId + place,
      user_id: user.id,
      slug: slugOf(username),
      name: displayName,
    },
    language,
    homeCategoryId: weighted(
      random,
      sampleCategories.map((_, i) => i + 1),
      (id) => 1 / (id + 2),
    ),
    typicalViewers: Math.max(3, Math.round(0.4 * followers ** 0.75)),
  };
}

/** Returns the stars and a random selection of the others, weighted by their viewers. */
function liveAtStart(random: Random, people: readonly SamplePerson[]): readonly SamplePerson[] {
  const live = new Set(people.slice(0, stars.length));
  while (live.size < typicallyLive)
    live.add(weighted(random, people, ({ typicalViewers }) => Math.sqrt(typicalViewers)));
  return [...live];
}
