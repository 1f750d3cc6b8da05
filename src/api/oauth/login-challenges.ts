import { newId } from "../../domain/ids.ts";
import { type LoginRequest, loginLimits, type ScopeName } from "../../domain/tokens.ts";
import { Seal } from "../http/seal.ts";

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
