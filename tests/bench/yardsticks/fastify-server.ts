import { hash, randomUUID } from "node:crypto";
import Database from "better-sqlite3";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
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

/*
 * What both servers on Fastify have in common: request id, metrics and a log line on standard error for each request,
 * refusals, the check of a token, and the schema of a user.
 */

declare module "fastify" {
  interface FastifyRequest {
    applicationId: string | null;
  }
}

export const limiter = new RateLimiter();

export function fastifyApp() {
  const metrics = new Metrics();
  const app = Fastify({
    loggerInstance: pino({ level: "info" }, pino.destination({ dest: 2, sync: false, minLength: 4096 })),
    // One line for each request, written below; Fastify's own are two.
    disableRequestLogging: true,
    requestIdHeader: "x-request-id",
    genReqId: () => randomUUID(),
  });
  app.decorateRequest("applicationId", null);
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(commonHeaders).header("x-request-id", request.id);
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    const durationMs = reply.elapsedTime;
    metrics.count(reply.statusCode, durationMs);
    const { method, url, applicationId } = request;
    request.log.info(
      { method, url, status: reply.statusCode, durationMs, client: request.ip, applicationId },
      "request",
    );
    done();
  });
  return app;
}

export function refuse(reply: FastifyReply, status: number, code: string, message: string): void {
  reply.code(status).send({ message, code, request_id: reply.request.id });
}

/** Tells the budget, and whether it allows the request; where it does not, that is answered. */
export function within(budget: Budget, reply: FastifyReply): boolean {
  reply.headers({
    "ratelimit-limit": `${budget.limit}`,
    "ratelimit-remaining": `${budget.remaining}`,
    "ratelimit-reset": `${budget.resetSeconds}`,
  });
  if (budget.allowed) return true;
  reply.header("retry-after", `${budget.retryAfterSeconds}`);
  refuse(reply, 429, "rate_limited", "Too many requests");
  return false;
}

/** The hash of the token of a request; null where there is none, which is answered. */
export function tokenHash(request: FastifyRequest, reply: FastifyReply): Buffer | null {
  const header = request.headers.authorization;
  if (header?.startsWith("Bearer ")) return hash("sha256", header.slice(7), "buffer");
  refuse(reply, 401, "missing_token", "This needs an access token");
  return null;
}

/** Whether what was found of a token lets the request in; where it does not, that is answered. */
export function letsIn(
  token: TokenRow | undefined,
  scope: string,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean {
  if (!token || token.expires_at <= Date.now()) {
    refuse(reply, 401, "invalid_token", "The access token is unknown, revoked or expired");
    return false;
  }
  request.applicationId = token.application_id;
  if (!within(limiter.take(token.application_id, token.rate_limit), reply)) return false;
  const scopes = JSON.parse(token.scopes) as string[];
  if (scopes.includes(scope)) return true;
  refuse(reply, 403, "insufficient_scope", `This needs ${scope}`);
  return false;
}

export const text = { type: "string" } as const;
export const integer = { type: "integer" } as const;
export const answerOf = (properties: Record<string, object>) => ({ 200: { type: "object", properties } });

const User = {
  type: "object",
  properties: {
    id: integer,
    username: text,
    display_name: text,
    bio: text,
    profile_picture: text,
    followers_count: integer,
    following_count: integer,
    is_verified: { type: "boolean" },
    created_at: text,
  },
};

/** The schema of Get User. */
export const getUser = {
  params: {
    type: "object",
    properties: { username: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" } },
  },
  response: answerOf({ user: User, message: text }),
};

/*
 * Get User and Get Categories on Node with Fastify and better-sqlite3: token check, scope, rate limit, request id,
 * metrics and a log line on standard error, as On Air does them.
 * node fastify-server.ts <database> <port, 0 for a free one> <public URL>
 */

const [file = "", port = "0", publicUrl = ""] = process.argv.slice(2);

const db = new Database(file);
for (const pragma of pragmas) db.pragma(pragma);
const findToken = db.prepare<[Buffer], TokenRow>(statements.token);
const findUser = db.prepare<[string], UserRow>(statements.user);
const firstPage = db.prepare<[number], CategoryRow>(statements.firstPage);
const nextPage = db.prepare<[number, number, number], CategoryRow>(statements.nextPage);

const addressLimit = 10_000_000;
const defaultPicture = `${publicUrl}/assets/profile-picture.png`;
const app = fastifyApp();

function requireToken(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const hashed = tokenHash(request, reply);
  if (hashed && letsIn(findToken.get(hashed), "users:read", request, reply)) done();
}

app.get<{ Params: { username: string } }>(
  "/public/v1/users/:username",
  { onRequest: requireToken, schema: getUser },
  (request, reply) => {
    const user = findUser.get(request.params.username);
    if (!user) return refuse(reply, 404, "user_not_found", "There is no user with this username");
    user.profile_picture ??= defaultPicture;
    reply.header("cache-control", "no-store").send({ user, message: "OK" });
  },
);

const Category = {
  type: "object",
  properties: {
    id: integer,
    name: text,
    slug: text,
    icon: text,
    banner: text,
    viewers: integer,
    tags: { type: "array", items: { type: "object", properties: { id: integer, name: text } } },
  },
};
const Pagination = { type: "object", properties: { cursor: text, has_more: { type: "boolean" } } };

app.get<{ Querystring: { limit: number; cursor?: string } }>(
  "/public/v1/categories",
  {
    onRequest: (request, reply, done) => {
      if (within(limiter.take(request.ip, addressLimit), reply)) done();
    },
    schema: {
      querystring: {
        type: "object",
        properties: {
          limit: { type: "integer", minimum: 1, maximum: 100, default: 25 },
          cursor: { type: "string", maxLength: 200 },
        },
      },
      response: answerOf({ categories: { type: "array", items: Category }, pagination: Pagination }),
    },
    // Behind the serializer, as plugins for ETags do it.
    onSend: (request, reply, payload, done) => {
      if (reply.statusCode !== 200) return done(null, payload);
      const etag = `"${hash("sha1", payload as string, "base64url")}"`;
      reply.header("etag", etag);
      if (request.headers["if-none-match"] !== etag) return done(null, payload);
      reply.code(304);
      done(null, null);
    },
  },
  (request, reply) => {
    const { limit, cursor } = request.query;
    const place = cursor === undefined ? null : placeOf(cursor);
    if (cursor !== undefined && !place) {
      return refuse(reply, 400, "invalid_cursor", "This cursor is not one of ours");
    }
    const rows = place ? nextPage.all(...place, limit + 1) : firstPage.all(limit + 1);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const hasMore = rows.length > limit;
    reply.header("cache-control", "public, max-age=1").send({
      categories: page.map((row) => ({ ...row, tags: JSON.parse(row.tags) })),
      pagination: { cursor: hasMore && last ? cursorAfter(last) : "", has_more: hasMore },
    });
  },
);

process.stdout.write(`ready ${await app.listen({ host: "127.0.0.1", port: Number(port) })}\n`);
