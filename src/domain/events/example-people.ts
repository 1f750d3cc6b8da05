import type { NamedPerson, Person } from "./person.ts";

/** Whose channel the examples play in. */
export const exampleBroadcaster: Person = {
  is_anonymous: false,
  user_id: 4820113,
  username: "MayaPlays",
  is_verified: true,
  profile_picture: "https://images.example.com/users/4820113/picture.webp",
  channel_slug: "mayaplays",
  identity: null,
};

/** Who follows, chats, subscribes and gives in the examples. */
export const exampleViewer: Person = {
  is_anonymous: false,
  user_id: 7351942,
  username: "quiet_otter",
  is_verified: false,
  profile_picture: "https://images.example.com/users/7351942/picture.webp",
  channel_slug: "quiet-otter",
  identity: null,
};

/** Whom the viewer answers, gives to, or is moderated by in the examples. */
export const exampleSecondViewer: Person = {
  is_anonymous: false,
  user_id: 5098277,
  username: "TomasR",
  is_verified: false,
  profile_picture: "https://images.example.com/users/5098277/picture.webp",
  channel_slug: "tomasr",
  identity: null,
};

/** A person as in events whose people have neither `is_anonymous` nor `identity`. */
export function withoutIdentity({ is_anonymous, identity, ...person }: Person): NamedPerson {
  return person;
}
