/*
 * What the pages are told of their sessions. The server's handlers have to return these types.
 */

/** `GET` and `POST /console/session`. */
export interface ConsoleSession {
  /** The operator key that it was begun with. */
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly role: "operator" | "publisher" | "reader";
  };
  readonly version: string;
  /** The external URL of the public listener. */
  readonly public_url: string;
}

/** `GET` and `POST /portal/session`. */
export interface PortalSession {
  readonly application: { readonly id: string; readonly name: string };
  readonly expires_at: string;
}
