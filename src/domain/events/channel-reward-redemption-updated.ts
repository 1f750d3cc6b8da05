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
    user_input: text(2000, { description: 'What the redeemer wrote; "" where nothing was asked.' }),
    status: Type.Union([Type.Literal("pending"), Type.Literal("accepted"), Type.Literal("rejected")], {
      description: "What became of it.",
    }),
    redeemed_at: about(Timestamp, "When it was redeemed."),
    reward: closed(
      {
        id: about(Key, "Id of the reward."),
        title: text(200, { description: "What it is called." }),
        cost: about(Count, "What it costs, in points of the channel."),
        description: text(2000, { description: "What one gets." }),
      },
      { description: "What was redeemed." },
    ),
    redeemer: about(NamedPerson, "Who redeemed it."),
    broadcaster: about(NamedPerson, "Whose channel it is."),
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
