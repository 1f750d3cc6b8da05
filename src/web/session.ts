/*
 * The answers to requests of the pages outside of the documented APIs. The server's handlers must return these types.
 */

/** `GET` and `POST /console/session`. */
export interface ConsoleSession {
  /** The operator key of the session. */
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly role: "operator" | "publisher" | "reader";
  };
  /** The version, with the commit if known. */
  readonly version: string;
  /** The external URL of the public listener. */
  readonly public_url: string;
}

/** `GET` and `POST /portal/session`. */
export interface PortalSession {
  readonly application: { readonly id: string; readonly name: string };
  readonly expires_at: string;
}

/** `GET /portal/users`: users by a part of a name or an id, or by ids. */
export interface FoundUsers {
  readonly data: readonly {
    readonly id: number;
    readonly username: string;
    readonly display_name: string;
    /** null without a picture. */
    readonly profile_picture: string | null;
    readonly followers_count: number;
    readonly is_verified: boolean;
  }[];
}

/** `POST /portal/login`: the URL at which the browser signs in. */
export interface LoginBegun {
  readonly location: string;
}

/** `POST /portal/login/answer`: the applications that the signed-in user owns. */
export interface OwnedApplications {
  readonly applications: readonly PortalSession["application"][];
}

/** `GET /welcome/facts`: the content of the first page of `onair dev`. */
export interface WelcomeFacts {
  readonly public_url: string;
  readonly admin_url: string;
  readonly receiver_url: string;
  /** The webhook URL of the sample application: the receiver's URL, unless it was changed; null for none. */
  readonly webhook_url: string | null;
  /** The URL to sign in to the sample application as a sample user. */
  readonly sign_in_url: string;
  readonly has_portal: boolean;
  /** The id of the application for guides, which begins without webhook URL and subscriptions. */
  readonly guide_id: string;
  /** The operator key and the secrets of the sample application; null for a browser on another machine. */
  readonly secrets: {
    readonly admin_key: string;
    readonly client_id: string;
    readonly client_secret: string;
    readonly access_token: string;
    readonly webhook_secret: string;
  } | null;
  /** A search term that finds some of the users. */
  readonly query: string;
  readonly users: readonly {
    readonly id: number;
    readonly username: string;
    readonly display_name: string;
    readonly is_live: boolean;
  }[];
  /** The latest requests to the receiver, newest first. */
  readonly inbox: readonly InboxEntry[];
}

export interface InboxEntry {
  readonly id: string;
  readonly at: string;
  /** Whether the signature of the delivery was valid. */
  readonly is_verified: boolean;
  readonly type: string;
  readonly text: string;
  readonly attempt: number;
}

/** `POST /welcome/sign-in`: the page to open, for which the answer has set the cookie. */
export interface WelcomeSignIn {
  readonly location: string;
}

/** The data source of the first page. */
export interface WelcomeSource {
  facts(): Promise<WelcomeFacts>;
  /** Begins a session of the console, and returns the value of the `Set-Cookie` header that carries it. */
  consoleCookie(): Promise<string>;
  /** Calls `listener` for each request that arrives in the inbox. */
  onInbox(listener: () => void): void;
}
