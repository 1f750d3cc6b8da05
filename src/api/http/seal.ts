import { newId } from "../../domain/ids.ts";
import { type LoginRequest, loginLimits, type ScopeName } from "../../domain/tokens.ts";

/** The length of the tag, which is also the initialisation vector. */
const tagBytes = 16;

/**
 * Makes and opens sealed values: URL-safe, encrypted and authenticated, so that a value given to others comes back
 * unread and unchanged. Equal contents give equal values: the tag over the content is the initialisation vector of its
 * encryption (SIV, as in RFC 5297, with HMAC-SHA256 and AES-256-CTR).
 */
export class Seal {
  readonly #encryptionKey: Uint8Array;
  readonly #authenticationKey: Uint8Array;

  /**
   * @param secret the same across restarts and replicas, so that values stay valid
   * @param purpose a value of one purpose is none of another
   */
  constructor(secret: string, purpose: string) {
    this.#encryptionKey = hmac(secret, `${purpose} encryption`);
    this.#authenticationKey = hmac(secret, `${purpose} authentication`);
  }

  seal(content: Uint8Array): string {
    const tag = this.#tag(content);
    return Buffer.concat([tag, this.#crypt(content, tag)]).toString("base64url");
  }

  /** Returns the content of a value; null if it was not made with this secret for this purpose. */
  open(sealed: string): Buffer | null {
    const bytes = Buffer.from(sealed, "base64url");
    // Refuses other base64url spellings of the same bytes.
    if (bytes.length <= tagBytes || bytes.toString("base64url") !== sealed) return null;
    const tag = bytes.subarray(0, tagBytes);
    const content = this.#crypt(bytes.subarray(tagBytes), tag);
    return crypto.timingSafeEqual(this.#tag(content), tag) ? content : null;
  }

  /** Returns a hash of a text that only this secret gives. */
  hash(text: string): Buffer {
    return hmac(this.#authenticationKey, text);
  }

  #tag(content: Uint8Array): Buffer {
    return hmac(this.#authenticationKey, content).subarray(0, tagBytes);
  }

  /** Encrypts and decrypts. Loads node:crypto with the first value to keep it out of the start. */
  #crypt(content: Uint8Array, tag: Uint8Array): Buffer {
    const { createCipheriv } = process.getBuiltinModule("node:crypto");
    return createCipheriv("aes-256-ctr", this.#encryptionKey, tag).update(content);
  }
}

function hmac(key: string | Uint8Array, content: string | Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(content).digest();
}

const prefix = "onair_lc_";

/** The first line of a challenge's content. The id makes challenges of equal requests differ. */
type Head = readonly [
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
    const head: Head = [newId(), expiresAt, applicationId, scopes, codeChallenge, browser, state !== null];
    // The state is not JSON, which would lengthen its control characters sixfold. A redirect URI has no line ends.
    const content = `${JSON.stringify(head)}\n${redirectUri}\n${state ?? ""}`;
    return prefix + this.#seal.seal(Buffer.from(content));
  }

  /** Returns the request of a challenge; null if it was not made with this secret, or has expired. */
  read(challenge: string, now: number): LoginRequest | null {
    if (!challenge.startsWith(prefix) || challenge.length > loginLimits.maxChallengeLength) return null;
    const content = this.#seal.open(challenge.slice(prefix.length))?.toString();
    if (content === undefined) return null;
    const headEnd = content.indexOf("\n");
    const uriEnd = content.indexOf("\n", headEnd + 1);
    const head = JSON.parse(content.slice(0, headEnd)) as Head;
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
