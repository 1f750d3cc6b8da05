import { type Static, Type } from "@sinclair/typebox";
import { Count, closed, Id, nullable, text, Url } from "../fields.ts";

const Badge = closed({
  text: text(100),
  type: Type.String({ minLength: 1, maxLength: 50 }),
  count: Type.Optional(Count),
});

const Identity = closed(
  {
    username_color: Type.String({
      pattern: "^#[0-9A-Fa-f]{6}$",
      errorMessage: "must be a colour like #FF5733",
    }),
    badges: Type.Array(Badge, { maxItems: 50 }),
  },
  { description: "How the person appears in this channel's chat." },
);

const Username = Type.String({
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  errorMessage: "must be 1 to 64 of the characters A-Z a-z 0-9 _ -",
});

const named = {
  user_id: Id,
  username: Username,
  is_verified: Type.Boolean(),
  profile_picture: Url,
  channel_slug: text(100),
};

/** A person who is named in a payload. Never anonymous, so that nobody hidden is named by mistake. */
export const Person = closed({
  is_anonymous: Type.Literal(false),
  ...named,
  identity: nullable(Identity),
});
export type Person = Static<typeof Person>;

/** The same where nobody can be anonymous: what is left out on the way in is left out of what is sent. */
export const NamedPerson = closed({
  is_anonymous: Type.Optional(Type.Literal(false)),
  ...named,
  identity: Type.Optional(nullable(Identity)),
});
export type NamedPerson = Static<typeof NamedPerson>;

/** A person who chose to stay hidden: everything but `is_anonymous` is null. */
export const AnonymousPerson = closed({
  is_anonymous: Type.Literal(true),
  user_id: Type.Null(),
  username: Type.Null(),
  is_verified: Type.Null(),
  profile_picture: Type.Null(),
  channel_slug: Type.Null(),
  identity: Type.Null(),
});
export type AnonymousPerson = Static<typeof AnonymousPerson>;

/** `is_anonymous` tells which of the two it is. */
export const PossiblyAnonymousPerson = Type.Union([Person, AnonymousPerson]);
export type PossiblyAnonymousPerson = Static<typeof PossiblyAnonymousPerson>;
