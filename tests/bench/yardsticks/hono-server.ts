/*
 * Get User and Get Categories on Bun with Hono and bun:sqlite: token check, scope, rate limit, request id, metrics and
 * a log line on standard error, as On Air does them.
 * bun hono-server.ts <database> <port, 0 for a free one> <public URL>
 */
import { Database } from "bun:sqlite";
import { randomUUID } from "node:crypto";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { getConnInfo } from "hono/bun";
import { pino } from "pino";
import {
  type Budget,
  type CategoryRow,
  commonHeaders,
  cursorAfter,
  Metrics,
  placeOf,
  pragmas,
  RateLimiter,
  statements,
  type TokenRow,
  type UserRow,
} from "./work.ts";

const [file = "", port = "0", publicUrl = ""] = process.argv.slice(2);

const db = new Database(file);
for (const pragma of pragmas) db.run(`PRAGMA ${pragma}`);
const findToken = db.prepare<TokenRow, [Uint8Array]>(statements.token);
const findUser = db.prepare<UserRow, [string]>(statements.user);
const firstPage = db.prepare<CategoryRow, [number]>(statements.firstPage);
const nextPage = db.prepare<CategoryRow, [number, number, number]>(statements.nextPage);

const limiter = new RateLimiter();
const addressLimit = 10_000_000;
const metrics = new Metrics();
const log = pino({ level: "info" }, pino.destination({ dest: 2, sync: false, minLength: 4096 }));
const defaultPicture = `${publicUrl}/assets/profile-picture.png`;

type Env = {
  Bindings: Bun.Server<undefined>;
  Variables: { requestId: string; applicationId: string | null; headers: Record<string, string> };
};

const app = new Hono<Env>();

app.use(async (context, next) => {
  const startedAt = performance.now();
  const requestId = context.req.header("x-request-id") ?? randomUUID();
  context.set("requestId", requestId);
  context.set("applicationId", null);
  context.set("headers", { ...commonHeaders, "x-request-id": requestId });
  await next();
  const { status } = context.res;
  const durationMs = performance.now() - startedAt;
  metrics.count(status, durationMs);
  const { method, path } = context.req;
  const client = context.env.requestIP(context.req.raw)?.address;
  const applicationId = context.get("applicationId");
  log.info({ requestId, method, path, status, durationMs, client, applicationId }, "request");
});

function refuse(context: Context<Env>, status: 400 | 401 | 403 | 404 | 429, code: string, message: string) {
  const body = { message, code, request_id: context.get("requestId") };
  return context.json(body, status, context.get("headers"));
}

/** Tells the budget; the answer where it does not allow the request, else null. */
function exceeded(context: Context<Env>, budget: Budget): Response | null {
  const headers = context.get("headers");
  headers["ratelimit-limit"] = `${budget.limit}`;
  headers["ratelimit-remaining"] = `${budget.remaining}`;
  headers["ratelimit-reset"] = `${budget.resetSeconds}`;
  if (budget.allowed) return null;
  headers["retry-after"] = `${budget.retryAfterSeconds}`;
  return refuse(context, 429, "rate_limited", "Too many requests");
}

function requireScope(scope: string): MiddlewareHandler<Env> {
  return async (context, next) => {
    const header = context.req.header("authorization");
    if (!header?.startsWith("Bearer ")) {
      return refuse(context, 401, "missing_token", "This needs an access token");
    }
    const token = findToken.get(Bun.SHA256.hash(header.slice(7)) as Uint8Array);
    if (!token || token.expires_at <= Date.now()) {
      return refuse(context, 401, "invalid_token", "The access token is unknown, revoked or expired");
    }
    context.set("applicationId", token.application_id);
    const refused = exceeded(context, limiter.take(token.application_id, token.rate_limit));
    if (refused) return refused;
    const scopes = JSON.parse(token.scopes) as string[];
    if (!scopes.includes(scope)) return refuse(context, 403, "insufficient_scope", `This needs ${scope}`);
    return next();
  };
}

const usernamePattern = /^[A-Za-z0-9_-]{1,64}$/;

app.get("/public/v1/users/:username", requireScope("users:read"), (context) => {
  const username = context.req.param("username");
  if (!usernamePattern.test(username)) {
    return refuse(context, 400, "invalid_parameter", "This is no username");
  }
  const row = findUser.get(username);
  if (!row) return refuse(context, 404, "user_not_found", "There is no user with this username");
  const user = {
    ...row,
    profile_picture: row.profile_picture ?? defaultPicture,
    is_verified: row.is_verified === 1,
  };
  const headers = context.get("headers");
  headers["cache-control"] = "no-store";
  return context.json({ user, message: "OK" }, 200, headers);
});

app.get("/public/v1/categories", (context) => {
  const address = getConnInfo(context).remote.address ?? "";
  const refused = exceeded(context, limiter.take(address, addressLimit));
  if (refused) return refused;
  const limit = Number(context.req.query("limit") ?? 25);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    return refuse(context, 400, "invalid_parameter", "limit must be from 1 to 100");
  }
  const cursor = context.req.query("cursor");
  const place = cursor === undefined ? null : placeOf(cursor);
  if (cursor !== undefined && !place) {
    return refuse(context, 400, "invalid_cursor", "This cursor is not one of ours");
  }
  const rows = place ? nextPage.all(...place, limit + 1) : firstPage.all(limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rows.length > limit;
  const body = JSON.stringify({
    categories: page.map((row) => ({ ...row, tags: JSON.parse(row.tags) })),
    pagination: { cursor: hasMore && last ? cursorAfter(last) : "", has_more: hasMore },
  });
  const headers = context.get("headers");
  headers["cache-control"] = "public, max-age=1";
  headers["etag"] = `"${Bun.hash(body).toString(36)}"`;
  if (context.req.header("if-none-match") === headers["etag"]) return context.body(null, 304, headers);
  headers["content-type"] = "application/json";
  return context.body(body, 200, headers);
});

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  reusePort: false,
  development: false,
  fetch: (request, server) => app.fetch(request, server),
});
process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
