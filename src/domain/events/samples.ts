/*
 * Events that are made from the example of a type: in the channel of a user, at the present time.
 */

/** The user in whose channel a sample happens. */
export interface SampleBroadcaster {
  readonly id: number;
  readonly username: string;
  readonly is_verified: boolean;
  readonly profile_picture: string | null;
  /** Slug of the user's channel; by default the username in lower case. */
  readonly channel_slug?: string;
}

/**
 * Returns a payload with this user as the broadcaster, in the fields that the broadcaster has. A payload without a
 * broadcaster is not changed.
 */
export function inChannelOf<Payload>(user: SampleBroadcaster, payload: Payload): Payload {
  const { broadcaster } = payload as Payload & { readonly broadcaster?: unknown };
  if (typeof broadcaster !== "object" || broadcaster === null || !("user_id" in broadcaster)) return payload;
  const { id, username, is_verified, profile_picture, channel_slug = username.toLowerCase() } = user;
  const person = { user_id: id, username, is_verified, profile_picture: profile_picture ?? "", channel_slug };
  const known = Object.entries(person).filter(([field]) => field in broadcaster);
  return { ...payload, broadcaster: { ...broadcaster, ...Object.fromEntries(known) } };
}

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const isTime = (value: unknown): value is string => typeof value === "string" && timeForm.test(value);

/**
 * Returns a payload whose earliest time is `now`, in milliseconds since the epoch. The others keep their distance to
 * it, so that a subscription of a month still lasts a month.
 */
export function happeningAt<Payload>(now: number, payload: Payload): Payload {
  const earliest = Math.min(...timesIn(payload));
  if (!Number.isFinite(earliest)) return payload;
  const shifted = (value: unknown): unknown => {
    if (isTime(value)) return new Date(Date.parse(value) - earliest + now).toISOString();
    if (Array.isArray(value)) return value.map(shifted);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shifted(member)]));
  };
  // A boundary: each value keeps its type.
  return shifted(payload) as Payload;
}

function timesIn(value: unknown): number[] {
  if (isTime(value)) return [Date.parse(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(timesIn);
}
