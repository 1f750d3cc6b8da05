import { type Static, Type } from "@sinclair/typebox";
import { exampleChannel, exampleUser } from "../examples.ts";
import { usernameForm } from "../users.ts";
import { about, Count, closed, Id, nullable, text, Url } from "../validation/fields.ts";

const Badge = closed({
  text: text(100, { description: "Text of the badge." }),
  type: Type.String({
    minLength: 1,
    maxLength: 50,
    description: "Type of the badge, for example `moderator`.",
  }),
  count: Type.Optional(about(Count, "Count of the badge, for example months of a subscription.")),
});

const Identity = closed(
  {
    username_color: Type.String({
      pattern: "^#[0-9A-Fa-f]{6}$",
      errorMessage: "must be a colour like #FF5733",
      description: "Colour of the username.",
    }),
    badges: Type.Array(Badge, { maxItems: 50, description: "Badges shown before the username." }),
  },
  { description: "How the person appears in this channel's chat." },
);

const named = {
  user_id: about(Id, "Id of the user."),
  username: Type.String({ ...usernameForm, description: "Username of the user." }),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
  profile_picture: about(Url, 'URL of the profile picture; "" for none.'),
  channel_slug: text(100, { description: "Slug of the user's channel." }),
};

/** A named person. `is_anonymous` must be false, so that no anonymous person is named by mistake. */
export const Person = closed({
  is_anonymous: Type.Literal(false, { description: "Always false: the person is named." }),
  ...named,
  identity: nullable(Identity, { description: "Appearance in chat; null outside of chat." }),
});
export type Person = Static<typeof Person>;

/** The same for events without anonymous people: fields that the platform omits are omitted in deliveries. */
export const NamedPerson = closed({
  is_anonymous: Type.Optional(Type.Literal(false, { description: "Always false: the person is named." })),
  ...named,
  identity: Type.Optional(nullable(Identity, { description: "Appearance in chat; null outside of chat." })),
});
export type NamedPerson = Static<typeof NamedPerson>;

const hidden = Type.Null({ description: "Always null." });

/** An anonymous person: everything but `is_anonymous` is null. */
const AnonymousPerson = closed({
  is_anonymous: Type.Literal(true, { description: "Always true: the person is anonymous." }),
  user_id: hidden,
  username: hidden,
  is_verified: hidden,
  profile_picture: hidden,
  channel_slug: hidden,
  identity: hidden,
});

/** `is_anonymous` decides which of the two it is. */
export const PossiblyAnonymousPerson = Type.Union([Person, AnonymousPerson]);

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
