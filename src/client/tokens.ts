import { errorOf } from "./http.ts";

/** Tokens, which a program can save and use again later. */
export interface Session {
  readonly accessToken: string;
  /** The time at which the access token expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The refresh token of a user who signed in. Each renewal gives a new refresh token. */
  readonly refreshToken?: string;
}

/** The credentials of an application, of a user who signed in to it, or an existing token. */
export interface Credentials {
  /** An existing access token, which is not renewed. */
  readonly token?: string | undefined;
  readonly clientId?: string | undefined;
  /** The client secret. Public clients have none. */
  readonly clientSecret?: string | undefined;
  /** The scopes to request; by default all scopes of the application. */
  readonly scopes?: readonly string[] | undefined;
  /** Tokens of an earlier run. Tokens with a refresh token are renewed for their user. */
  readonly session?: Session | undefined;
  /** Called with new tokens before they are used. After an error, it is called again with the same tokens. */
  saveSession?(session: Session): void | Promise<void>;
}

/** The access token of a client, fetched when first needed and renewed before it expires. */
interface TokenSource {
  /** Returns the token to send; null for a client without credentials. */
  current(): Promise<string | null>;
  /** Returns the next token after the server refused this one; null when it cannot be renewed. */
  after(refused: string): Promise<string | null>;
}

type Send = (request: Request) => Promise<Response>;

/** The time before its expiry at which a token is renewed, or after nine tenths of its lifetime if that is later. */
const earlyMs = 60_000;

/** Whether a header can have this secret. Headers are sent without white space at the ends. */
export const fitsHeader = (secret: string): boolean => /^[\x20-\x7e]*$/.test(secret.trim());

/** Throws a `TypeError` when the credentials are incomplete, or a header cannot have the token. */
export function tokenSource(url: string, credentials: Credentials, send: Send): TokenSource {
  const { token, clientId, clientSecret, session } = credentials;
  if (token !== undefined && !fitsHeader(token))
    throw new TypeError("the access token has invalid characters: check that it was copied correctly");
  if (token !== undefined) return { current: async () => token, after: async () => null };
  if (clientId === undefined && clientSecret !== undefined)
    throw new TypeError("a client secret needs the client id");
  // Options with the value undefined come from environment variables that are not set.
  if (clientId === undefined && "clientId" in credentials && "clientSecret" in credentials)
    throw new TypeError("clientId and clientSecret are undefined: are their environment variables set?");
  if (clientId === undefined) return { current: async () => null, after: async () => null };
  if (clientSecret === undefined && session?.refreshToken === undefined)
    throw new TypeError("a client id needs a client secret, or the session of a user");
  return new RenewedToken(url, { ...credentials, clientId }, send);
}

class RenewedToken implements TokenSource {
  #session: Session | null;
  #renewAt: number;
  /** The renewal in progress, which all requests share. */
  #renewal: Promise<Session> | null = null;
  /** Tokens not saved yet. They are kept, because using the previous refresh token again would revoke all of them. */
  #unsaved: Session | null = null;

  constructor(
    private readonly url: string,
    private readonly credentials: Credentials & { readonly clientId: string },
    private readonly send: Send,
  ) {
    this.#session = credentials.session ?? null;
    this.#renewAt = this.#session === null ? 0 : this.#session.expiresAt - earlyMs;
  }

  async current(): Promise<string> {
    const session = this.#session;
    if (session && Date.now() < this.#renewAt) return session.accessToken;
    return (await this.#renew()).accessToken;
  }

  async after(refused: string): Promise<string> {
    const session = this.#session;
    if (session && session.accessToken !== refused) return session.accessToken;
    return (await this.#renew()).accessToken;
  }

  #renew(): Promise<Session> {
    this.#renewal ??= this.#fetch().finally(() => {
      this.#renewal = null;
    });
    return this.#renewal;
  }

  async #fetch(): Promise<Session> {
    const session = this.#unsaved ?? (await this.#ask());
    this.#unsaved = session;
    await this.credentials.saveSession?.(session);
    this.#unsaved = null;
    const lifeMs = session.expiresAt - Date.now();
    this.#renewAt = session.expiresAt - Math.min(earlyMs, lifeMs / 10);
    this.#session = session;
    return session;
  }

  #ask(): Promise<Session> {
    const { clientId, clientSecret, scopes } = this.credentials;
    const refreshToken = this.#session?.refreshToken;
    const form = new URLSearchParams({
      ...(refreshToken === undefined
        ? { grant_type: "client_credentials" }
        : { grant_type: "refresh_token", refresh_token: refreshToken }),
      client_id: clientId,
      ...(clientSecret !== undefined && { client_secret: clientSecret }),
      ...(scopes && refreshToken === undefined && { scope: scopes.join(" ") }),
    });
    return requestToken(this.url, form, this.send);
  }
}

/** Requests tokens from the token endpoint. Throws an `OnairError` when it refuses. */
export async function requestToken(url: string, form: URLSearchParams, send: Send): Promise<Session> {
  const requestedAt = Date.now();
  const request = new Request(`${url}/oauth/token`, { method: "POST", body: form, redirect: "manual" });
  const response = await send(request);
  if (!response.ok) throw await errorOf(response);
  const answer = (await response.json()) as {
    readonly access_token: string;
    readonly expires_in: number;
    readonly refresh_token?: string;
  };
  return {
    accessToken: answer.access_token,
    expiresAt: requestedAt + answer.expires_in * 1000,
    ...(answer.refresh_token !== undefined && { refreshToken: answer.refresh_token }),
  };
}
