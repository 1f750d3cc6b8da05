import type { DueDelivery, NewEvent, SentEvent } from "../../domain/deliveries.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import type { StoredEvent, StoredEvents } from "../events.ts";

/** The error for an event with the id of another one. */
export const idOfOther = (id: string): DomainError =>
  new DomainError("conflict", `The id ${id} belongs to another event`);

/** The error for an event of a broadcaster who does not exist. */
export const unknownBroadcaster = (): DomainError =>
  invalidFields([{ in: "body", field: "broadcaster_user_id", message: "is not a known user" }]);

/** Returns a delivery that was just stored, as the dispatcher takes it into memory. */
export function newDelivery(
  stored: Pick<DueDelivery, "seq" | "id" | "application_id" | "subscription_id" | "sequence">,
  { expires_at }: NewEvent,
  event: SentEvent,
): DueDelivery {
  return {
    ...stored,
    isSubscribed: true,
    attempts: 0,
    extra_attempts: 0,
    resume_at: null,
    expires_at,
    event,
  };
}

/** Joins the results of events that were stored together. */
export function joinedEvents(stored: readonly StoredEvent[]): StoredEvents {
  return {
    published: stored.map(({ id, deliveries }) => ({ id, deliveries })),
    taken: stored.flatMap(({ taken }) => taken),
    streamed: [...new Set(stored.flatMap(({ streamed }) => streamed))],
  };
}
