import type { Application } from "../domain/applications.ts";
import type { Grant } from "../domain/tokens.ts";

/** A caller with a valid access token. */
export interface Caller {
  readonly grant: Grant;
  readonly application: Application;
  /** The hash under which the token is stored; null for a JWT of the platform, which is not stored. */
  readonly tokenHash: Uint8Array | null;
}
