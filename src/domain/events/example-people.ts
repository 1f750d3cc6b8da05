import { exampleChannel, exampleUser } from "../examples.ts";
import type { NamedPerson, Person } from "./person.ts";

/** Whose channel the examples play in. All of these people are users of the sample platform of `onair dev`. */
export const exampleBroadcaster: Person = {
  is_anonymous: false,
  user_id: exampleUser.id,
  username: exampleUser.username,
  is_verified: exampleUser.is_verified,
  profile_picture: `https://images.example.com/users/${exampleUser.id}/picture.webp`,
  channel_slug: exampleChannel.slug,
  identity: null,
};

/** Who follows, chats, subscribes and gives in the examples. */
export const exampleViewer: Person = {
  is_anonymous: false,
  user_id: 1195,
  username: "ninja_fox",
  is_verified: true,
  profile_picture: "https://images.example.com/users/1195/picture.webp",
  channel_slug: "ninja-fox",
  identity: null,
};

/** Whom the viewer answers, gives to, or is moderated by in the examples. */
export const exampleSecondViewer: Person = {
  is_anonymous: false,
  user_id: 1098,
  username: "haneul",
  is_verified: true,
  profile_picture: "https://images.example.com/users/1098/picture.webp",
  channel_slug: "haneul",
  identity: null,
};

/** A person as in events whose people have neither `is_anonymous` nor `identity`. */
export function withoutIdentity({ is_anonymous, identity, ...person }: Person): NamedPerson {
  return person;
}
