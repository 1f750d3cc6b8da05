import { type TSchema, Type } from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import type { Store } from "../../domain/store.ts";
import { secretHash } from "../../domain/tokens.ts";
import { type Access, admitAnyone } from "../http/access.ts";
import { clientNetworkOf, type RequestContext } from "../http/context.ts";
import { deferBody, type OpenContext, operationOf } from "../http/input.ts";
import { requireWithinLimit } from "../http/rate-limit.ts";
import type { DescribedRoute } from "../openapi/components.ts";
import { OAuthError, uncached, wrongClient } from "./errors.ts";
import { type Parameters, readFields, readForm } from "./fields.ts";

/** Wrong secrets per minute from one address; further ones cause `rate_limited`. */
const wrongSecrets = 60;

interface ClientGateOptions {
  readonly store: Pick<Store, "applications">;
  readonly access: Access;
  readonly now: () => number;
}

/** The clients that may call an endpoint: all of them, or only those with a secret. */
export type ClientKind = "any" | "confidential";

export interface ClientContext extends OpenContext {
  readonly set: { readonly headers: object };
}

/**
 * The gate of a route that clients call with a form. It applies the rate limit of the address, reads the form,
 * authenticates the client, and then reads the fields of the route's body schema.
 */
export function clientGate(options: ClientGateOptions, kind: ClientKind) {
  let form: TSchema = Type.Object({});
  let operation: string | null = null;
  return {
    introspect(route: { body?: TSchema; parse?: unknown } & DescribedRoute): void {
      operation = operationOf(route);
      if (route.body) form = route.body;
      deferBody(route);
    },
    async admit(context: ClientContext): Promise<void> {
      const { requestContext, request, set } = context;
      requestContext.operation = operation;
      Object.assign(set.headers, uncached);
      admitAnyone(options.access, requestContext);
      const parameters = await readForm(request, form);
      requestContext.client = await authenticateClient(options, requestContext, parameters);
      if (kind === "confidential" && requestContext.client.client_type === "public") {
        throw new OAuthError("invalid_client", "This endpoint requires a confidential client");
      }
      context.body = readFields(form, parameters);
    },
  };
}

/**
 * Returns the application that sent a request. It authenticates with either Basic or the form (RFC 6749, section
 * 2.3.1), a public client with its `client_id` alone. Throws `invalid_client`, or `rate_limited` after too many wrong
 * secrets from one address; a correct secret is always accepted.
 */
async function authenticateClient(
  { store, access, now }: ClientGateOptions,
  requestContext: RequestContext,
  form: Parameters,
): Promise<Application> {
  const { id, secret } = readCredentials(requestContext.request.headers.get("authorization"), form);
  const found = await store.applications.find(id);
  const application = found?.disabled ? null : found;
  if (application?.client_type === "public" && secret === undefined) return application;
  if (secret === undefined) throw unauthenticated();
  const hash = secretHash(secret);
  if (application && (await isSecretOf(store, id, hash, now()))) {
    requestContext.clientSecretHash = hash;
    return application;
  }
  const bucket = `wrong secrets from ${clientNetworkOf(requestContext)}`;
  requireWithinLimit(access.limiter.take(bucket, wrongSecrets), "wrong client secrets");
  throw wrongClient();
}

/**
 * Checks the client again after a token of the application itself was created. If the application's secret was rotated
 * during the request, the revocation of existing tokens missed this one. Then it revokes the token and throws
 * `invalid_client`.
 */
export async function requireClientStill(
  { store, now }: { readonly store: Pick<Store, "applications" | "tokens">; readonly now: () => number },
  { client, clientSecretHash: secret }: Pick<RequestContext, "client" | "clientSecretHash">,
  tokenHash: Uint8Array,
): Promise<void> {
  if (!client || !secret || (await isSecretOf(store, client.id, secret, now()))) return;
  await store.tokens.revoke(tokenHash, client.id);
  throw wrongClient();
}

/** Compares with all valid secrets: there are several during the overlap of a rotation. */
async function isSecretOf(
  { applications }: ClientGateOptions["store"],
  id: string,
  hash: Uint8Array,
  now: number,
) {
  const hashes = await applications.clientSecretHashes(id, now);
  return hashes.some((good) => crypto.timingSafeEqual(hash, good));
}

const unauthenticated = () =>
  new OAuthError("invalid_client", "The client must authenticate with its client_id and client_secret");

interface Credentials {
  readonly id: string;
  readonly secret: string | undefined;
}

function readCredentials(authorization: string | null, form: Parameters): Credentials {
  // Some libraries send an access token with every request. It does not authenticate the client.
  const isBearer = authorization !== null && /^bearer(?: |$)/i.test(authorization);
  const basic = authorization === null || isBearer ? null : readBasic(authorization);
  const id = form.get("client_id");
  const secret = form.get("client_secret");
  if (basic && secret !== undefined) {
    throw new OAuthError("invalid_request", "The client must use only one method of authentication");
  }
  if (basic && id !== undefined && id !== basic.id) {
    throw new OAuthError("invalid_request", "The client_id differs from that of the Authorization header");
  }
  if (basic) return basic;
  if (id === undefined) throw unauthenticated();
  return { id, secret };
}

const notBasic = () =>
  new OAuthError(
    "invalid_client",
    "The Authorization header must be Basic, client_id:client_secret in base64",
  );

function readBasic(authorization: string): Credentials {
  const encoded = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) throw notBasic();
  const text = Buffer.from(encoded, "base64").toString();
  const colon = text.indexOf(":");
  if (colon === -1) throw notBasic();
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll("+", " "));
    // Some libraries send public clients with an empty password.
    return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) || undefined };
  } catch {
    throw notBasic();
  }
}
