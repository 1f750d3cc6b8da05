import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import type { FieldProblem } from "../errors.ts";
import { problems } from "../validation.ts";
import { channelFollowed } from "./channel-followed.ts";
import { channelRewardRedemptionUpdated } from "./channel-reward-redemption-updated.ts";
import { channelSubscriptionGifts } from "./channel-subscription-gifts.ts";
import { channelSubscriptionNew } from "./channel-subscription-new.ts";
import { channelSubscriptionRenewal } from "./channel-subscription-renewal.ts";
import { chatMessageSent } from "./chat-message-sent.ts";
import type { EventType } from "./event-type.ts";
import { kicksGifted } from "./kicks-gifted.ts";
import { livestreamMetadataUpdated } from "./livestream-metadata-updated.ts";
import { livestreamStatusUpdated } from "./livestream-status-updated.ts";
import { moderationBanned } from "./moderation-banned.ts";

/** The event types that every installation knows, in the order in which they are listed. */
export const builtInEventTypes: readonly EventType[] = [
  chatMessageSent,
  channelFollowed,
  channelSubscriptionNew,
  channelSubscriptionRenewal,
  channelSubscriptionGifts,
  channelRewardRedemptionUpdated,
  livestreamStatusUpdated,
  livestreamMetadataUpdated,
  moderationBanned,
  kicksGifted,
];

/** The built-in type of exactly this name and version. */
export function findEventType(name: string, version: number): EventType | undefined {
  return builtInEventTypes.find((type) => type.name === name && type.version === version);
}

/**
 * What keeps `data` from being a payload of the type: `[]` when it fits, else at most 20 problems, whose
 * fields start with `data`. Compiles the type's schema on first use.
 */
export function checkPayload(type: EventType, data: unknown): FieldProblem[] {
  return problems(compiled(type), data, { in: "body", prefix: "data", of: type.name });
}

const checks = new WeakMap<EventType, TypeCheck<TSchema>>();

function compiled(type: EventType): TypeCheck<TSchema> {
  let check = checks.get(type);
  if (check === undefined) {
    check = TypeCompiler.Compile(type.payload);
    checks.set(type, check);
  }
  return check;
}
