/*
 * A program: publishes one event after another to the server on the usual ports of this machine, which may be away at
 * times, until standard input ends. It receives the webhooks of one application. Those of another one are pending until
 * the end: only then does it get the URL of a receiver. Prints a line for each event that was acknowledged, and at the
 * end which of them did not arrive at both.
 */
export {};

const [key = ""] = process.argv.slice(2);
const [publicUrl, adminUrl] = ["http://127.0.0.1:8080", "http://127.0.0.1:8081"];
const longestMs = 60_000;

interface Answer {
  readonly id: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly access_token: string;
}

async function send(method: string, url: string, bearer: string, body: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
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

/** The numbers of the events that arrived, by the path of the application. */
const arrived = { "/prompt": new Set<number>(), "/late": new Set<number>() };
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { data } = (await request.json()) as { data: { follower: { user_id: number } } };
    arrived[new URL(request.url).pathname as keyof typeof arrived].add(data.follower.user_id);
    return new Response(null, { status: 204 });
  },
});
const receiverUrl = `http://127.0.0.1:${receiver.port}`;

const headers = { authorization: `Bearer ${key}`, "content-type": "application/x-ndjson" };
const body = '{"id": 1001, "username": "user1001"}';
await fetch(`${adminUrl}/admin/v1/users/batch`, { method: "POST", headers, body });

/** Creates an application that subscribes to the events. Returns its id. */
async function subscriber(name: string, webhook_url: string): Promise<string> {
  const application = await send("POST", `${adminUrl}/admin/v1/applications`, key, { name, webhook_url });
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  form.set("client_id", application.client_id);
  form.set("client_secret", application.client_secret);
  const { access_token } = (await (
    await fetch(`${publicUrl}/oauth/token`, { method: "POST", body: form })
  ).json()) as Answer;
  const events = [{ name: "channel.followed", version: 1 }];
  await send("POST", `${publicUrl}/public/v1/events/subscriptions`, access_token, {
    events,
    broadcaster_user_id: 1001,
  });
  return application.id;
}

await subscriber("Bot", `${receiverUrl}/prompt`);
// Nothing listens there.
const late = await subscriber("Late bot", "http://127.0.0.1:9/");

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
    isPublished = await send("POST", `${adminUrl}/admin/v1/events`, key, event).then(
      () => true,
      () => false,
    );
    if (isPublished) {
      acknowledged.push(i);
      process.stdout.write(`acknowledged ${i}\n`);
    }
  }
}

const wereEarly = arrived["/late"].size;
await send("PATCH", `${adminUrl}/admin/v1/applications/${late}`, key, { webhook_url: `${receiverUrl}/late` });
const missing = () =>
  Object.entries(arrived).flatMap(([path, numbers]) =>
    acknowledged.filter((i) => !numbers.has(i)).map((i) => `${i} at ${path}`),
  );
const endsAt = Date.now() + longestMs;
while (missing().length > 0 && Date.now() < endsAt) await Bun.sleep(10);
process.stdout.write(
  `${JSON.stringify({ acknowledged: acknowledged.length, wereEarly, missing: missing() })}\n`,
);
process.exit();
