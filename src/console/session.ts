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
  /** With its commit, where that is known. */
  readonly version: string;
  /** The external URL of the public listener. */
  readonly public_url: string;
}

/** `GET` and `POST /portal/session`. */
export interface PortalSession {
  readonly application: { readonly id: string; readonly name: string };
  readonly expires_at: string;
}

/** `POST /portal/login`: where the browser goes to sign in. */
export interface LoginBegun {
  readonly location: string;
}

/** `POST /portal/login/answer`: the applications that the user who has signed in may choose from. */
export interface OwnedApplications {
  readonly applications: readonly PortalSession["application"][];
}

/** `GET /welcome/facts`: what the first page of `onair dev` shows. */
export interface WelcomeFacts {
  readonly public_url: string;
  readonly admin_url: string;
  readonly receiver_url: string;
  /** Where the deliveries of the sample application go: to the receiver, until its developer changes that; null for nowhere. */
  readonly webhook_url: string | null;
  /** Where a browser signs in to the sample application as a sample user. */
  readonly sign_in_url: string;
  readonly has_portal: boolean;
  /** The operator key, and what belongs to the sample application; null for a browser on another machine. */
  readonly secrets: {
    readonly admin_key: string;
    readonly client_id: string;
    readonly client_secret: string;
    readonly access_token: string;
    readonly webhook_secret: string;
  } | null;
  /** A word that finds some of the users. */
  readonly query: string;
  readonly users: readonly {
    readonly id: number;
    readonly username: string;
    readonly display_name: string;
    readonly is_live: boolean;
  }[];
  /** What the receiver got last, the newest first. */
  readonly inbox: readonly InboxEntry[];
}

export interface InboxEntry {
  readonly id: string;
  readonly at: string;
  /** Whether its signature was right. */
  readonly is_verified: boolean;
  readonly type: string;
  readonly text: string;
  readonly attempt: number;
}

/** What the first page shows. */
export interface WelcomeSource {
  facts(): Promise<WelcomeFacts>;
  /** Calls `listener` from now on when something has come into the inbox. */
  onInbox(listener: () => void): void;
}
