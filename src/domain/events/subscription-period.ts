import { Type } from "@sinclair/typebox";
import { about, closed, Timestamp } from "../validation/fields.ts";
import { Person } from "./person.ts";

/** The payload of a new or renewed subscription. */
export const SubscriptionPeriod = closed({
  broadcaster: about(Person, "Whose channel it is."),
  subscriber: about(Person, "Who subscribes to it."),
  duration: Type.Integer({
    minimum: 1,
    maximum: 1200,
    description: "For how many months the subscriber has subscribed.",
  }),
  created_at: about(Timestamp, "When this period began."),
  expires_at: about(Timestamp, "When it ends."),
});
