import { Type } from "@sinclair/typebox";
import { closed, Timestamp } from "../fields.ts";
import { Person } from "./person.ts";

/** Payload of a subscription that begins or goes on. */
export const SubscriptionPeriod = closed({
  broadcaster: Person,
  subscriber: Person,
  duration: Type.Integer({
    minimum: 1,
    maximum: 1200,
    description: "For how many months the subscriber has subscribed.",
  }),
  created_at: Timestamp,
  expires_at: Timestamp,
});
