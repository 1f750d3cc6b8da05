import { beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { afterTests } from "../support/after-tests.ts";
import { expectFailure, printedJson, run } from "../support/process.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import {
  adminKey,
  startServer,
  type TestApplication,
  type TestServer,
  testDirectory,
} from "../support/server.ts";

const directory = testDirectory();
const env = { ONAIR_ADMIN_KEY: adminKey, ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" };
/** Until it resolves, nothing is answered. */
let answering = Promise.resolve();
const receiver = testReceiver(async () => {
  await answering;
  return new Response("an \u001b[31mangry\nanswer", { status });
});
let status = 500;
let server: TestServer;
let app: TestApplication;
let to: string[];

beforeAll(async () => {
  server = await startServer({ data: directory });
  to = ["--url", server.adminUrl];
  await server.load("users", users);
  app = await server.application({ name: "Gift bot", webhook_url: receiver.url });
  await subscribe(server, app, ["kicks.gifted"]);
  await publish(server, event("kicks.gifted"));
  await receiver.arrived(1);
  await settled(server);
});
afterTests(() => server.stop());

const onair = (...args: string[]) => run(["deliveries", ...args, ...to], { env });
const answered = <T>(...args: string[]) => printedJson<T>(["deliveries", ...args, ...to], { env });
interface Delivery {
  id: string;
  event_id: string;
  app_id: string;
  status: string;
  attempts: { status: number }[];
}
const first = async () => (await answered<{ data: Delivery[] }>("list")).data[0] as Delivery;
const range = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"];

test("show --forward sends a past delivery to a local program: the same id and body, a new time and signature", async () => {
  const { id } = await first();
  const secret = `whsec_${btoa("b".repeat(32))}`;
  const local = ownReceiver(() => new Response("done"));
  const { code, stdout } = await onair("show", id, "--forward", local.url, "--secret", secret);
  expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${id} → 200 in \\d+ ms: done\n$`))]);
  const [sent] = local.received;
  expect(new Webhook(secret).verify(sent?.body ?? "", sent?.headers ?? {})).toMatchObject({
    type: "kicks.gifted",
  });
  expect(sent?.headers["webhook-id"]).toBe(id);
  expect(sent?.body).toBe(receiver.received[0]?.body ?? "");
  const refusing = ownReceiver(() => new Response(null, { status: 401 }));
  const refused = await onair("show", id, "--forward", refusing.url);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/signed with whsec_\S+ /)]);
  expect(refused.stderr).toContain("It probably verifies with another secret.");
  expectFailure(await onair("show", id, "--secret", secret), 2, "--secret needs --forward");
});

test("an empty list says which type is meant, also for one of Twitch", async () => {
  const { code, stderr } = await onair("list", "--type", "stream.online");
  expect([code, stderr]).toEqual([
    0,
    "There are no such deliveries. Did you mean livestream.status.updated?\n",
  ]);
});

test("list prints each delivery's outcome, show prints the whole exchange, and neither prints a secret", async () => {
  const { id } = await first();
  const listed = await onair("list", "--application", app.id, "--status", "pending");
  expect(listed.stdout).toMatch(
    new RegExp(`^ID .*\\n${id} +pending +500 +kicks.gifted +xqcow +1 +\\S+Z +Gift bot\\n$`),
  );
  expect(await first()).toMatchObject({ app_id: app.id, app_name: "Gift bot" });
  expect((await onair("list", "--application", "gift BOT")).stdout).toContain(id);
  expectFailure(await onair("list", "--application", "gift bit"), 1, "Did you mean Gift bot?");
  const none = await onair("list", "--status", "failed");
  expect(none.stdout).toBe("");
  expect(none.stderr).toContain(
    "There are no such deliveries. A delivery that will be attempted again is pending",
  );
  const shown = (await onair("show", id)).stdout;
  const exchange = ["The answer was 500.", "an  [31mangry answer", "webhook-id", '"type":"kicks.gifted"'];
  for (const part of [...exchange, `POST ${receiver.url}\n`]) expect(shown).toContain(part);
  expect(shown).toMatch(/^webhook-signature +v1,/m);
  expect(shown).toMatch(/^Headers of the last response:\n(.+\n)*content-type +text\/plain/m);
  for (const secret of [app.webhook_secret, app.client_secret, app.token, "\u001b"])
    expect(shown).not.toContain(secret);
});

test("list --event prints the deliveries of one event", async () => {
  const { event_id } = await first();
  expect((await answered<{ data: Delivery[] }>("list", "--event", event_id)).data).toEqual([await first()]);
  expect((await onair("list", "--event", "lost")).stderr).toBe("There are no such deliveries.\n");
  expect((await onair("list", "--event", "channel.followed")).stderr).toContain(
    "for an event type, use --type channel.followed",
  );
});

test("a replay of what was missed says why it found nothing, and how to send what is pending", async () => {
  const told = await onair("replay", "--application", "Gift bot", "--since", "last_failure");
  expect(told.code).toBe(0);
  expect(told.stdout).toMatch(/^state +completed$/m);
  expect(told.stderr).toMatch(/^Nothing is missed .*: 1 failed and is pending again, next at 20\S+Z\.$/m);
  const advice =
    / replay --application \S+ --from \S+ --status failing --url \S+$/m.exec(told.stderr)?.[0] ?? "";
  const before = receiver.received.length;
  await printedJson(["deliveries", ...advice.trim().split(" ")], { env });
  await receiver.arrived(before + 1);
  await settled(server);
});

test("retry and replay send again", async () => {
  status = 204;
  const { id } = await first();
  const before = receiver.received.length;
  expect(await answered<Delivery>("retry", id)).toMatchObject({ id, status: "pending" });
  await receiver.arrived(before + 1);
  await settled(server);
  expect(await first()).toMatchObject({ status: "delivered" });
  const now = Date.now();
  const at = (ms: number) => new Date(now + ms).toISOString();
  const asked = ["--application", app.id, "--from", at(-60_000), "--to", at(60_000)];
  const missed = await answered<object>("replay", ...asked, "--dry-run");
  expect(missed).toMatchObject({ state: "completed", status: "missed", queued: 0 });
  const why = await onair("replay", ...asked, "--dry-run");
  expect(why.stderr).toContain(": 1 failed and arrived later.");
  asked.push("--status", "any");
  const counted = await answered<object>("replay", ...asked, "--dry-run");
  expect(counted).toMatchObject({ state: "completed", queued: 1, app_id: app.id });
  const told = await onair("replay", ...asked, "--dry-run");
  expect(told.stdout).toMatch(/^would_be_queued +1$/m);
  expect(told.stdout).not.toMatch(/^queued/m);
  expect((await onair("list", "--limit", "1")).stdout).toMatch(/ delivered +204 /);
  const { promise, resolve } = Promise.withResolvers<void>();
  answering = promise;
  const made = await answered<{ id: string }>("replay", ...asked);
  await receiver.arrived(before + 2);
  // Its earlier answer is not taken for that of the attempt that is being made.
  expect((await onair("list", "--limit", "1")).stdout).toMatch(/ pending +sent before: 204 /);
  resolve();
  const { stdout } = await onair("replay", made.id);
  expect(stdout).toMatch(/matched +1\n/);
  expect(await answered<object>("replay", made.id, "--cancel")).toMatchObject({ id: made.id });
});

describe("wrong usage is reported and changes nothing", () => {
  test.each<[string[], string]>([
    [[], "The action must be one of list, show, retry, replay"],
    [["lost"], "The action must be one of"],
    [["show"], "The id of the delivery is missing"],
    [["list", "x"], '"x" is not expected here'],
    [["list", "--from", "x"], "--from is not for list"],
    [["list", "--status", "faild"], 'any, not "faild". Did you mean failed?'],
    [["retry", "x", "--dry-run"], "--dry-run is not for retry"],
    [["replay"], "--application is needed, and --from or --since"],
    [["replay", "--cancel"], "--cancel needs the id of a replay"],
    [["replay", "x", ...range], "The id of a replay excludes"],
  ])("%j", async (args, message) => {
    expectFailure(await onair(...args), 2, message);
  });

  test.each<[string[], string]>([
    [["show", "x"], "There is no delivery with this id"],
    [["list", "--application", "01KATHZX5M9S3E6R8B2D4F7G1H"], "--application is not an application"],
    [["replay", "--application", "x", ...range], 'There is no application "x"'],
    [["replay", "x"], "There is no replay with this id"],
  ])("%j is refused by the server", async (args, message) => {
    expectFailure(await onair(...args), 1, message);
  });
});

test("in a data directory without a server, a retried delivery waits for the next start", async () => {
  const { id } = await first();
  await server.stop();
  to = ["--data", directory];
  const before = receiver.received.length;
  expect(await answered<Delivery>("retry", id)).toMatchObject({ id, status: "pending" });
  expect(receiver.received.length).toBe(before);
  server = await startServer({ data: directory });
  await receiver.arrived(before + 1);
});
