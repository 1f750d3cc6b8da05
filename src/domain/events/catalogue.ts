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

/** All event types of an installation: those that are built in, then those that operators registered. */
export class Catalogue {
  #registered: readonly EventType[] = [];

  /** Every type; another list after every change. */
  get types(): readonly EventType[] {
    return this.#types;
  }
  #types: readonly EventType[] = builtInEventTypes;

  /** The type of exactly this name and version. */
  find(name: string, version: number): EventType | undefined {
    return this.#types.find((type) => type.name === name && type.version === version);
  }

  /** Whether there is any version of it. */
  has(name: string): boolean {
    return this.#types.some((type) => type.name === name);
  }

  /** Adds a registered type, or puts it in the place of the same version. */
  put(type: EventType): void {
    this.#set([...this.#without(type.name, type.version), type]);
  }

  remove(name: string, version: number): void {
    this.#set(this.#without(name, version));
  }

  #without(name: string, version: number): EventType[] {
    return this.#registered.filter((type) => type.name !== name || type.version !== version);
  }

  #set(registered: EventType[]): void {
    this.#registered = registered.sort((a, b) =>
      a.name < b.name ? -1 : a.name > b.name ? 1 : a.version - b.version,
    );
    this.#types = [...builtInEventTypes, ...this.#registered];
  }
}

/** The built-in type of exactly this name and version. */
export function findEventType(name: string, version: number): EventType | undefined {
  return builtInEventTypes.find((type) => type.name === name && type.version === version);
}

/**
 * What keeps `data` from being a payload of the type: `[]` when it fits, else at most 20 problems, whose
 * fields start with `data`.
 */
export function checkPayload(type: EventType, data: unknown): FieldProblem[] {
  if (type.check) return type.check(data);
  return problems(type.payload, data, { in: "body", prefix: "data", of: type.name });
}
