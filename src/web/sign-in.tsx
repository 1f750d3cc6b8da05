import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { asFault, asJson, base, Fault, hasExpired, otherTabs, reconnects, session } from "./client.ts";
import { dropDrafts, hasDrafts } from "./form.ts";
import { useAction } from "./load.ts";
import { Button, FaultNotice, LinkButton } from "./parts/basics.tsx";
import { Field, Form } from "./parts/form.tsx";
import { Dialog } from "./parts/overlays.tsx";
import { SignInPage } from "./parts/shell.tsx";
import { to } from "./places.ts";
import type { LoginBegun, OwnedApplications, PortalSession } from "./session.ts";

interface SignedInProps<Session> {
  readonly kind: string;
  readonly intro: ComponentChildren;
  readonly fields: readonly { readonly name: string; readonly label: string; readonly isSecret?: boolean }[];
  /** Another way to sign in, below the form. */
  readonly besides?: ComponentChildren;
  /** Returns the request that begins a session. */
  readonly begin: (values: Readonly<Record<string, string>>) => RequestInit;
  /** Returns the id of the session's key or application. */
  readonly idOf: (session: Session) => string;
  readonly children: (session: Session, signOut: () => Promise<void>) => ComponentChildren;
}

/** The typed secrets. They stay in memory, and only until they are sent. */
const typed = signal<Readonly<Record<string, string>>>({});

/**
 * Renders its children in a session, otherwise the sign-in form. When the session ends, the form covers the children,
 * and input is kept for the same key or application. For another key or application the page is reloaded.
 */
export function SignedIn<Session>(props: SignedInProps<Session>) {
  const { kind, intro, fields, besides, begin, idOf, children } = props;
  const current = useSignal<Session | null | undefined>(undefined);
  const [fault, setFault] = useState<Fault | null>(null);
  const enter = (session: Session) => {
    const { value: last } = current;
    // For another key or application, a reload removes the former data from the page and from memory.
    if (last && idOf(last) !== idOf(session)) {
      dropDrafts();
      return location.reload();
    }
    current.value = session;
    if (hasExpired.value) reconnects.value++;
    hasExpired.value = false;
  };
  const look = () =>
    session<Session>("GET").then(enter, (error) => {
      current.value ??= null;
      if (error instanceof Fault && error.status !== 401) setFault(error);
    });
  useEffect(() => {
    otherTabs.onmessage = ({ data }) => {
      if (data === "begun") look();
      else hasExpired.value = true;
    };
    // The browser may cache the page and show it again after Back.
    addEventListener("pagehide", () => (hasExpired.value = true));
    addEventListener("pageshow", ({ persisted }) => persisted && look());
    look();
  }, []);
  const signIn = useAction(async () => {
    setFault(null);
    try {
      // Copied text often has a space or a line's end around it.
      const pasted = Object.entries(typed.value).map(([name, text]) => [name, text.trim()]);
      enter(await session<Session>("POST", begin(Object.fromEntries(pasted))));
      otherTabs.postMessage("begun");
    } finally {
      const kept = fields.filter(({ isSecret }) => !isSecret);
      typed.value = Object.fromEntries(kept.map(({ name }) => [name, typed.value[name] ?? ""]));
    }
  });
  const signOut = async () => {
    if (hasDrafts() && !confirm("Sign out and discard what is not saved?")) return;
    dropDrafts();
    await session("DELETE").catch(() => {});
    otherTabs.postMessage("ended");
    location.reload();
  };
  if (current.value === undefined) return null;
  const form = (
    <>
      <Form label="Sign in" of={{ ...signIn, fault: signIn.fault ?? fault }} verb="Sign in">
        <p>{intro}</p>
        {fields.map(({ name, label, isSecret }, i) => (
          <Field
            key={name}
            name={name}
            label={label}
            type={isSecret ? "password" : "text"}
            autocomplete={isSecret ? "current-password" : "username"}
            required
            autofocus={i === 0}
            value={typed.value[name] ?? ""}
            onInput={(value) => {
              typed.value = { ...typed.value, [name]: value };
            }}
          />
        ))}
      </Form>
      {besides}
    </>
  );
  if (current.value === null) {
    return (
      <SignInPage kind={kind}>
        <h1>Sign in</h1>
        {form}
      </SignInPage>
    );
  }
  return (
    <>
      <div class="session">{children(current.value, signOut)}</div>
      {hasExpired.value && (
        <Dialog title="Your session has ended." isUnasked mustAnswer onClose={() => {}}>
          <p>Sign in again to continue where you were.</p>
          {form}
        </Dialog>
      )}
    </>
  );
}

const hasLogin = "login" in document.documentElement.dataset;

/** Whether the browser comes back from the platform's login. */
export const isBackFromLogin = hasLogin && location.pathname === `${base}/signed-in`;

const placeKey = "onair-place";

/** Returns the page that the user came from; the front page when unknown. */
function takePlace(): string {
  const place = sessionStorage.getItem(placeKey) ?? "";
  sessionStorage.removeItem(placeKey);
  return place.startsWith(`${base}/`) ? place : base || "/";
}

/** The sign-in as the owner of an application, if the platform supports it. */
export function OwnerLoginButton() {
  const begin = useAction(async () => {
    const login = await session<LoginBegun>("POST", {}, "login");
    sessionStorage.setItem(placeKey, location.pathname + location.search);
    location.assign(login.location);
  });
  if (!hasLogin) return null;
  return (
    <>
      <p>Or use your account, if you are the owner of an application.</p>
      <FaultNotice fault={begin.fault} />
      <Button onClick={begin.run} isBusy={begin.isBusy}>
        Sign in with your account
      </Button>
    </>
  );
}

/** Reads the answer from the URL's query, and removes it from the URL. */
function answerOfLogin(): { readonly code: string | null; readonly error: string | null } {
  const query = new URLSearchParams(location.search);
  history.replaceState(null, "", location.pathname);
  return { code: query.get("code"), error: query.get("error") };
}

/** The error for a refused sign-in. The description in the URL is not shown, because any link could contain one. */
function refusalOf(error: string | null): Fault {
  return error === "access_denied"
    ? new Fault("The sign-in was refused.", "access_denied", 0)
    : new Fault("The sign-in failed. Try again.", "unknown", 0);
}

function owned(): Promise<OwnedApplications> {
  const { code, error } = answerOfLogin();
  if (code === null) return Promise.reject(refusalOf(error));
  return session<OwnedApplications>("POST", asJson({ code }), "login/answer");
}

/** Begins a session for an application of the signed-in user. With several applications, the user chooses one. */
export function BackFromLogin() {
  const [choice, setChoice] = useState<OwnedApplications["applications"] | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const choose = async (id: string) => {
    try {
      await session<PortalSession>("POST", asJson({ application_id: id }), "login/session");
      otherTabs.postMessage("begun");
      location.replace(takePlace());
    } catch (error) {
      setFault(asFault(error));
    }
  };
  useEffect(() => {
    owned().then(
      ({ applications }) => {
        const [only, another] = applications;
        if (only && !another) return choose(only.id);
        setChoice(applications);
      },
      (error) => setFault(asFault(error)),
    );
  }, []);
  if (fault) {
    return (
      <SignInPage kind="Developers">
        <h1>Not signed in</h1>
        <FaultNotice fault={fault} />
        <LinkButton href={to("") || "/"}>Back to sign-in</LinkButton>
      </SignInPage>
    );
  }
  if (choice === null) return null;
  if (choice.length === 0) {
    return (
      <SignInPage kind="Developers">
        <h1>No applications</h1>
        <p>
          You are signed in, but you are not the owner of an application. Ask the platform to register you as
          one, or sign in with a client id and secret.
        </p>
        <LinkButton href={to("") || "/"}>Back to sign-in</LinkButton>
      </SignInPage>
    );
  }
  return (
    <SignInPage kind="Developers">
      <h1>Choose an application</h1>
      {choice.map(({ id, name }) => (
        <Button key={id} onClick={() => choose(id)}>
          <bdi>{name}</bdi>
        </Button>
      ))}
    </SignInPage>
  );
}
