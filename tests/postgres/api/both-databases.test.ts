import { describe, test } from "bun:test";
import fc from "fast-check";
import { between, pick, type Random, seeded, weighted } from "../../../src/dev/chance.ts";
import { day, hour, isoTime, minute, second } from "../../../src/domain/time.ts";
import { type Answered, answers, type Call, Pair } from "../../support/both-databases.ts";
import { streamPath } from "../../support/event-stream.ts";
import { authorizationRequest, codeVerifier, formOf, parameter, redirectUri } from "../../support/oauth.ts";
import { hasPostgres } from "../../support/postgres.ts";
import type { Documented } from "../../support/requests/documented.ts";
import { type Input, Known, validInput, written } from "../../support/requests/input.ts";
import { inputs, registered } from "../../support/requests/inputs.ts";

/** What has no end, is of one machine or one database, or is counted at a time of its own. */
const leftOut = /events\/stream|outcomes|backups|storage|findings|statistics|public-key|\/(healthz|readyz)$/;
/** Requests that are generated at a time. */
const atOnce = 40;

/** How often an operation is asked for, beside 1 of others. */
const weights: Readonly<Record<string, number>> = {
  "POST /admin/v1/events": 18,
  "POST /public/v1/events/subscriptions": 10,
  "GET /public/v1/events/deliveries": 5,
  "GET /admin/v1/deliveries": 5,
  "POST /public/v1/events/deliveries/{id}/retry": 2,
  "POST /admin/v1/deliveries/{id}/retry": 2,
  "POST /admin/v1/replays": 2,
  "POST /public/v1/events/replays": 2,
  "GET /public/v1/users/search": 5,
  "GET /admin/v1/users/search": 3,
  "GET /public/v1/categories": 6,
  "GET /public/v1/events/subscriptions/{id}": 3,
  "GET /public/v1/events/deliveries/{id}": 3,
  "GET /admin/v1/ranking": 2,
  "POST /admin/v1/users/batch": 2,
  "POST /admin/v1/categories/batch": 2,
  "PUT /admin/v1/livestreams": 5,
  "PUT /admin/v1/users/{id}": 4,
  "PUT /admin/v1/categories/{id}": 3,
  "PATCH /admin/v1/applications/{id}": 2,
  "PUT /admin/v1/event-types/{name}": 2,
};

const scopes = ["users:read", "events:subscribe"];
const mostCallers = 6;

/** An application that calls, with its tokens, the newest of the application last, those of users first. */
interface Caller {
  readonly id: string;
  secret: string;
  readonly tokens: string[];
  readonly refreshTokens: string[];
  /** What answers of the public API have shown to it. */
  readonly known: Known;
}

/** What requests of one run choose from. */
class World {
  callers: Caller[] = [];
  readonly known = new Known();
  /** Keys of operators, beside the one that may do everything. */
  readonly keys: string[] = [];
  readonly #positions = new Map<string, string[]>();

  constructor(
    readonly pair: Pair,
    readonly random: Random,
  ) {
    this.known.add("event-types", "channel.followed", "chat.message.sent", "kicks.gifted", ...registered);
    const failing = [500, 404, 410, 429, 503, 410, 500].map((status, i) => `${pair.webhooks}/${status}/${i}`);
    const saying = answers.map((_, i) => `${pair.webhooks}/200/${i}`);
    const fine = Array.from({ length: 8 }, () => `${pair.webhooks}/204`);
    const odd = ["", "ftp://a.example/", "https://user@a.example/", "x"];
    this.known.replace("webhooks", [...fine, ...saying, ...failing, `${pair.webhooks}/503`, ...odd]);
  }

  pick<T>(items: readonly T[]): T {
    return pick(this.random, items);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  caller(): Caller {
    return this.pick(this.chance(0.5) ? this.callers.slice(0, 1) : this.callers);
  }

  /** Sends a request, and learns from its answer. */
  async call(call: Call, path = call.path): Promise<Answered> {
    const isOthers = call.path.startsWith("/admin") && this.keys.length > 0 && this.chance(0.03);
    const answer = await this.pair.call(isOthers ? { ...call, key: this.pick(this.keys) } : call);
    if (answer.status < 400) this.known.learn(path, answer.body);
    return answer;
  }

  /** Positions in the event stream of an application. */
  positions(of: Caller, seen: readonly string[] = []): readonly string[] {
    const all = [...(this.#positions.get(of.id) ?? []), ...seen].slice(-100);
    this.#positions.set(of.id, all);
    return all;
  }

  /** What depends on the time. Ids of events are remembered for 7 days at least; how much longer, depends on the database. */
  tellTime(): void {
    const now = this.pair.clock.now();
    const agos = [-minute, 0, 1, minute, hour, day, 9 * day];
    this.known.replace(
      "times",
      agos.map((ms) => isoTime(now - ms)),
    );
    const days = Math.floor(now / (3 * day));
    this.known.replace(
      "event-ids",
      Array.from({ length: 30 }, (_, i) => `event-${days}-${i}`),
    );
  }
}

/** A kind of request, or several that belong together. */
type Step = (world: World) => Promise<unknown>;

/** Makes the step that sends one of the requests that are generated from the OpenAPI documents. */
function generatedStep(operations: readonly Documented[], seed: number): Step {
  const arbitrary = inputs(operations, { weights, valid: 15 });
  let waiting: Input[] = [];
  let next = seed;
  return async (world) => {
    if (waiting.length === 0) waiting = fc.sample(arbitrary, { seed: next++, numRuns: atOnce });
    const input = waiting.pop();
    if (input) await send(world, input);
  };
}

async function send(world: World, input: Input): Promise<void> {
  const { operation, as } = input;
  const caller = world.caller();
  world.tellTime();
  // When the last of several counted changes is stored, depends on the database.
  const query = input.query.filter(([name]) => !(name === "after" && operation.path.endsWith("/audit")));
  const known = operation.listener === "public" && world.chance(0.85) ? caller.known : world.known;
  const request = written({ ...input, query }, known);
  const isOfOwner = as === "owner" && operation.path.startsWith("/oauth/") && request.body !== undefined;
  const token = as === "user" ? caller.tokens[0] : caller.tokens.at(-1);
  const call: Call = {
    ...request,
    headers: input.headers,
    ...(as === "stranger" && { token: "onair_at_unknown" }),
    ...((as === "owner" || as === "user") && { token }),
    ...(isOfOwner && { body: withClient(request.body ?? "", caller) }),
  };
  const answer = await world.call(call, operation.path);
  if (operation.listener === "public" && answer.status < 400) caller.known.learn(operation.path, answer.body);
  await followPages(world, call, operation.path, answer);
  await keepCallers(world, caller, call, answer);
}

/** A form with the credentials of an application. */
function withClient(form: string, { id, secret }: Caller): string {
  const fields = new URLSearchParams(form);
  fields.set("client_id", id);
  fields.set("client_secret", secret);
  return fields.toString();
}

/** Asks for the next pages of a list. */
async function followPages(
  world: World,
  call: Call,
  path: string,
  answer: Answered,
  most = 3,
): Promise<void> {
  if (call.method !== "GET" || /[?&]cursor=/.test(call.path)) return;
  let { cursor = "" } = (answer.body["pagination"] ?? {}) as { cursor?: string };
  for (let page = 0; page < most && cursor !== ""; page++) {
    const next = `${call.path}${call.path.includes("?") ? "&" : "?"}cursor=${cursor}`;
    const { body } = await world.call({ ...call, path: next }, path);
    cursor = (body["pagination"] as { cursor?: string } | undefined)?.cursor ?? "";
  }
}

/** Keeps new applications, secrets, tokens and keys, and mends an application that may not call any more. */
async function keepCallers(
  world: World,
  caller: Caller,
  { method, path }: Call,
  { body }: Answered,
): Promise<void> {
  const { id, client_secret: secret, access_token: token, code } = body as Record<string, string | undefined>;
  if (method === "POST" && path === "/admin/v1/applications" && id && secret) {
    const made: Caller = { id, secret, tokens: [], refreshTokens: [], known: new Known(world.known) };
    if (world.callers.length < mostCallers) world.callers.push(made);
    await ownToken(world, made);
  }
  // The earlier secret is used while the overlap lasts, and after it.
  const rotated = world.callers.find((one) => path === `/admin/v1/applications/${one.id}/client-secret`);
  if (rotated && secret && world.chance(0.6)) rotated.secret = secret;
  if (path === "/oauth/token" && token) caller.tokens.push(token);
  if (path === "/admin/v1/keys" && body["key"]) world.keys.push(String(body["key"]));
  const isLost = ["invalid_token", "insufficient_scope", "rate_limited"].includes(code ?? "");
  if (isLost && path.startsWith("/public") && world.chance(0.6)) await mend(world, caller);
}

async function ownToken(world: World, caller: Caller): Promise<void> {
  const { body } = await form(world, "/oauth/token", {
    grant_type: "client_credentials",
    client_id: caller.id,
    client_secret: caller.secret,
  });
  if (body["access_token"]) caller.tokens.push(String(body["access_token"]));
}

function form(world: World, path: string, values: Record<string, string | null>) {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return world.call({ method: "POST", path, body: formOf(values).toString(), headers });
}

/** Gives an application its rights and a good webhook again; one that is removed calls no more. */
async function mend(world: World, caller: Caller): Promise<void> {
  const path = `/admin/v1/applications/${caller.id}`;
  const fields = { disabled: false, scopes, rate_limit: null, webhook_url: `${world.pair.webhooks}/204` };
  const { status } = await world.pair.call({ method: "PATCH", path, body: fields });
  if (status === 404) world.callers = world.callers.filter((one) => one !== caller);
  const rotated = await world.pair.call({ method: "POST", path: `${path}/client-secret` });
  if (rotated.body["client_secret"]) caller.secret = String(rotated.body["client_secret"]);
  await world.call({ method: "POST", path: `${path}/endpoint/enable` });
  await ownToken(world, caller);
}

const create: Step = async (world) => {
  const body = {
    name: "Caller",
    redirect_uris: [redirectUri],
    scopes,
    webhook_url: `${world.pair.webhooks}/204`,
    delivery: world.pick(["webhook", "both", "both"]),
  };
  const call: Call = { method: "POST", path: "/admin/v1/applications", body };
  const answer = await world.pair.call(call);
  const [first] = world.callers;
  await keepCallers(
    world,
    first ?? { id: "", secret: "", tokens: [], refreshTokens: [], known: new Known() },
    call,
    answer,
  );
};

/** A user signs in. */
const signIn: Step = async (world) => {
  const caller = world.caller();
  const scope = world.pick([null, "users:read", "users:read events:subscribe", "no:such"]);
  const open = (path: string, cookie: string) =>
    world.call({ method: "GET", path, headers: { accept: "text/html", ...(cookie && { cookie }) } });
  const { headers } = await open(authorizationRequest(caller.id, { scope }), "");
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  const location = headers.get("location");
  const challenge = location === null ? "" : parameter(location, "login_challenge");
  if (challenge === "") return;
  world.known.add("login-requests", challenge);
  const path = `/admin/v1/login-requests/${challenge}`;
  const user_id = between(world.random, 1, 12);
  await world.call({ method: "GET", path: `${path}?user_id=${user_id}` });
  const accepted = { user_id, ...(world.chance(0.5) && { remember: true, scopes: ["users:read"] }) };
  const { body } = await world.call({ method: "PUT", path: `${path}/accept`, body: accepted });
  const back = body["redirect_to"];
  if (typeof back !== "string") return;
  const { headers: last } = await open(back.replace("https://onair.example", ""), cookie);
  const code = parameter(last.get("location") ?? "https://none.example", "code");
  if (code === "") return;
  const grant = {
    grant_type: "authorization_code",
    client_id: caller.id,
    client_secret: caller.secret,
    code,
    code_verifier: codeVerifier,
    redirect_uri: redirectUri,
  };
  const made = await form(world, "/oauth/token", grant);
  if (world.chance(0.1)) await form(world, "/oauth/token", grant);
  if (made.body["access_token"]) caller.tokens.unshift(String(made.body["access_token"]));
  if (made.body["refresh_token"]) caller.refreshTokens.push(String(made.body["refresh_token"]));
};

/** Exchanges a refresh token of the application, at times once more. */
const refresh: Step = async (world) => {
  const { id, secret, tokens, refreshTokens } = world.pick(world.callers);
  if (refreshTokens.length === 0) return;
  const { body } = await form(world, "/oauth/token", {
    grant_type: "refresh_token",
    client_id: id,
    client_secret: secret,
    refresh_token: world.chance(0.7) ? (refreshTokens.at(-1) ?? "") : world.pick(refreshTokens),
  });
  if (body["access_token"]) tokens.unshift(String(body["access_token"]));
  if (body["refresh_token"]) refreshTokens.push(String(body["refresh_token"]));
};

/** Reads an event stream, from a time or a position. */
const stream: Step = async (world) => {
  const caller = world.caller();
  if (world.chance(0.6)) {
    const body = { delivery: world.pick(["both", "both", "stream"]), disabled: false, scopes };
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${caller.id}`, body });
    await ownToken(world, caller);
  }
  const agoMs = world.pick([-minute, 0, minute, hour, 2 * world.pair.age.allMs, 2 * world.pair.age.allMs]);
  const after = isoTime(world.pair.clock.now() - agoMs);
  const known = world.positions(caller);
  const { text } = await world.call({
    method: "GET",
    path: `${streamPath}${world.chance(0.8) ? `?after=${after}` : ""}`,
    token: world.chance(0.85) ? caller.tokens.at(-1) : world.pick(caller.tokens),
    ...(known.length > 0 && world.chance(0.3) && { headers: { "last-event-id": world.pick(known) } }),
  });
  const seen = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id ?? "");
  world.positions(caller, seen);
};

/** What is due is sent. */
async function sendDue(world: World): Promise<void> {
  for (const { id } of world.callers)
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${id}`, body: {} });
}

/** Time passes. */
const wait: Step = async (world) => {
  await world.pair.advance(world.pick([1, second, 10 * second, minute, 11 * minute, hour, 3 * hour, day]));
  await sendDue(world);
};

/** Years pass, in which first all bodies and then all deliveries become old. */
const age: Step = async (world) => {
  const { bodiesMs, allMs } = world.pair.age;
  // The counted changes of the audit log are stored by then, and so removed with all others of that time.
  await Bun.sleep(1.2 * second);
  for (const ms of [bodiesMs + day, bodiesMs + day, allMs, allMs]) {
    await world.pair.advance(ms, bodiesMs);
    await sendDue(world);
    if (ms === allMs) continue;
    const call: Call = { method: "GET", path: "/admin/v1/deliveries?limit=100" };
    await followPages(world, call, call.path, await world.call(call));
  }
  for (const known of [world.known, ...world.callers.map((caller) => caller.known)])
    for (const kind of ["deliveries", "replays"]) known.replace(kind, []);
  for (const caller of world.callers) await ownToken(world, caller);
};

/** Everything that can be read without naming it, whole lists, and what was counted. */
async function readAll(world: World, operations: readonly Documented[]): Promise<void> {
  const read = async (path: string, token?: string, of = path) => {
    const call: Call = { method: "GET", path, token };
    await followPages(world, call, of, await world.call(call, of), 100);
  };
  const lists = operations.filter(({ method }) => method === "GET").map(validInput);
  for (const input of lists.filter(({ operation }) => operation.listener === "admin"))
    await read(written(input, world.known).path, undefined, input.operation.path);
  for (const { tokens } of world.callers) {
    for (const input of lists.filter(({ operation }) => operation.listener === "public"))
      await read(written(input, world.known).path, tokens.at(-1), input.operation.path);
  }
  for (const range of ["hour", "day", "week"]) {
    await read(`/admin/v1/statistics?range=${range}`);
    for (const { id, tokens } of world.callers) {
      await read(`/admin/v1/statistics?range=${range}&application_id=${id}`);
      await read(`/public/v1/application/statistics?range=${range}`, tokens.at(-1));
    }
  }
}

/** Sends requests of a seed to both servers until the time is over. Throws at the first difference. */
export async function compare(pair: Pair, seed: number, forMs: number): Promise<void> {
  const world = new World(pair, seeded(seed));
  const compared = (await pair.documented()).filter(({ path }) => !leftOut.test(path));
  await pair.loadUsers();
  for (const name of registered) {
    const body = { version: 1, schema: { type: "object" }, example: {} };
    await world.call({ method: "PUT", path: `/admin/v1/event-types/${name}`, body });
  }
  while (world.callers.length < 3) await create(world);
  const steps: readonly (readonly [weight: number, step: Step])[] = [
    [100, generatedStep(compared, seed)],
    [2, create],
    [4, signIn],
    [4, refresh],
    [6, stream],
    [5, wait],
    [0.5, age],
  ];
  const endsAt = performance.now() + forMs;
  while (performance.now() < endsAt) {
    const [, step] = weighted(world.random, steps, ([weight]) => weight);
    await step(world);
    while (world.callers.length < 3) await create(world);
  }
  await pair.restart();
  await readAll(world, compared);
}

/*
 * Random requests to two servers, one with its data in SQLite and one in PostgreSQL: they must give the same answers.
 * `ONAIR_TEST_SEED=7` makes the requests of that seed again, `ONAIR_COMPARE_SECONDS=600` goes on for so long.
 */

const seed = Number(process.env["ONAIR_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const seconds = Number(process.env["ONAIR_COMPARE_SECONDS"] ?? 12);

describe.skipIf(!hasPostgres)("on either database", () => {
  test(
    `the same requests get the same answers (seed ${seed})`,
    async () => {
      const pair = await Pair.start();
      try {
        await compare(pair, seed, seconds * 1_000);
      } catch (error) {
        throw new Error(`Seed ${seed}, request ${pair.calls}`, { cause: error });
      } finally {
        await pair.stop();
      }
    },
    (seconds + 120) * 1_000,
  );
});
