import { checkPayload, findEventType } from "../domain/events/catalogue.ts";
import type { ChannelFollowed } from "../domain/events/channel-followed.ts";
import type { ChannelRewardRedemptionUpdated } from "../domain/events/channel-reward-redemption-updated.ts";
import type { ChannelSubscriptionGifts } from "../domain/events/channel-subscription-gifts.ts";
import type { ChannelSubscriptionNew } from "../domain/events/channel-subscription-new.ts";
import type { ChannelSubscriptionRenewal } from "../domain/events/channel-subscription-renewal.ts";
import type { ChatMessageSent } from "../domain/events/chat-message-sent.ts";
import type { KicksGifted } from "../domain/events/kicks-gifted.ts";
import type { LivestreamMetadataUpdated } from "../domain/events/livestream-metadata-updated.ts";
import type { LivestreamStatusUpdated } from "../domain/events/livestream-status-updated.ts";
import type { ModerationBanned } from "../domain/events/moderation-banned.ts";
import type { Person } from "../domain/events/person.ts";

interface Payloads {
  "chat.message.sent": ChatMessageSent;
  "channel.followed": ChannelFollowed;
  "channel.subscription.new": ChannelSubscriptionNew;
  "channel.subscription.renewal": ChannelSubscriptionRenewal;
  "channel.subscription.gifts": ChannelSubscriptionGifts;
  "channel.reward.redemption.updated": ChannelRewardRedemptionUpdated;
  "livestream.status.updated": LivestreamStatusUpdated;
  "livestream.metadata.updated": LivestreamMetadataUpdated;
  "moderation.banned": ModerationBanned;
  "kicks.gifted": KicksGifted;
}

const summaries: { readonly [Name in keyof Payloads]: (data: Payloads[Name]) => string } = {
  "chat.message.sent": ({ sender, content }) => `${sender.username} said "${content}"`,
  "channel.followed": ({ follower }) => `${follower.username} follows`,
  "channel.subscription.new": ({ subscriber }) => `${subscriber.username} subscribed`,
  "channel.subscription.renewal": ({ subscriber, duration }) =>
    `${subscriber.username} subscribed again, month ${duration}`,
  "channel.subscription.gifts": ({ gifter, giftees }) =>
    `${gifter.username ?? "somebody"} gave ${giftees.length} ${giftees.length === 1 ? "subscription" : "subscriptions"}`,
  "channel.reward.redemption.updated": ({ redeemer, reward, status }) =>
    `${redeemer.username}: "${reward.title}" is ${status}`,
  "livestream.status.updated": ({ is_live, title }) =>
    is_live ? `went live: "${title}"` : "went off the air",
  "livestream.metadata.updated": ({ metadata }) => `now "${metadata.title}" in ${metadata.category.name}`,
  "moderation.banned": ({ banned_user, metadata }) =>
    `${banned_user.username} was banned ${metadata.expires_at ? "for a while" : "for good"}`,
  "kicks.gifted": ({ sender, gift }) => `${sender.username} gave ${gift.amount} Kicks (${gift.name})`,
};

/** The summary of a delivery, for people. */
interface Summary {
  readonly type: string;
  /** The username of the broadcaster, "" when absent. */
  readonly broadcaster: string;
  /** For example `ninja_fox said "hello"`; "" for a type that is not in the catalogue. */
  readonly text: string;
}

/** Summarises the body of a delivery; an invalid body gives an empty summary. */
export function summaryOf(body: string): Summary {
  const { type, version, data } = parsed(body);
  const name = typeof type === "string" ? type : "";
  const eventType = findEventType(name, typeof version === "number" ? version : 0);
  if (!eventType || checkPayload(eventType, data).length > 0)
    return { type: name, broadcaster: "", text: "" };
  const { broadcaster } = data as { broadcaster: Person };
  const summarize = summaries[name as keyof Payloads] as ((data: unknown) => string) | undefined;
  return { type: name, broadcaster: broadcaster.username, text: summarize?.(data) ?? "" };
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
