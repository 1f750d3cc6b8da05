import { didYouMean } from "../server/settings/command-line.ts";

/** Event types of Twitch, and the types that correspond to them; docs/from-twitch.md has the same table. */
const namesOnTwitch: Readonly<Record<string, string>> = {
  "channel.chat.message": "chat.message.sent",
  "channel.follow": "channel.followed",
  "channel.subscribe": "channel.subscription.new",
  "channel.subscription.message": "channel.subscription.renewal",
  "channel.subscription.gift": "channel.subscription.gifts",
  "channel.channel_points_custom_reward_redemption.add": "channel.reward.redemption.updated",
  "channel.channel_points_custom_reward_redemption.update": "channel.reward.redemption.updated",
  "stream.online": "livestream.status.updated",
  "stream.offline": "livestream.status.updated",
  "channel.update": "livestream.metadata.updated",
  "channel.ban": "moderation.banned",
  "channel.cheer": "kicks.gifted",
};

/** Returns " Did you mean …?" for an unknown event type, also for one of Twitch; "" when no known type is close. */
export function didYouMeanType(name: string, known: readonly string[]): string {
  const meant = Object.hasOwn(namesOnTwitch, name) ? namesOnTwitch[name] : undefined;
  return meant !== undefined && known.includes(meant) ? ` Did you mean ${meant}?` : didYouMean(name, known);
}
