/*
 * Get User on Node with Fastify and pg: token check, scope, rate limit, request id, metrics and a log line on standard
 * error, as On Air does them. The tables are in the schema "fastify".
 * node fastify-pg-server.ts <URL of the database> <port, 0 for a free one> <public URL>
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import pg from "pg";
import { fastifyApp, getUser, letsIn, refuse, tokenHash } from "./fastify-app.ts";
import type { TokenRow, UserRow } from "./work.ts";

const [url = "", port = "0", publicUrl = ""] = process.argv.slice(2);

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: url, max: 10 });

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

const defaultPicture = `${publicUrl}/assets/profile-picture.png`;
const app = fastifyApp();

async function requireToken(request: FastifyRequest, reply: FastifyReply) {
  const hashed = tokenHash(request, reply);
  if (hashed === null) return reply;
  const { rows } = await findToken(hashed);
  if (!letsIn(rows[0], "users:read", request, reply)) return reply;
}

app.get<{ Params: { username: string } }>(
  "/public/v1/users/:username",
  { onRequest: requireToken, schema: getUser },
  async (request, reply) => {
    const { rows } = await findUser(request.params.username);
    const [found] = rows;
    if (!found) {
      refuse(reply, 404, "user_not_found", "There is no user with this username");
      return reply;
    }
    found.profile_picture ??= defaultPicture;
    reply.header("cache-control", "no-store");
    return { user: found, message: "OK" };
  },
);

process.stdout.write(`ready ${await app.listen({ host: "127.0.0.1", port: Number(port) })}\n`);
