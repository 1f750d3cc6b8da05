import {
  OptionalKind,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  Type,
} from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import { newId } from "../../domain/ids.ts";
import type { Store } from "../../domain/store.ts";
import {
  type LoginRequest,
  loginLimits,
  parseScopeNames,
  type Scope,
  type ScopeName,
  scopes,
  scopesWithin,
  secretHash,
} from "../../domain/tokens.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import { type Access, admitAnyone, requireWithinLimit } from "./access.ts";
import { clientNetworkOf, type RequestContext } from "./context.ts";
import { Seal } from "./cursors.ts";
import { OAuthError, uncached, wrongClient } from "./errors.ts";
import {
  deferBody,
  type OpenContext,
  operationOf,
  publicBodyBytes,
  readBytes,
  requireMediaType,
} from "./input.ts";
import type { DescribedRoute } from "./openapi.ts";

/*
 * What OAuth endpoints share: the gate that authenticates the OAuth client of a form, the reader of forms and their
 * fields, and the challenges of logins.
 */

/** Wrong client secrets per minute from one address. Further wrong secrets are `rate_limited`. */
const wrongSecrets = 60;

interface OAuthClientOptions {
  readonly store: Pick<Store, "applications">;
  readonly access: Access;
  readonly now: () => number;
}

/** The OAuth clients that may call an endpoint: any, or only those with a secret. */
export type OAuthClientKind = "any" | "confidential";

/** The part of Elysia's context that the gate of an OAuth client uses. */
export interface OAuthFormContext extends OpenContext {
  readonly set: { readonly headers: object };
}

/**
 * Returns the gate of a route that OAuth clients call with a form. It applies the rate limit of the address, reads the
 * form, authenticates the OAuth client, and then reads the fields of the route's body schema.
 */
export function oauthClientGate(options: OAuthClientOptions, kind: OAuthClientKind) {
  let form: TSchema = Type.Object({});
  let operation: string | null = null;
  return {
    introspect(route: { body?: TSchema; parse?: unknown } & DescribedRoute): void {
      operation = operationOf(route);
      if (route.body) form = route.body;
      deferBody(route);
    },
    async admit(context: OAuthFormContext): Promise<void> {
      const { requestContext, request, set } = context;
      requestContext.operation = operation;
      Object.assign(set.headers, uncached);
      admitAnyone(options.access, requestContext);
      const parameters = await readForm(request, form);
      requestContext.oauthClient = await authenticateClient(options, requestContext, parameters);
      if (kind === "confidential" && requestContext.oauthClient.client_type === "public") {
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
  { store, access, now }: OAuthClientOptions,
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
    requestContext.oauthClientSecretHash = hash;
    return application;
  }
  const bucket = `wrong secrets from ${clientNetworkOf(requestContext)}`;
  requireWithinLimit(access.limiter.take(bucket, wrongSecrets), "wrong client secrets");
  throw wrongClient(secret);
}

/**
 * Checks the OAuth client again after a token of the application itself was created. If the application's secret was
 * rotated during the request, the revocation of existing tokens missed the new token: then the new token is revoked.
 * Throws `invalid_client`.
 */
export async function requireClientStill(
  { store, now }: { readonly store: Pick<Store, "applications" | "tokens">; readonly now: () => number },
  {
    oauthClient,
    oauthClientSecretHash: secret,
  }: Pick<RequestContext, "oauthClient" | "oauthClientSecretHash">,
  tokenHash: Uint8Array,
): Promise<void> {
  if (!oauthClient || !secret || (await isSecretOf(store, oauthClient.id, secret, now()))) return;
  await store.tokens.revoke(tokenHash, oauthClient.id);
  throw wrongClient();
}

/**
 * Whether a hash is one of the valid secrets of an OAuth client, which has several during the overlap of a rotation.
 */
async function isSecretOf(
  { applications }: OAuthClientOptions["store"],
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

/*
 * OAuth forms, read by the schema that a route declares as its body. By RFC 6749, sections 3.1 and 3.2, an empty
 * parameter counts as absent, an unknown one is ignored, and no parameter may be repeated.
 */

const formMediaType = "application/x-www-form-urlencoded";

/** A form with string fields. Elysia does not validate it, because `readFields` does. */
export function Form<Fields extends TProperties>(
  fields: Fields,
  options: { $id: string; description: string; example?: object },
) {
  const { example, ...about } = options;
  return Type.Object(fields, { ...asForm, ...about, ...(example && { examples: [example] }) });
}

/**
 * One of several forms, distinguished by `grant_type`. The OpenAPI document has one object with the fields of all:
 * generators of clients send the fields of each form of a union, and so `grant_type` several times.
 */
export function FormByGrantType<Forms extends TObject[]>(
  forms: [...Forms],
  { example, ...about }: { $id: string; description: string; example: object },
) {
  const names = new Set(forms.flatMap(({ properties }) => Object.keys(properties)));
  const fields = Object.fromEntries([...names].map((name) => [name, fieldOfForms(forms, name)]));
  const whole = Type.Object(fields, { ...asForm, ...about, forms, examples: [example] });
  return Type.Unsafe<Static<TUnion<Forms>>>(whole);
}

const grantTypeOf = ({ properties }: TObject): string => properties["grant_type"]?.["const"];

/** Returns the schema of a field of several forms. Its description has the grant types for which it differs. */
function fieldOfForms(forms: readonly TObject[], name: string): TSchema {
  if (name === "grant_type") return oneOf(forms.map(grantTypeOf), { description: "Grant type." });
  const having = forms.filter(({ properties }) => name in properties);
  const descriptions = having.map((form) => {
    const { description, ...schema } = form.properties[name] as TSchema;
    const needed = OptionalKind in schema ? "" : "Required. ";
    return [`\`${grantTypeOf(form)}\``, `${needed}${description}`] as const;
  });
  const isSame = having.length === forms.length && new Set(descriptions.map(([, text]) => text)).size === 1;
  const description = isSame
    ? descriptions[0]?.[1]
    : descriptions.map(([grantType, text]) => `With ${grantType}: ${text}`).join(" ");
  return Type.Optional({ ...having[0]?.properties[name], description } as TSchema);
}

const asForm = {
  contentMediaType: formMediaType,
  noValidate: true,
  // Unknown parameters are ignored (RFC 6749, section 3.2).
  additionalProperties: true,
} as const;

/** Parameters by name, without empty parameters. */
type Parameters = ReadonlyMap<string, string>;

/** Parameters, and the names of those that occur more than once, which is an error. */
export interface RequestParameters {
  readonly parameters: Parameters;
  readonly repeated: ReadonlySet<string>;
}

/** Reads the parameters of a query or form. */
export function readParameters(text: string): RequestParameters {
  const parameters = new Map<string, string>();
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    // `resource` is the only standard parameter that may be repeated (RFC 8707, section 2). On Air ignores it.
    if (name === "resource") continue;
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
    if (value !== "") parameters.set(name, value);
  }
  return { parameters, repeated };
}

/** Reads the parameters of an OAuth form. Throws `invalid_request` for repeated parameters. */
async function readForm(request: Request, form: TSchema): Promise<Parameters> {
  requireMediaType(request, formMediaType);
  const bytes = await readBytes(request, publicBodyBytes);
  const { parameters, repeated } = readParameters(Buffer.from(bytes).toString());
  if (repeated.size > 0) throw new OAuthError("invalid_request", repetition(repeated, formsOf(form)));
  return parameters;
}

/**
 * Returns the message for repeated parameters. It names only parameters of the forms, and no other text of the request.
 */
export function repetition(repeated: ReadonlySet<string>, forms: readonly TObject[]): string {
  const known = forms.flatMap(({ properties }) => Object.keys(properties));
  return `${known.find((name) => repeated.has(name)) ?? "A parameter"} is given more than once`;
}

/** Returns the alternatives of a form. */
function formsOf(form: TSchema): readonly TObject[] {
  return form["forms"] ?? [form];
}

/** Returns the fields of a form by its schema. Throws `invalid_request` for a missing field. */
function readFields(form: TSchema, parameters: Parameters): Record<string, string> {
  const { properties } = (form["forms"] ? byGrantType(form["forms"], parameters) : form) as TObject;
  const fields: Record<string, string> = {};
  for (const [name, property] of Object.entries(properties)) {
    const text = OptionalKind in property ? parameters.get(name) : required(parameters, name);
    if (text !== undefined) fields[name] = text;
  }
  return fields;
}

function byGrantType(forms: readonly TObject[], parameters: Parameters): TObject {
  const grantTypes = forms.map(grantTypeOf);
  const form = forms[grantTypes.indexOf(required(parameters, "grant_type"))];
  if (form) return form;
  const known = grantTypes.join(", ");
  throw new OAuthError("unsupported_grant_type", `The supported grant types are ${known}`);
}

function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is required`);
  return value;
}

/*
 * Fields that several OAuth endpoints share, and their examples in the reference.
 */

export const text = (description: string) => Type.String({ description });
export const optional = (description: string) => Type.Optional(text(description));

/** The credentials of an OAuth client in a form. */
export const clientFields = {
  client_id: optional("Client id of the application. Required unless you use HTTP Basic."),
  client_secret: optional("Client secret. Required unless you use HTTP Basic or are a public client."),
};

/** The field for requested scopes. @param rest a sentence about the default */
export const scopeField = (rest: string) => ({
  scope: optional(
    `Scopes separated by spaces: ${scopes.map((scope) => `\`${scope}\``).join(" and ")}. ${rest}`,
  ),
});

export const exampleClientId = "01KATHZX5M9S3E6R8B2D4F7G1H";
export const exampleRedirectUri = "https://app.example/callback";
export const exampleToken = "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M";
export const exampleRefreshToken = "onair_rt_R5yW2nH6pL4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1v";

/** A form that names a token. */
export const TokenToLookAt = (example: object) =>
  Form(
    {
      token: text("An access token or a refresh token."),
      token_type_hint: optional("Ignored: the type is known from the token."),
      ...clientFields,
    },
    { $id: "TokenToLookAt", description: "A form that names a token.", example },
  );

/** The message for a scope that the platform has not granted to the application. */
export const beyondApplication =
  "The application does not have all of these scopes; leave scope out to request those that it has";

/** Returns the requested scopes under the names in the request, or all that are `allowed`. Throws `invalid_scope`. */
export function readScopes(requested: string | undefined, allowed: readonly Scope[]): readonly ScopeName[] {
  if (requested === undefined) return allowed;
  const wanted = parseScopeNames(requested);
  if (!wanted || wanted.length === 0) {
    throw new OAuthError("invalid_scope", `scope may name ${scopes.join(" and ")}, separated by spaces`);
  }
  if (scopesWithin(wanted, allowed).length < wanted.length) {
    throw new OAuthError("invalid_scope", beyondApplication);
  }
  return wanted;
}

const challengePrefix = "onair_lc_";

/** The first line of a challenge's content. The id makes challenges of equal requests differ. */
type ChallengeHead = readonly [
  id: string,
  expiresAt: number,
  applicationId: string,
  scopes: readonly ScopeName[],
  codeChallenge: string,
  browserHash: string,
  hasState: boolean,
];

/**
 * Makes and reads the challenges with which browsers go to the platform's login page. A challenge contains its request,
 * sealed, so that nothing is stored before the platform answers: anyone can begin a login with a public `client_id`.
 */
export class LoginChallenges {
  readonly #seal: Seal;

  /** @param secret the same across restarts and replicas, so that challenges stay valid */
  constructor(secret: string) {
    this.#seal = new Seal(secret, "login challenge");
  }

  /** Returns a new challenge, of at most `loginLimits.maxChallengeLength` characters. */
  make(request: LoginRequest): string {
    const { expiresAt, applicationId, scopes, codeChallenge, browserHash, redirectUri, state } = request;
    const browser = Buffer.from(browserHash).toString("base64url");
    const head: ChallengeHead = [
      newId(),
      expiresAt,
      applicationId,
      scopes,
      codeChallenge,
      browser,
      state !== null,
    ];
    // The state is not JSON, which would lengthen its control characters sixfold. A redirect URI has no line ends.
    const content = `${JSON.stringify(head)}\n${redirectUri}\n${state ?? ""}`;
    return challengePrefix + this.#seal.seal(Buffer.from(content));
  }

  /** Returns the request of a challenge; null if it was not made with this secret, or has expired. */
  read(challenge: string, now: number): LoginRequest | null {
    if (!challenge.startsWith(challengePrefix) || challenge.length > loginLimits.maxChallengeLength)
      return null;
    const content = this.#seal.open(challenge.slice(challengePrefix.length))?.toString();
    if (content === undefined) return null;
    const headEnd = content.indexOf("\n");
    const uriEnd = content.indexOf("\n", headEnd + 1);
    const head = JSON.parse(content.slice(0, headEnd)) as ChallengeHead;
    const [, expiresAt, applicationId, scopes, codeChallenge, browser, hasState] = head;
    if (expiresAt <= now) return null;
    return {
      applicationId,
      redirectUri: content.slice(headEnd + 1, uriEnd),
      scopes,
      state: hasState ? content.slice(uriEnd + 1) : null,
      codeChallenge,
      browserHash: Buffer.from(browser, "base64url"),
      expiresAt,
    };
  }
}
