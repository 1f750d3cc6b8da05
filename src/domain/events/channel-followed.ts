import { about, closed } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer } from "./example-people.ts";
import { Person } from "./person.ts";

export const channelFollowed = eventType({
  name: "channel.followed",
  version: 1,
  description: "A user started to follow a channel.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    follower: about(Person, "The user who follows the channel."),
  }),
  example: { broadcaster: exampleBroadcaster, follower: exampleViewer },
  timeToLiveMs: null,
});
