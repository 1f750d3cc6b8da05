import { authorizationRequest, codeVerifier, formOf, parameter, redirectUri } from "../oauth.ts";
import { answers } from "./pair.ts";
import { type Caller, pages, query, type Step, some, text, type World } from "./world.ts";

/* Applications with their secrets and tokens, and users who sign in. */

export const scopes = ["users:read", "events:subscribe"];
const oftenRefused = ["", "a\u0000b", "x".repeat(101), "a\nb"];

/** What lists of texts could be confused by. */
const oddUris = [
  'https://a.example/?x={1,2}&y="q"&z=a\\b',
  "https://a.example/?NULL",
  "com.example.app:/NULL",
  "https://a.example/'",
];

/** Some match the events that are published, some do not, and some are refused. */
const filters = (world: World) =>
  world.pick([
    null,
    { "channel.followed": { follower: { username: world.pick(["ninja_fox", "nobody"]) } } },
    { "kicks.gifted@1": { gift: { amount: { $gt: world.pick([1, 1e6]) } } }, "chat.message.sent": null },
    { "chat.message.sent": { content: { $regex: world.pick(["^!", "record"]) } } },
    { "chat.message.sent": { content: { $startWith: "!" } } },
    { "raffle.won": { winner: "maya" } },
  ]);
const fields = (world: World) => ({
  ...some(
    world,
    {
      delivery: world.pick(["webhook", "webhook", "both", "stream"]),
      scopes: world.chance(0.8) ? scopes : world.pick([[], ["users:read"], ["no:such"]]),
      rate_limit: world.pick([0, 100, null, 10_000_000, -1]),
      subscription_limit: world.pick([3, 20, null, 0]),
      webhook_concurrency: world.pick([1, 4, null, 0]),
      filters: filters(world),
      locked: world.pick([[], ["webhook_url"], ["delivery", "redirect_uris"], ["filters"]]),
      owner_user_id: world.pick([null, world.id()]),
      redirect_uris: world.pick([[redirectUri], [redirectUri, ...oddUris], []]),
    },
    0.25,
  ),
  ...some(world, { webhook_url: webhook(world) }, 0.4),
});
const webhook = (world: World) =>
  world.chance(0.9)
    ? `${world.pair.webhooks}/${world.pick([204, 204, 204, 204, 200, 500, 404, 410, 429, 503])}${
        world.chance(0.5) ? "" : `/${world.between(0, answers.length - 1)}`
      }`
    : world.pick([null, "", "ftp://a.example/", "https://user@a.example/", "x"]);
const appName = (world: World) => (world.chance(0.05) ? world.pick(oftenRefused) : text(world.random));

/** An application that may call. */
export const create: Step = async (world) => {
  const body = {
    name: appName(world),
    redirect_uris: [redirectUri],
    ...some(world, { client_type: world.pick(["public", "confidential"]) }, 0.1),
    webhook_url: `${world.pair.webhooks}/204`,
    ...fields(world),
  };
  const { status, body: made } = await world.call({ method: "POST", path: "/admin/v1/applications", body });
  if (status !== 201) return;
  const caller: Caller = { id: String(made["id"]), secret: String(made["client_secret"]), tokens: [] };
  world.see("applications", [caller.id]);
  await ownToken(world, caller);
  if (caller.tokens.length > 0) world.callers.push(caller);
};

async function form(world: World, path: string, values: Record<string, string | null>) {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { body } = await world.call({ method: "POST", path, body: formOf(values).toString(), headers });
  return body as { access_token?: string; refresh_token?: string };
}
const client = ({ id, secret }: Caller) => ({ client_id: id, client_secret: secret });

export async function ownToken(world: World, caller: Caller): Promise<void> {
  const scope = world.chance(0.8)
    ? null
    : world.pick(["users:read", "user:read", "events:subscribe users:read", "x", ""]);
  const { access_token } = await form(world, "/oauth/token", {
    grant_type: "client_credentials",
    ...client(caller),
    scope,
  });
  if (access_token) caller.tokens.push(access_token);
}

const change: Step = (world) => {
  const { id } = world.caller();
  const body = {
    ...some(world, { name: appName(world) }),
    ...fields(world),
    ...some(world, { disabled: world.chance(0.4) }, 0.15),
  };
  return world.call({ method: "PATCH", path: `/admin/v1/applications/${id}`, body });
};
const changeOwn: Step = (world) => {
  const body = some(world, {
    webhook_url: webhook(world),
    delivery: world.pick(["webhook", "both", "stream"]),
    redirect_uris: [redirectUri],
    filters: filters(world),
  });
  return world.call({ method: "PATCH", path: "/public/v1/application", body, token: world.token() });
};
const enable: Step = async (world) => {
  const { id } = world.caller();
  await world.call({
    method: "PATCH",
    path: `/admin/v1/applications/${id}`,
    body: { disabled: false, scopes, webhook_url: `${world.pair.webhooks}/204` },
  });
  if (world.chance(0.5))
    await world.call({ method: "POST", path: `/admin/v1/applications/${id}/endpoint/enable` });
  else
    await world.call({
      method: "POST",
      path: "/public/v1/application/endpoint/enable",
      token: world.token(),
    });
  await world.call({ method: "GET", path: `/admin/v1/applications/${id}/endpoint` });
  await ownToken(world, world.caller());
};
/** What is left of an application that was removed. */
async function remains(world: World, id: string): Promise<void> {
  for (const list of ["deliveries", "subscriptions", "notices", "replays"])
    await pages(world, `/admin/v1/${list}?application_id=${id}`);
  for (const part of ["", "/usage", "/endpoint", "/tokens"])
    await world.call({ method: "GET", path: `/admin/v1/applications/${id}${part}` });
  await pages(world, `/admin/v1/audit?object_id=${id}&limit=3`);
  await world.call({ method: "GET", path: `/admin/v1/users/${world.id()}/consents` });
  const gone = world.callers.find((caller) => caller.id === id);
  if (!gone) return;
  await world.call({ method: "GET", path: "/public/v1/application", token: gone.tokens.at(-1) });
  await form(world, "/oauth/token", { grant_type: "client_credentials", ...client(gone) });
}
const removeOne: Step = async (world) => {
  const id = world.known("applications");
  await world.call({ method: "DELETE", path: `/admin/v1/applications/${id}` });
  await remains(world, id);
  // Some go on calling.
  if (world.chance(0.9)) world.callers = world.callers.filter((caller) => caller.id !== id);
};

const rotate: Step = async (world) => {
  const caller = world.caller();
  const body = some(world, { overlap_seconds: world.pick([0, 60, 86_400, -1, 1e9]) }, 0.7);
  const path = `/admin/v1/applications/${caller.id}`;
  await world.call({ method: "POST", path: `${path}/webhook-secret`, body });
  await world.call({
    method: "POST",
    path: "/public/v1/application/webhook-secret",
    body,
    token: world.token(),
  });
  const { body: made } = await world.call({ method: "POST", path: `${path}/client-secret`, body });
  // The earlier one is used while the overlap lasts, and after it.
  if (world.chance(0.6) && typeof made["client_secret"] === "string") caller.secret = made["client_secret"];
};

const tokens: Step = async (world) => {
  const caller = world.caller();
  const path = `/admin/v1/applications/${caller.id}/tokens`;
  await ownToken(world, caller);
  const body = some(world, {
    scopes: world.pick([scopes, ["users:read"], ["x"]]),
    expires_in: world.pick([1, 60, 3600, 0]),
  });
  const { body: made } = await world.call({ method: "POST", path, body });
  if (typeof made["access_token"] === "string") caller.tokens.unshift(made["access_token"]);
  await world.call({ method: "GET", path });
  if (world.chance(0.1)) await world.call({ method: "DELETE", path });
};

const introspect: Step = async (world) => {
  const [caller, token] = [world.caller(), world.token() ?? null];
  const hint = world.pick([null, "access_token", "refresh_token"]);
  await form(world, "/oauth/introspect", { ...client(caller), token, token_type_hint: hint });
  if (world.chance(0.15))
    await form(world, "/oauth/revoke", { ...client(caller), token, token_type_hint: hint });
  await world.call({ method: "GET", path: "/oauth/userinfo", token: token ?? undefined });
};

/** A user signs in, or does not. */
const signIn: Step = async (world) => {
  const caller = world.caller();
  const scope = world.pick([null, "users:read", "users:read events:subscribe", "no:such"]);
  const open = (path: string, cookie: string) =>
    world.call({ method: "GET", path, headers: { accept: "text/html", ...(cookie && { cookie }) } });
  const state = world.chance(0.2) ? text(world.random) : "state";
  const { headers } = await open(authorizationRequest(caller.id, { scope, state }), "");
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  const location = headers.get("location");
  const challenge = location === null ? "" : parameter(location, "login_challenge");
  if (challenge === "") return;
  const path = `/admin/v1/login-requests/${challenge}`;
  const user_id = world.id();
  await world.call({ method: "GET", path: `${path}${query(world, { user_id })}` });
  if (world.chance(0.1)) await world.call({ method: "PUT", path: `${path}/reject`, body: {} });
  const accepted = { user_id, ...some(world, { remember: world.chance(0.5), scopes: ["users:read"] }) };
  const { body } = await world.call({ method: "PUT", path: `${path}/accept`, body: accepted });
  const back = body["redirect_to"];
  if (typeof back !== "string") return;
  const { headers: last } = await open(back.replace("https://onair.example", ""), cookie);
  const code = parameter(last.get("location") ?? "https://none.example", "code");
  if (code === "") return;
  const grant = {
    grant_type: "authorization_code",
    ...client(caller),
    code,
    code_verifier: codeVerifier,
    redirect_uri: redirectUri,
  };
  const made = await form(world, "/oauth/token", grant);
  if (world.chance(0.1)) await form(world, "/oauth/token", grant);
  if (made.access_token) caller.tokens.unshift(made.access_token);
  if (made.refresh_token) world.see("refresh", [made.refresh_token]);
};
const refresh: Step = async (world) => {
  const made = await form(world, "/oauth/token", {
    grant_type: "refresh_token",
    ...client(world.caller()),
    refresh_token: world.known("refresh"),
  });
  if (made.refresh_token) world.see("refresh", [made.refresh_token]);
};
const consents: Step = async (world) => {
  const path = `/admin/v1/users/${world.id()}/consents`;
  await world.call({ method: "GET", path });
  if (world.chance(0.7)) return;
  const id = world.chance(0.5) ? world.caller().id : world.known("applications");
  await world.call({ method: "DELETE", path: `${path}/${id}` });
  await world.call({ method: "GET", path });
  await pages(world, `/admin/v1/subscriptions?application_id=${id}`);
  const token = world.token();
  await world.call({ method: "GET", path: "/public/v1/events/subscriptions", token });
};

export const applicationSteps: readonly (readonly [weight: number, step: Step])[] = [
  [1.5, create],
  [3, change],
  [1, changeOwn],
  [2, enable],
  [0.6, removeOne],
  [1, rotate],
  [2, tokens],
  [2, introspect],
  [3, signIn],
  [2, refresh],
  [1, consents],
];
