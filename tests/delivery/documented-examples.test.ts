import { expect, test } from "bun:test";
import { publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";

/*
 * The examples in Kick's documentation of two events, whose people have neither `is_anonymous` nor `identity`
 * (https://docs.kick.com/events/event-types). They are taken as they are, and sent as they are.
 */
const person = (user_id: number, username: string, is_verified: boolean, profile_picture: string) => ({
  user_id,
  username,
  is_verified,
  profile_picture,
  channel_slug: `${username}_channel`,
});
const avatar = (of: string) => `https://example.com/${of}_avatar.jpg`;

const examples: Record<string, Record<string, unknown>> = {
  "kicks.gifted": {
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
  "channel.reward.redemption.updated": {
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
};

const receiver = testReceiver();
const server = await testServer({ users });
const app = await server.application({ webhook_url: receiver.url });
await subscribe(server, app, Object.keys(examples));

const publishing = (name: string, data: unknown) =>
  publish(server, { name, version: 1, broadcaster_user_id: 1001, data });

const names = Object.keys(examples);
test.each(names)("%s: the documented example is accepted and sent unchanged", async (name) => {
  const sent = await receiver.next(() => publishing(name, examples[name]));
  const { data } = JSON.parse(sent?.body ?? "{}");
  expect(data).toEqual(examples[name]);
  expect(Object.keys(data.broadcaster)).toEqual([
    "user_id",
    "username",
    "is_verified",
    "profile_picture",
    "channel_slug",
  ]);
});

test.each(names)("%s: is_anonymous and identity are sent if the platform gives them", async (name) => {
  const example = examples[name] ?? {};
  const broadcaster = { is_anonymous: false, ...(example["broadcaster"] as object), identity: null };
  const sent = await receiver.next(() => publishing(name, { ...example, broadcaster }));
  expect(JSON.parse(sent?.body ?? "{}").data.broadcaster).toEqual(broadcaster);
});

test.each(names)(
  "%s: an anonymous person with a name, and a person without a field, are refused",
  async (name) => {
    const example = examples[name] ?? {};
    const broadcaster = example["broadcaster"] as Record<string, unknown>;
    const { channel_slug, ...without } = broadcaster;
    for (const [wrong, field] of [
      [{ ...broadcaster, is_anonymous: true }, "data.broadcaster.is_anonymous"],
      [{ ...broadcaster, is_anonymous: null }, "data.broadcaster.is_anonymous"],
      [{ ...broadcaster, identity: "x" }, "data.broadcaster.identity"],
      [without, "data.broadcaster.channel_slug"],
    ] as const) {
      const { status, body } = await publishing(name, { ...example, broadcaster: wrong });
      expect([status, body["errors"]]).toMatchObject([400, [{ field }]]);
    }
  },
);

test.each(names)("%s: the schema and the example of the catalogue have these fields", async (name) => {
  const answer = await server.get("/public/v1/events/types");
  const { data } = await json<{
    data: {
      name: string;
      schema: { properties: Record<string, { required: string[] }> };
      example: Record<string, object>;
    }[];
  }>(answer);
  const type = data.find((one) => one.name === name);
  expect(type?.schema.properties["broadcaster"]?.required).toEqual([
    "user_id",
    "username",
    "is_verified",
    "profile_picture",
    "channel_slug",
  ]);
  expect(type?.example["broadcaster"]).not.toHaveProperty("identity");
});
