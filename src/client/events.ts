import type { components, webhooks } from "./api.d.ts";

/** An event of any type. */
export interface AnyEvent {
  readonly type: string;
  readonly version: number;
  /** The time of publication, ISO 8601 in UTC. */
  readonly timestamp: string;
  readonly data: unknown;
}

type NoticeType = components["schemas"]["Notice"]["type"];
type Sent<Type extends keyof webhooks> = webhooks[Type]["post"]["requestBody"]["content"]["application/json"];

/** The built-in events, discriminated by `type`. */
export type PlatformEvent = {
  [Type in Exclude<keyof webhooks, NoticeType>]: Sent<Type>;
}[Exclude<keyof webhooks, NoticeType>];

/** A notice about the endpoint of the application. The event stream has notices in addition to events. */
export type NoticeEvent = { readonly [Type in NoticeType]: Sent<Type> }[NoticeType];

/** The contents of the headers of a delivery. */
export interface DeliveryInfo {
  /** The id of the delivery, by webhook and by stream. Remember ids to handle each delivery once. */
  readonly id: string;
  readonly eventId: string;
  readonly subscriptionId: string;
  /** The number of the delivery within its subscription; a gap shows a missing delivery. */
  readonly sequence: number;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Whether the event is a sample: of `POST /public/v1/events/test`, or of `onair trigger`. */
  readonly isTest: boolean;
}

/** An event, with the delivery by which it was received. */
export type ReceivedEvent<Event> = Event & { readonly delivery: DeliveryInfo };

/** Whether a delivery is a sample of the platform, by its id, which is signed, unlike the header `Onair-Test`. */
export function isSample(id: string): boolean {
  return id.startsWith("test_");
}

/** Reads an event whose signature is verified. Throws when the body is not an event. */
export function eventOf<Event extends AnyEvent>(
  body: string,
  header: (name: string) => string | null | undefined,
): ReceivedEvent<Event> {
  const event = JSON.parse(body) as Event;
  if (typeof event?.type !== "string") throw new TypeError("the body is not an event");
  const text = (name: string) => header(name) ?? "";
  return {
    ...event,
    delivery: {
      id: text("webhook-id"),
      eventId: text("onair-event-id"),
      subscriptionId: text("onair-subscription-id"),
      sequence: Number(text("onair-sequence")),
      attempt: Number(text("onair-attempt")),
      isTest: isSample(text("webhook-id")) || text("onair-test") === "true",
    },
  };
}
