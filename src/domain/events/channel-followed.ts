import type { Static } from "@sinclair/typebox";
import { about, closed } from "../validation/fields.ts";
import type { EventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer } from "./example-people.ts";
import { Person } from "./person.ts";

const payload = closed({
  broadcaster: about(Person, "Whose channel it is."),
  follower: about(Person, "Who follows it."),
});

export type ChannelFollowed = Static<typeof payload>;

export const channelFollowed: EventType<typeof payload> = {
  name: "channel.followed",
  version: 1,
  description: "A user started to follow a channel.",
  payload,
  example: { broadcaster: exampleBroadcaster, follower: exampleViewer },
  timeToLiveMs: null,
};
