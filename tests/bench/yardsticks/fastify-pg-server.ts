/*
 * Get User on Node with Fastify and pg: token check, scope, rate limit, request id, metrics and a log line on standard
 * error, as On Air does them. The tables are in the schema "fastify".
 * node fastify-pg-server.ts <URL of the database> <port, 0 for a free one> <public URL>
 */
import { hash, randomUUID } from "node:crypto";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import pg from "pg";
import { pino } from "pino";
import { commonHeaders, Metrics, RateLimiter, type UserRow } from "./work.ts";

const [url = "", port = "0", publicUrl = ""] = process.argv.slice(2);

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: url, max: 10 });

interface TokenRow {
  application_id: string;
  scopes: string;
  expires_at: number;
  rate_limit: number;
}

const findToken = (token: Buffer) =>
  pool.query<TokenRow>({
    name: "token",
    text: `SELECT application_id, scopes, expires_at, rate_limit
      FROM fastify.tokens JOIN fastify.applications ON id = application_id WHERE hash = $1`,
    values: [token],
  });
const findUser = (username: string) =>
  pool.query<UserRow>({
    name: "user",
    text: "SELECT * FROM fastify.users WHERE lower(username) = lower($1)",
    values: [username],
  });

const limiter = new RateLimiter();
const metrics = new Metrics();
const defaultPicture = `${publicUrl}/assets/profile-picture.png`;

const app = Fastify({
  loggerInstance: pino({ level: "info" }, pino.destination({ dest: 2, sync: false, minLength: 4096 })),
  disableRequestLogging: true,
  requestIdHeader: "x-request-id",
  genReqId: () => randomUUID(),
});

declare module "fastify" {
  interface FastifyRequest {
    applicationId: string | null;
  }
}
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

function refuse(reply: FastifyReply, status: number, code: string, message: string) {
  return reply.code(status).send({ message, code, request_id: reply.request.id });
}

async function requireToken(request: FastifyRequest, reply: FastifyReply) {
  const header = request.headers.authorization;
  if (!header?.startsWith("Bearer "))
    return refuse(reply, 401, "missing_token", "This needs an access token");
  const { rows } = await findToken(hash("sha256", header.slice(7), "buffer"));
  const [token] = rows;
  if (!token || token.expires_at <= Date.now()) {
    return refuse(reply, 401, "invalid_token", "The access token is unknown, revoked or expired");
  }
  request.applicationId = token.application_id;
  const budget = limiter.take(token.application_id, token.rate_limit);
  reply.headers({
    "ratelimit-limit": `${budget.limit}`,
    "ratelimit-remaining": `${budget.remaining}`,
    "ratelimit-reset": `${budget.resetSeconds}`,
  });
  if (!budget.allowed) {
    reply.header("retry-after", `${budget.retryAfterSeconds}`);
    return refuse(reply, 429, "rate_limited", "Too many requests");
  }
  const scopes = JSON.parse(token.scopes) as string[];
  if (!scopes.includes("users:read")) {
    return refuse(reply, 403, "insufficient_scope", "This needs users:read");
  }
}

const text = { type: "string" } as const;
const integer = { type: "integer" } as const;
const user = {
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

app.get<{ Params: { username: string } }>(
  "/public/v1/users/:username",
  {
    onRequest: requireToken,
    schema: {
      params: {
        type: "object",
        properties: { username: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" } },
      },
      response: { 200: { type: "object", properties: { user, message: text } } },
    },
  },
  async (request, reply) => {
    const { rows } = await findUser(request.params.username);
    const [found] = rows;
    if (!found) return refuse(reply, 404, "user_not_found", "There is no user with this username");
    found.profile_picture ??= defaultPicture;
    reply.header("cache-control", "no-store");
    return { user: found, message: "OK" };
  },
);

process.stdout.write(`ready ${await app.listen({ host: "127.0.0.1", port: Number(port) })}\n`);
