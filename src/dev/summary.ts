import {
  channelFollowed,
  channelRewardRedemptionUpdated,
  channelSubscriptionGifts,
  channelSubscriptionNew,
  channelSubscriptionRenewal,
  chatMessageSent,
  findEventType,
  kicksGifted,
  livestreamMetadataUpdated,
  livestreamStatusUpdated,
  moderationBanned,
  type Person,
} from "../domain/events/built-in.ts";
import { checkPayload } from "../domain/events/catalogue.ts";
import type { EventType } from "../domain/events/event-type.ts";
import { jsonObject } from "../domain/validation/json.ts";

/** Makes an entry of `summaries`. The type parameter lets the compiler check the fields read from the payload. */
function summary<Type extends EventType>({ name }: Type, of: (data: Type["example"]) => string) {
  return [name, of as (data: unknown) => string] as const;
}

const summaries = new Map([
  summary(chatMessageSent, ({ sender, content }) => `${sender.username} said "${content}"`),
  summary(channelFollowed, ({ follower }) => `${follower.username} follows`),
  summary(channelSubscriptionNew, ({ subscriber }) => `${subscriber.username} subscribed`),
  summary(
    channelSubscriptionRenewal,
    ({ subscriber, duration }) => `${subscriber.username} subscribed again, month ${duration}`,
  ),
  summary(
    channelSubscriptionGifts,
    ({ gifter, giftees }) =>
      `${gifter.username ?? "anonymous"} gave ${giftees.length} ${giftees.length === 1 ? "subscription" : "subscriptions"}`,
  ),
  summary(
    channelRewardRedemptionUpdated,
    ({ redeemer, reward, status }) => `${redeemer.username}: "${reward.title}" is ${status}`,
  ),
  summary(livestreamStatusUpdated, ({ is_live, title }) =>
    is_live ? `went live: "${title}"` : "went offline",
  ),
  summary(
    livestreamMetadataUpdated,
    ({ metadata }) => `now "${metadata.title}" in ${metadata.category.name}`,
  ),
  summary(
    moderationBanned,
    ({ banned_user, metadata }) =>
      `${banned_user.username} was banned ${metadata.expires_at ? "for a while" : "for good"}`,
  ),
  summary(kicksGifted, ({ sender, gift }) => `${sender.username} gave ${gift.amount} Kicks (${gift.name})`),
]);

/** The summary of a delivery. */
interface Summary {
  readonly type: string;
  /** The username of the broadcaster, "" when absent. */
  readonly broadcaster: string;
  /** For example `ninja_fox said "hello"`; "" for a type that is not in the catalogue. */
  readonly text: string;
}

/** Summarises the body of a delivery; an invalid body gives an empty summary. */
export function summaryOf(body: string): Summary {
  const { type, version, data } = jsonObject(body) ?? {};
  const name = typeof type === "string" ? type : "";
  const eventType = findEventType(name, typeof version === "number" ? version : 0);
  if (!eventType || checkPayload(eventType, data).length > 0)
    return { type: name, broadcaster: "", text: "" };
  const { broadcaster } = data as { broadcaster: Person };
  return { type: name, broadcaster: broadcaster.username, text: summaries.get(name)?.(data) ?? "" };
}
