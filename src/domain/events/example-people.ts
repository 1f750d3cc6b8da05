import { exampleChannel, exampleUser } from "../examples.ts";
import type { NamedPerson, Person } from "./person.ts";

/** The broadcaster of the examples. */
export const exampleBroadcaster: Person = {
  is_anonymous: false,
  user_id: exampleUser.id,
  username: exampleUser.username,
  is_verified: exampleUser.is_verified,
  profile_picture: `https://images.example.com/users/${exampleUser.id}/picture.webp`,
  channel_slug: exampleChannel.slug,
  identity: null,
};

/** The viewer of the examples, who follows, chats, subscribes and gives. */
export const exampleViewer: Person = {
  is_anonymous: false,
  user_id: 1195,
  username: "ninja_fox",
  is_verified: true,
  profile_picture: "https://images.example.com/users/1195/picture.webp",
  channel_slug: "ninja-fox",
  identity: null,
};

/** The second viewer of the examples, who gets replies and gifts, and moderates. */
export const exampleSecondViewer: Person = {
  is_anonymous: false,
  user_id: 1098,
  username: "haneul",
  is_verified: true,
  profile_picture: "https://images.example.com/users/1098/picture.webp",
  channel_slug: "haneul",
  identity: null,
};

/** A person without `is_anonymous` and `identity`, for the events that have neither. */
export function withoutIdentity({ is_anonymous, identity, ...person }: Person): NamedPerson {
  return person;
}
