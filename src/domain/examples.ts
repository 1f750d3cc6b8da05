import type { ChannelInput } from "./livestreams.ts";
import type { UserInput } from "./users.ts";

/*
 * The examples in API references, answers and events. They are records of the sample platform of `onair dev`, so that
 * copied requests find them there.
 */

/** The best known user of the sample platform. */
export const exampleUser: Required<UserInput> = {
  id: 1001,
  username: "LunaBytes",
  display_name: "Luna Bytes",
  bio: "Writes games, plays games, breaks games. Live most evenings.",
  profile_picture: null,
  followers_count: 2_644_350,
  following_count: 129,
  is_verified: true,
  created_at: "2016-02-29T20:45:39.000Z",
};

/** The channel of that user. */
export const exampleChannel: Required<ChannelInput> = {
  id: 5001,
  user_id: exampleUser.id,
  slug: "lunabytes",
  name: "Luna Bytes",
  profile_image: null,
};

export const exampleCategory = {
  id: 2,
  name: "Deepwinter",
  slug: "deepwinter",
  icon: null,
  banner: null,
  description: "Keep a village alive through a winter that will not end.",
  tags: [
    { id: 3, name: "Survival" },
    { id: 4, name: "Open World" },
  ],
};
