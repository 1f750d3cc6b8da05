import { describe, expect, test } from "bun:test";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { run } from "../support/process.ts";
import { subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import { adminKey, ownDirectory, ownServer, startServer, testServer } from "../support/server.ts";

const server = await testServer({ users });
const receiver = testReceiver();
const app = await server.application({ webhook_url: receiver.url });
await subscribe(
  server,
  app,
  builtInEventTypes.map(({ name }) => name),
  1002,
);

const trigger = (...args: string[]) =>
  run(["trigger", ...args, "--url", server.adminUrl], { env: { ONAIR_ADMIN_KEY: adminKey } });

describe("onair trigger", () => {
  test("publishes the sample event for the broadcaster with the given changes, and it is delivered", async () => {
    const { code, stdout } = await trigger(
      "chat.message.sent",
      "--broadcaster",
      "1002",
      "--set",
      "content=Hello there",
      "--set",
      "sender.username=maya",
    );
    expect(code).toBe(0);
    const user = users.find(({ id }) => id === 1002);
    expect(stdout).toContain(`chat.message.sent of ${user?.username} (1002) is published as `);
    expect(stdout).toContain("for 1 subscription\n");
    const [sent] = await receiver.arrived(1);
    expect(JSON.parse(sent?.body ?? "")).toMatchObject({
      type: "chat.message.sent",
      data: {
        broadcaster: { user_id: 1002, username: user?.username },
        sender: { username: "maya" },
        content: "Hello there",
      },
    });
  });

  test("says how many applications leave the event out by their filter", async () => {
    const filtering = await server.application({
      webhook_url: receiver.url,
      filters: { "channel.followed": { follower: { username: "nobody_else" } } },
    });
    await subscribe(server, filtering, ["channel.followed"], 1003);
    const { stdout } = await trigger("channel.followed", "--broadcaster", "1003");
    expect(stdout).toEndWith("for 0 subscriptions; filters leave it out for 1 other\n");
    const matching = ["--set", "follower.username=nobody_else", "--json"];
    const answer = await trigger("channel.followed", "--broadcaster", "1003", ...matching);
    expect(JSON.parse(answer.stdout)).toMatchObject({ deliveries: 1, filtered: 0 });
  });

  test("the broadcaster has the picture that the public API shows: the own one, or the default", async () => {
    const own = "https://images.example.com/own.webp";
    for (const [picture, shown] of [
      [own, own],
      [null, `${server.publicUrl}/assets/profile-picture.png`],
    ]) {
      await server.load("users", [{ id: 1003, username: "pictured", profile_picture: picture }]);
      const { stdout } = await trigger("channel.followed", "--json", "--broadcaster", "pictured");
      expect(JSON.parse(stdout).data.broadcaster).toMatchObject({ user_id: 1003, profile_picture: shown });
    }
  });

  test("--count publishes so many events, each with an id of its own", async () => {
    const { code, stdout } = await trigger("kicks.gifted", "--broadcaster", "1002", "--count", "3", "--json");
    const ids = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id);
    expect([code, new Set(ids).size]).toEqual([0, 3]);
  });

  test.each(builtInEventTypes.map(({ name }) => name))(
    "%s fits its type in anybody's channel",
    async (name) => {
      const { code, stdout } = await trigger(name, "--json", "--set", "broadcaster.user_id=1002");
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        deliveries: 1,
        name,
        broadcaster_user_id: 1002,
        data: { broadcaster: { user_id: 1002 } },
      });
    },
  );

  test("uses the platform's first user by default, and says when there is no subscription", async () => {
    const { code, stdout } = await trigger("channel.followed");
    expect(code).toBe(0);
    expect(stdout).toContain("(1001) is published as ");
    expect(stdout).toContain("No application has subscribed to this event of this broadcaster");
  });

  test("as `events trigger` is the same, and the broadcaster's username may be in any case", async () => {
    const username = users.find(({ id }) => id === 1002)?.username ?? "";
    const args = ["trigger", "channel.followed", "--broadcaster", username.toUpperCase()];
    const result = await run(["events", "--url", server.adminUrl, ...args], {
      env: { ONAIR_ADMIN_KEY: adminKey },
    });
    expect([result.code, result.stdout]).toEqual([
      0,
      expect.stringContaining(`of ${username} (1002) is published`),
    ]);
  });

  test("accepts registered types and uses the newest version", async () => {
    for (const version of [1, 2]) {
      const example = { winner: `winner of ${version}` };
      await server.admin("PUT", "/admin/v1/event-types/raffle.won", {
        version,
        schema: { type: "object" },
        example,
      });
    }
    const newest = await trigger("raffle.won", "--json", "--set", "tickets=3");
    expect(JSON.parse(newest.stdout)).toMatchObject({
      version: 2,
      data: { winner: "winner of 2", tickets: 3 },
    });
    const first = await trigger("raffle.won", "--json", "--version", "1");
    expect(JSON.parse(first.stdout)).toMatchObject({ version: 1, data: { winner: "winner of 1" } });
  });

  test("events types lists registered ones of a given server", async () => {
    const type = { version: 1, schema: { type: "object" }, example: { color: "red" } };
    await server.admin("PUT", "/admin/v1/event-types/light.changed", type);
    const env = { ONAIR_ADMIN_KEY: adminKey };
    const listed = await run(["events", "types", "--url", server.adminUrl], { env });
    expect(listed.stdout).toMatch(/^channel\.followed +1 /m);
    expect(listed.stdout).toMatch(/^light\.changed +1/m);
    expect((await run(["events", "types"])).stdout).not.toContain("light.changed");
  });

  test("a developer, who has no platform, is told how to get a sample", async () => {
    const { code, stderr } = await run(["trigger", "channel.followed"], { cwd: ownDirectory() });
    expect([code, stderr]).toEqual([2, expect.stringContaining("onair test channel.followed. To a program")]);
    const typing = await run(["trigger", "channel.folowed", "--data", ownDirectory()]);
    expect(typing.stderr).not.toContain("onair test");
  });

  test("publishes into a directory without a server, and the next server sends it", async () => {
    const data = ownDirectory();
    const first = await startServer({ data });
    await first.load("users", users);
    const late = ownReceiver();
    await subscribe(first, await first.application({ webhook_url: late.url }), ["channel.followed"]);
    await first.stop();
    const { code, stdout } = await run(["events", "trigger", "channel.followed", "--data", data]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("for 1 subscription")]);
    await ownServer({ data });
    await late.arrived(1);
  });

  test.each([
    [["no.such"], 2, "There is no event type no.such"],
    [["channel.followed", "--version", "7"], 2, "There is no version 7 of channel.followed"],
    [["channel.followed", "--set", "follower"], 2, "must be a path and a value"],
    [["channel.followed", "--set", "nobody.username=a"], 2, "there is no nobody"],
    [["channel.followed", "--set", "follower.username=a b"], 1, "--set follower.username must be"],
    [["channel.followed", "--set", "color=red"], 1, "--set color is not a field of channel.followed"],
    [["channel.followed", "--broadcaster", "xqc"], 2, 'there is no user "xqc". Did you mean xqcow?'],
    [
      ["channel.followed", "--broadcaster", "xqcow", "--forward", "http://127.0.0.1:1", "--secret", "x"],
      2,
      "--broadcaster must be a number",
    ],
    [["channel.followed", "--broadcaster", "999999"], 1, "There is no user with this id"],
    [["channel.followed", "--idempotency-key", "x"], 2, "--idempotency-key is not a known option"],
    [["channel.followed", "--once"], 2, "--secret and --once need --forward"],
    [["channel.followed", "--data", '{"follower": {}}'], 2, "use --set PATH=VALUE"],
    [[], 2, 'The type of the event, one of "onair events types", is missing'],
  ])("%p: exit code %i, %s", async (args, code, message) => {
    const before = receiver.received.length;
    const answer = await trigger(...args);
    expect([answer.code, answer.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(receiver.received.length).toBe(before);
  });
});
