import { day, hour, isoTime, minute } from "../../../src/domain/time.ts";
import type { Log } from "../../../src/runtime/log.ts";
import { authorizationRequest, Browser, challengeFor, loginUrl, redirectUri, userTokens } from "../oauth.ts";
import { event, publishAll } from "../publishing.ts";
import type { Documented } from "../requests/documented.ts";
import { type Input, Known, written } from "../requests/input.ts";
import { registered } from "../requests/inputs.ts";
import { adminKey, startServer, type TestApplication, type TestServer } from "../server.ts";

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
    for (const secret of [owner.client_secret, owner.webhook_secret, tokens.refresh_token])
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
