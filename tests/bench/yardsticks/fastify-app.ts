/*
 * What both servers on Fastify have in common: request id, metrics and a log line on standard error for each request,
 * refusals, the check of a token, and the schema of a user.
 */
import { hash, randomUUID } from "node:crypto";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { pino } from "pino";
import { type Budget, commonHeaders, Metrics, RateLimiter, type TokenRow } from "./work.ts";

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
