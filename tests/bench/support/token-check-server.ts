/*
 * Get User with and without the check of the token, all else being the same.
 * bun token-check-server.ts <checked|unchecked> <data directory, new>
 */
import type { Application } from "../../../src/domain/applications.ts";
import { Catalogue } from "../../../src/domain/events/catalogue.ts";
import { newId } from "../../../src/domain/ids.ts";
import { hour, isoTime } from "../../../src/domain/time.ts";
import { newSecret, secretHash } from "../../../src/domain/tokens.ts";
import { authenticator } from "../../../src/http/auth.ts";
import { Cursors } from "../../../src/http/cursors.ts";
import { publicApp } from "../../../src/http/public/app.ts";
import { Profiles } from "../../../src/http/public/profiles.ts";
import { readyAnswers } from "../../../src/http/public/ready.ts";
import { profileReader } from "../../../src/http/public/users.ts";
import { listenPublic } from "../../../src/http/public-listening.ts";
import { rateLimiter } from "../../../src/http/rate-limit.ts";
import { createLog } from "../../../src/log.ts";
import { Ranking } from "../../../src/ranking/ranking.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";

const [kind, directory = ""] = process.argv.slice(2);
const now = Date.now;
const at = isoTime(now());
const store = openStore(directory);
const application: Application = {
  id: newId(),
  name: "Bench",
  client_type: "confidential",
  delivery: "webhook",
  webhook_url: null,
  webhook_secret: "whsec_",
  scopes: ["users:read"],
  redirect_uris: [],
  rate_limit: null,
  subscription_limit: null,
  webhook_concurrency: null,
  retired_webhook_secrets: [],
  disabled: false,
  endpoint_generation: 0,
  created_at: at,
  updated_at: at,
};
await store.applications.create({ ...application, client_secret_hash: secretHash("unused") });
const token = newSecret("onair_at_");
const grant = {
  applicationId: application.id,
  userId: null,
  scopes: application.scopes,
  expiresAt: now() + hour,
};
await store.tokens.create(secretHash(token), grant);
const user = { id: 1, username: "somebody", display_name: "Somebody", bio: "", profile_picture: null };
const counts = { followers_count: 5, following_count: 7, is_verified: false };
await store.users.upsert([{ ...user, ...counts, created_at: at }], at);

const checking = authenticator(store, now);
const caller = { application, grant };
const believing = { ...checking, known: () => caller, authenticate: async () => caller };
const publicUrl = () => "http://127.0.0.1";
const profiles = new Profiles({ read: profileReader({ store, publicUrl }) });
const ranking = new Ranking(now);
const access = {
  authenticator: kind === "checked" ? checking : believing,
  limiter: rateLimiter(now),
  defaultRateLimit: 10_000_000,
};
const app = publicApp({
  store,
  access,
  profiles,
  log: createLog("off"),
  now,
  publicUrl,
  loginUrl: null,
  ranking,
  cursors: new Cursors("key"),
  engine: { test: () => Promise.reject(new Error("nothing is sent here")) },
  defaultSubscriptionLimit: 1,
  catalogue: new Catalogue(),
  streams: { open: async () => new ReadableStream() },
  publicKey: () => ({ pem: "", standardWebhooks: "" }),
});
const ready = readyAnswers({ access, profiles }, ranking);
const { url } = listenPublic(app, "127.0.0.1", 0, { ready });
process.stdout.write(`ready ${url} ${token}\n`);
