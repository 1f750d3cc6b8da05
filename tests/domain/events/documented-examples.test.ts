import { expect, test } from "bun:test";
import { findEventType } from "../../../src/domain/events/built-in.ts";
import { checkPayload } from "../../../src/domain/events/catalogue.ts";

/*
 * The examples in Kick's documentation of two events, whose people have neither `is_anonymous` nor `identity`
 * (https://docs.kick.com/events/event-types). They are taken as they are.
 */
const person = (user_id: number, username: string, is_verified: boolean, profile_picture: string) => ({
  user_id,
  username,
  is_verified,
  profile_picture,
  channel_slug: `${username}_channel`,
});
const avatar = (of: string) => `https://example.com/${of}_avatar.jpg`;

const examples: readonly (readonly [
  string,
  { readonly broadcaster: object; readonly [field: string]: unknown },
])[] = [
  [
    "kicks.gifted",
    {
      broadcaster: person(123456789, "broadcaster_name", true, avatar("broadcaster")),
      sender: person(987654321, "gift_sender", false, avatar("sender")),
      gift: {
        amount: 500,
        name: "Rage Quit",
        type: "LEVEL_UP",
        tier: "MID",
        message: "w",
        pinned_time_seconds: 600,
      },
      created_at: "2025-10-20T04:00:08.634Z",
    },
  ],
  [
    "channel.reward.redemption.updated",
    {
      id: "01KBHE78QE4HZY1617DK5FC7YD",
      user_input: "unban me",
      status: "rejected",
      redeemed_at: "2025-12-02T22:54:19.323Z",
      reward: {
        id: "01KBHE7RZNHB0SKDV1H86CD4F3",
        title: "Uban Request",
        cost: 1000,
        description: "Only good reasons pls",
      },
      redeemer: person(123, "naughty-user", false, ""),
      broadcaster: person(333, "gigachad", true, ""),
    },
  ],
];

test.each(examples)(
  "%s: the documented example fits, with or without is_anonymous and identity",
  (name, example) => {
    const type = findEventType(name, 1);
    if (!type) throw new Error(`there is no ${name}`);
    const fieldsOf = (broadcaster: object) =>
      checkPayload(type, { ...example, broadcaster }).map(({ field }) => field);
    const { broadcaster } = example;
    expect(fieldsOf(broadcaster)).toEqual([]);
    expect(fieldsOf({ is_anonymous: false, ...broadcaster, identity: null })).toEqual([]);
    expect(fieldsOf({ ...broadcaster, is_anonymous: true })).toEqual(["data.broadcaster.is_anonymous"]);
    expect(fieldsOf({ ...broadcaster, is_anonymous: null })).toEqual(["data.broadcaster.is_anonymous"]);
    expect(fieldsOf({ ...broadcaster, identity: "x" })).toEqual(["data.broadcaster.identity"]);
    expect(fieldsOf({ ...broadcaster, channel_slug: undefined })).toEqual(["data.broadcaster.channel_slug"]);
    expect(Object.keys((type.example as { broadcaster: object }).broadcaster)).toEqual(
      Object.keys(broadcaster),
    );
  },
);
