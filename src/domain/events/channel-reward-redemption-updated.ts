import { Type } from "@sinclair/typebox";
import { about, Count, closed, Key, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer, withoutIdentity } from "./example-people.ts";
import { NamedPerson } from "./person.ts";

export const channelRewardRedemptionUpdated = eventType({
  name: "channel.reward.redemption.updated",
  version: 1,
  description: "A channel reward was redeemed, or its redemption was accepted or rejected.",
  payload: closed({
    id: about(Key, "Id of the redemption."),
    user_input: text(2000, { description: 'Text entered by the redeemer; "" if the reward asks for none.' }),
    status: Type.Union([Type.Literal("pending"), Type.Literal("accepted"), Type.Literal("rejected")], {
      description: "State of the redemption.",
    }),
    redeemed_at: about(Timestamp, "When the reward was redeemed."),
    reward: closed(
      {
        id: about(Key, "Id of the reward."),
        title: text(200, { description: "Title of the reward." }),
        cost: about(Count, "Price of the reward in channel points."),
        description: text(2000, { description: "Description of the reward." }),
      },
      { description: "The redeemed reward." },
    ),
    redeemer: about(NamedPerson, "The user who redeemed the reward."),
    broadcaster: about(NamedPerson, "The owner of the channel."),
  }),
  example: {
    id: "01KEYN2Q9GZ4T7RFDX6M8V3BHC",
    user_input: "The one with the trumpet, please",
    status: "accepted",
    redeemed_at: "2026-01-14T16:08:06.412Z",
    reward: {
      id: "01KEYMZ5W1C8PNA2J4S0YQ7TKE",
      title: "Choose the next song",
      cost: 1500,
      description: "Name a song and it plays after this round.",
    },
    redeemer: withoutIdentity(exampleViewer),
    broadcaster: withoutIdentity(exampleBroadcaster),
  },
  timeToLiveMs: null,
});
