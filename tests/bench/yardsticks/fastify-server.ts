/*
 * Get User and Get Categories on Node with Fastify and better-sqlite3: token check, scope, rate limit, request id,
 * metrics and a log line on standard error, as On Air does them.
 * node fastify-server.ts <database> <port, 0 for a free one> <public URL>
 */
import { hash } from "node:crypto";
import Database from "better-sqlite3";
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  answerOf,
  fastifyApp,
  getUser,
  integer,
  letsIn,
  limiter,
  refuse,
  text,
  tokenHash,
  within,
} from "./fastify-app.ts";
import {
  type CategoryRow,
  cursorAfter,
  placeOf,
  pragmas,
  statements,
  type TokenRow,
  type UserRow,
} from "./work.ts";

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
