import { generateEvent } from "../../src/dev/activity.ts";
import { between, pick, seeded } from "../../src/dev/chance.ts";
import { sampleData } from "../../src/dev/sample-data.ts";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";

const at = Date.parse("2026-03-02T19:30:00Z");
const sample = sampleData(at);
const pictures = { profile: "https://profile", icon: "https://icon" };

/** Incompressible text of this many bytes. */
export const randomText = (bytes: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes)))
    .toString("base64")
    .slice(0, bytes);

/** Bodies of events of each built-in type, with the persons of the sample platform, each with a picture of its own. */
export function sampleBodies(each: number): { readonly type: string; readonly bodies: readonly string[] }[] {
  const random = seeded(3);
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => between(random, 0, 15).toString(16)).join("");
  const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  const pictureOf = () =>
    `https://files.stage.tv/images/user/${between(random, 1e5, 9e7)}/profile_image/conversion/${uuid()}-fullsize.webp`;
  const bodyOf = (type: string, version: number, i: number): string => {
    const now = at + i * 977;
    const broadcaster = pick(random, sample.people);
    const stream = { channel_id: 1, category_id: 1, viewers: 5, title: "Old", language: "en" };
    const live = i % 2 === 0 ? { ...stream, started_at: new Date(at).toISOString() } : null;
    const id = uuid();
    const { people, categories } = sample;
    const scene = { broadcaster, live, people, categories, pictures, id, now, random };
    const { data } = generateEvent(type, scene);
    const body = { type, version, timestamp: new Date(now).toISOString(), data };
    return JSON.stringify(body).replaceAll(/https:\/\/(profile|icon)/g, pictureOf);
  };
  return builtInEventTypes.map(({ name: type, version }) => {
    return { type, bodies: Array.from({ length: each }, (_, i) => bodyOf(type, version, i)) };
  });
}
