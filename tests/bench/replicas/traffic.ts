import type { TestReplica } from "../../support/fault-run.ts";
import type { ServerProcess } from "../../support/process.ts";
import { event } from "../../support/publishing.ts";
import { livestreams, users } from "../../support/real-data.ts";
import { ndjson } from "../../support/rows.ts";
import { until } from "../../support/until.ts";

const pageSize = 7;
const categoryCount = 40;
const numbers = Array.from({ length: categoryCount }, (_, i) => i + 1);

/** Changes and reads at two replicas. */
interface Pair {
  readonly one: ServerProcess;
  readonly other: ServerProcess;
}

/**
 * Changes data at one running replica and reads it at another, in turn, until it is stopped: tokens, subscriptions,
 * events with an idempotency key, users, categories. `problems` describes every broken promise.
 */
export async function crossTraffic(replicas: readonly TestReplica[]) {
  const problems: string[] = [];
  const counts = { rounds: 0, brokenOff: 0 };
  let isStopping = false;
  let turn = 0;
  const pair = (): Pair | null => {
    const alive = replicas.filter(({ isRunning }) => isRunning);
    const [one, other] = [alive[turn % alive.length], alive[++turn % alive.length]];
    return one && other ? { one: one.server, other: other.server } : null;
  };
  const first = pair();
  if (!first) throw new Error("no replica runs");
  await prepare(first.one);
  const run = async () => {
    while (!isStopping) {
      await Bun.sleep(20);
      const both = pair();
      if (!both) continue;
      const isStill = () => replicas.filter(({ isRunning }) => isRunning).length;
      const before = isStill();
      try {
        await round(both);
        counts.rounds++;
      } catch (error) {
        // One of the two has stopped in between.
        const isGone = before !== isStill() || isConnection(error);
        if (isGone) counts.brokenOff++;
        else problems.push(String(error));
      }
    }
  };
  const running = run();
  return {
    counts,
    problems,
    async stop() {
      isStopping = true;
      await running;
    },
  };
}

const isConnection = (error: unknown) =>
  error instanceof Error &&
  /ECONNRE|ConnectionClosed|ConnectionRefused/.test(`${error.message} ${(error as { code?: string }).code}`);

async function prepare(server: ServerProcess): Promise<void> {
  const categories = numbers.map((id) => ({ id, name: `Category ${id}`, slug: `category-${id}` }));
  const channels = users.map(({ id, username }) => ({ id, user_id: id, slug: username, name: username }));
  await server.load("categories", categories);
  await server.load("channels", channels);
}

async function round({ one, other }: Pair): Promise<void> {
  const { id, client_id, client_secret } = await one.application({ name: "Traffic", delivery: "stream" });
  const form = (fields: object) => new URLSearchParams({ client_id, client_secret, ...fields });
  const tokens = fetch(`${other.publicUrl}/oauth/token`, {
    method: "POST",
    body: form({ grant_type: "client_credentials" }),
  });
  const { access_token: token } = await ok<{ access_token: string }>(tokens);
  await ok(one.get(`/public/v1/users/${users[0]?.username}`, token));

  const subscriptions = "/public/v1/events/subscriptions";
  const wanted = { events: [{ name: "chat.message.sent", version: 1 }], broadcaster_user_id: users[0]?.id };
  const created = await ok<{ data: { subscription_id: string }[] }>(one.post(subscriptions, wanted, token));
  const subscription = created.data[0]?.subscription_id ?? "";
  const listed = async (at: ServerProcess) => JSON.stringify(await ok(at.get(subscriptions, token)));
  if (!(await listed(other)).includes(subscription))
    throw new Error("a subscription is not at the other replica");
  await publishedOnce({ one, other }, `traffic-${id}`);
  await ok(other.send("DELETE", `${subscriptions}?id=${subscription}`, undefined, token));
  if ((await listed(one)).includes(subscription))
    throw new Error("a deleted subscription is at the other replica");

  await ok(other.admin("PUT", "/admin/v1/livestreams", shuffled()));
  await walk([one, other]);

  await ok(fetch(`${one.publicUrl}/oauth/revoke`, { method: "POST", body: form({ token }) }));
  await until(async () => (await other.get(subscriptions, token)).status === 401);
  await ok(other.admin("DELETE", `/admin/v1/applications/${id}`));
}

/** Throws if the other replica answers an event with an idempotency key differently from the first one. */
async function publishedOnce({ one, other }: Pair, key: string): Promise<void> {
  const body = event("chat.message.sent", { broadcaster_user_id: users[0]?.id });
  const published = (at: ServerProcess) =>
    at.admin("POST", "/admin/v1/events", body, { "idempotency-key": key });
  const first = await ok(published(one));
  const again = await published(other);
  const isReplayed = again.headers.get("idempotent-replayed") === "true";
  if (!isReplayed || !Bun.deepEquals(first, await again.json()))
    throw new Error(`an event under an idempotency key was published again: ${JSON.stringify(first)}`);
}

/** Random livestreams in random categories. */
function shuffled(): string {
  const rows = livestreams.map((one) => ({
    ...one,
    category_id: 1 + Math.floor(Math.random() * categoryCount),
    viewers: Math.floor(Math.random() * 1_000),
  }));
  return ndjson(rows);
}

/** Throws unless paging through the categories, at alternating replicas, shows each of them once. */
async function walk(at: readonly ServerProcess[]): Promise<void> {
  const seen: number[] = [];
  let cursor = "";
  for (let n = 0; ; n++) {
    const page = await ok<{
      categories: { id: number }[];
      pagination: { cursor: string; has_more: boolean };
    }>(at[n % at.length]?.get(`/public/v1/categories?limit=${pageSize}${cursor && `&cursor=${cursor}`}`));
    seen.push(...page.categories.map(({ id }) => id));
    if (!page.pagination.has_more) break;
    cursor = page.pagination.cursor;
  }
  const once = seen.toSorted((a, b) => a - b);
  if (!Bun.deepEquals(once, numbers)) throw new Error(`a walk through the categories showed ${seen}`);
}

async function ok<T>(request: Promise<Response> | undefined): Promise<T> {
  const answer = await request;
  if (answer?.ok) return (await answer.json().catch(() => null)) as T;
  throw new Error(`${answer?.status} ${answer?.url}: ${await answer?.text()}`);
}
