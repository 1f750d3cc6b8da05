import { day, hour, isoTime, minute } from "../../src/domain/time.ts";
import type { Log } from "../../src/runtime/log.ts";
import { authorizationRequest, Browser, challengeFor, loginUrl, redirectUri, userTokens } from "./oauth.ts";
import { event, publishAll } from "./publishing.ts";
import type { Documented } from "./requests/documented.ts";
import { type Input, Known, written } from "./requests/input.ts";
import { registered } from "./requests/inputs.ts";
import { adminKey, startServer, type TestApplication, type TestServer } from "./server.ts";

const names = ["channel.followed", "kicks.gifted", "chat.message.sent"];
/** Nothing listens there: what is sent to it fails at once, and nothing leaves this machine. */
const deafUrls = [
  "http://127.0.0.1:9/hook",
  "http://localhost:9/",
  "http://[::1]:9/a?b=c",
  "https://127.0.0.1/",
  "",
];
const times = [-hour, 0, 1, minute, hour, day, 9 * day].map((ms) => isoTime(Date.now() - ms));
const ids = Array.from({ length: 12 }, (_, i) => i + 1);

/** A server with a little of everything, and who calls it. */
export class FuzzedPlatform {
  readonly known = new Known();
  /** What answers must not show again. */
  readonly secrets = new Set<string>([adminKey]);
  #owner: TestApplication | undefined;
  #userToken = "";

  private constructor(readonly server: TestServer) {}

  static async start(log: Log): Promise<FuzzedPlatform> {
    const args = ["--rate-limit", "10000000", "--login-url", loginUrl];
    const server = await startServer({ engineThread: true, args, log });
    const platform = new FuzzedPlatform(server);
    await server.load(
      "users",
      ids.map((id) => ({ id, username: `user${id}` })),
    );
    await server.load(
      "categories",
      ids.map((id) => ({ id, name: `Game ${id}`, slug: `game-${id}`, tags: ["Calm"] })),
    );
    await server.load(
      "channels",
      ids.map((id) => ({ id, user_id: id, slug: `user${id}` })),
    );
    await server.load(
      "livestreams",
      ids.map((id) => ({ channel_id: id, category_id: 1 + (id % 3), viewers: id })),
    );
    await platform.renew();
    return platform;
  }

  /**
   * Makes the application that calls, with tokens, subscriptions and deliveries: requests may have changed the last
   * one.
   */
  async renew(): Promise<void> {
    const fields = {
      name: "Fuzzed",
      delivery: "both",
      webhook_url: "http://127.0.0.1:9/hook",
      redirect_uris: [redirectUri],
      owner_user_id: 1,
    };
    await this.server.load("users", [{ id: 1, username: "user-1" }]);
    const owner = await this.server.application(fields);
    this.#owner = owner;
    const tokens = await userTokens(this.server, owner, { userId: 1 });
    this.#userToken = tokens.access_token;
    const { client_secret, webhook_secret, token } = owner;
    for (const secret of [client_secret, webhook_secret, token, tokens.access_token, tokens.refresh_token])
      this.secrets.add(secret);
    this.known.add("client-secrets", owner.client_secret);
    this.known.add("refresh-tokens", tokens.refresh_token);
    for (let i = 0; i < 3; i++) {
      const request = authorizationRequest(owner.client_id);
      this.known.add("login-requests", await challengeFor(new Browser(this.server), request));
    }
    this.known.add("event-types", ...names, ...registered);
    this.known.replace("webhooks", deafUrls);
    this.known.replace("times", times);
    this.known.replace(
      "event-ids",
      ids.map((id) => `event-${id}`),
    );
    const wanted = names.map((name) => ({
      name,
      version: 1,
    }));
    const [subscriptions, deliveries] = ["/public/v1/events/subscriptions", "/public/v1/events/deliveries"];
    await this.server.post(
      subscriptions,
      { events: wanted, method: "webhook", broadcaster_user_id: 1 },
      owner.token,
    );
    await publishAll(
      this.server,
      names.map((name) => event(name, { broadcaster_user_id: 1 })),
    );
    for (const path of [subscriptions, deliveries]) {
      this.known.learn(path, await (await this.server.get(path, owner.token)).json());
    }
  }

  /** Whether the limit of the calling application was taken away, so that answers have nothing to say of it. */
  async isUnlimited(): Promise<boolean> {
    const answer = await this.server.admin("GET", `/admin/v1/applications/${this.#owner?.id}`);
    return ((await answer.json()) as { rate_limit?: number }).rate_limit === 0;
  }

  /** The request of an input, with what is known in place of its marks. */
  request(input: Input): Request {
    const { operation, headers, as } = input;
    const { publicUrl, adminUrl } = this.server.app;
    const { method, path: at, ...body } = written(input, this.known);
    const origin = operation.listener === "public" ? publicUrl : adminUrl;
    const given = new Headers(headers);
    const authorization = this.#authorization(operation, as);
    if (authorization !== null) given.set("authorization", authorization);
    return new Request(origin + at, { method, headers: given, redirect: "manual", ...body });
  }

  #authorization({ listener, path }: Documented, as: Input["as"]): string | null {
    if (as === "nobody" || this.#owner === undefined) return null;
    const { client_id, client_secret, token } = this.#owner;
    if (path.startsWith("/oauth/"))
      return as === "owner" ? `Basic ${btoa(`${client_id}:${client_secret}`)}` : null;
    if (as === "stranger") return `Bearer onair_at_${"x".repeat(43)}`;
    if (listener === "admin") return `Bearer ${adminKey}`;
    return `Bearer ${as === "user" ? this.#userToken : token}`;
  }
}

/** An answer that takes longer counts as none. */
const deadlineMs = 30_000;

/** What nobody may see: stacks, names of what is inside; and what callers of the public API may not: paths. */
const inner = /\n\s+at |node_modules|\.ts:\d|SQLITE_|sqlite3?_|drizzle|ENOENT|undefined is not|Bun v\d/;

const secretFields = ["client_secret", "webhook_secret", "access_token", "refresh_token", "key"];

interface Judged {
  readonly status: number;
  readonly complaints: readonly string[];
}

/** Sends a request, and says all that is wrong with its answer, by what the document says. */
export async function judged(platform: FuzzedPlatform, input: Input): Promise<Judged> {
  const { operation } = input;
  const request = platform.request(input);
  const sent = input.body === null ? "" : platform.known.resolve(input.body);
  const answer = await fetch(request, { signal: AbortSignal.timeout(deadlineMs) });
  const complaints: string[] = [];
  const says = (isWrong: boolean, what: string) => {
    if (isWrong) complaints.push(what);
  };
  const documented = operation.answers.get(answer.status);
  const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
  const text = await textOf(answer, type);
  says(documented === undefined, `status ${answer.status} is not documented`);
  says(answer.status >= 500, `status ${answer.status}`);
  says(input.isFaulty === true && answer.status < 400, "accepts what is wrong in one place");
  // Others depend on why a request is refused.
  const always =
    documented?.headers.filter(
      (name) => answer.ok || /^(X-Request-Id|Cache-Control|RateLimit-.*)$/.test(name),
    ) ?? [];
  const missing = always.filter((name) => !answer.headers.has(name));
  const ofRate = missing.filter((name) => name.startsWith("RateLimit-"));
  says(ofRate.length > 0 && !(await platform.isUnlimited()), `without ${ofRate}`);
  says(missing.length > ofRate.length, `without ${missing}`);
  const caching = answer.headers.get("cache-control");
  says(documented !== undefined && caching !== documented.caching, `Cache-Control is ${caching}`);
  says(answer.status === 401 && !answer.headers.has("www-authenticate"), "without WWW-Authenticate");
  says(!hasGoodRate(answer.headers), "its limits contradict each other");
  const id = answer.headers.get("x-request-id") ?? "";
  says(!/^[\x21-\x7e]{1,255}$/.test(id), `X-Request-Id is ${JSON.stringify(id)}`);

  const types = [...(documented?.bodies.keys() ?? [])];
  says(types.length === 0 && text !== "", "has a body, where none is documented");
  says(types.length > 0 && !types.includes(type), `content type ${JSON.stringify(type)}`);
  const body = type === "application/json" ? parsed(text) : undefined;
  if (type === "application/json") {
    const complaint = documented?.bodies.get(type)?.(body) ?? null;
    says(complaint !== null, `the body is not as documented: ${complaint}`);
  }
  if (answer.status >= 400) {
    const { request_id } = (body ?? {}) as { request_id?: string };
    says(body !== undefined && request_id !== id, "request_id is not that of the header");
  }
  const shown = text + JSON.stringify([...answer.headers]);
  says(inner.test(shown), `shows what is inside: ${inner.exec(shown)?.[0]}`);
  says(operation.listener === "public" && shown.includes(platform.server.data), "shows the data directory");
  for (const secret of platform.secrets) {
    says(shown.includes(secret) && !sent.includes(secret), `shows a secret: ${secret}`);
  }
  const isAccepted = answer.status < 300 && sent !== "" && type !== "";
  const taken = operation.bodies.find(({ type }) => type === input.headers["content-type"]);
  if (isAccepted && taken?.type === "application/json") {
    says(!taken.isValid(parsed(sent)), "takes a body that is not as documented");
  }

  await learn(platform, input, answer, body);
  return { status: answer.status, complaints };
}

/** The text of an answer; nothing of a stream, which has no end, and of a file. */
async function textOf(answer: Response, type: string): Promise<string> {
  if (type === "text/event-stream" || type === "application/vnd.sqlite3") {
    await answer.body?.cancel();
    return "";
  }
  return await answer.text();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hasGoodRate(headers: Headers): boolean {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    headers.get(`ratelimit-${name}`),
  );
  if (limit == null && remaining == null && reset == null) return true;
  const numbers = [limit, remaining, reset].map((text) =>
    /^\d+$/.test(text ?? "") ? Number(text) : Number.NaN,
  );
  return numbers.every((number) => number >= 0) && Number(remaining) <= Number(limit);
}

/** Keeps what later requests can name, and mends the caller when the request took its rights. */
async function learn(platform: FuzzedPlatform, { operation, as }: Input, answer: Response, body: unknown) {
  if (answer.ok) {
    platform.known.learn(operation.path, body);
    const secrets = Object.entries(body ?? {}).filter(([name]) => secretFields.includes(name));
    for (const [, secret] of secrets)
      if (typeof secret === "string" && secret !== "") platform.secrets.add(secret);
  }
  const location = URL.parse(answer.headers.get("location") ?? "");
  const challenge = location?.searchParams.get("login_challenge");
  if (challenge) platform.known.add("login-requests", challenge);
  const { code = "" } = (body ?? {}) as { code?: string };
  const lost =
    as === "owner"
      ? ["invalid_token", "insufficient_scope", "rate_limited"]
      : as === "user"
        ? ["invalid_token"]
        : [];
  if (operation.listener === "public" && operation.needsToken && lost.includes(code)) await platform.renew();
}
