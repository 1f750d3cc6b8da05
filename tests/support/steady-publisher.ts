/*
 * A program: publishes one event after another to the server on the usual ports of this machine, which may be away at
 * times, and receives their webhooks, until standard input ends. Prints a line for each event that was acknowledged,
 * and at the end which of them did not arrive.
 */
export {};

const [key = ""] = process.argv.slice(2);
const [publicUrl, adminUrl] = ["http://127.0.0.1:8080", "http://127.0.0.1:8081"];
const longestMs = 60_000;

interface Answer {
  readonly client_id: string;
  readonly client_secret: string;
  readonly access_token: string;
}

async function post(url: string, bearer: string, body: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

const person = (user_id: number) => ({
  is_anonymous: false,
  user_id,
  username: `user${user_id}`,
  is_verified: false,
  profile_picture: "",
  channel_slug: `user${user_id}`,
  identity: null,
});

const arrived = new Set<number>();
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { data } = (await request.json()) as { data: { follower: { user_id: number } } };
    arrived.add(data.follower.user_id);
    return new Response(null, { status: 204 });
  },
});

const headers = { authorization: `Bearer ${key}`, "content-type": "application/x-ndjson" };
const body = '{"id": 1001, "username": "user1001"}';
await fetch(`${adminUrl}/admin/v1/users/batch`, { method: "POST", headers, body });
const webhook_url = `http://127.0.0.1:${receiver.port}/webhook`;
const application = await post(`${adminUrl}/admin/v1/applications`, key, { name: "Bot", webhook_url });
const form = new URLSearchParams({ grant_type: "client_credentials" });
form.set("client_id", application.client_id);
form.set("client_secret", application.client_secret);
const { access_token } = (await (
  await fetch(`${publicUrl}/oauth/token`, { method: "POST", body: form })
).json()) as Answer;
const events = [{ name: "channel.followed", version: 1 }];
await post(`${publicUrl}/public/v1/events/subscriptions`, access_token, {
  events,
  broadcaster_user_id: 1001,
});

let isDone = false;
const acknowledged: number[] = [];
process.stdin.on("end", () => {
  isDone = true;
});
process.stdin.resume();
for (let i = 1; !isDone; i++) {
  const data = { broadcaster: person(1001), follower: person(i) };
  const event = { id: `follow-${i}`, name: "channel.followed", version: 1, broadcaster_user_id: 1001, data };
  // Under one id, so that it may be asked again where nobody knows what became of it.
  for (let isPublished = false; !isPublished && !isDone; await Bun.sleep(5)) {
    isPublished = await post(`${adminUrl}/admin/v1/events`, key, event).then(
      () => true,
      () => false,
    );
    if (isPublished) {
      acknowledged.push(i);
      process.stdout.write(`acknowledged ${i}\n`);
    }
  }
}

const missing = () => acknowledged.filter((i) => !arrived.has(i));
const endsAt = Date.now() + longestMs;
while (missing().length > 0 && Date.now() < endsAt) await Bun.sleep(10);
process.stdout.write(`${JSON.stringify({ acknowledged: acknowledged.length, missing: missing() })}\n`);
process.exit();
