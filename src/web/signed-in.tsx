import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Fault, hasExpired, otherTabs, reconnects, session } from "./client.ts";
import { dropDrafts, hasDrafts } from "./drafts.ts";
import { useAction } from "./load.ts";
import { Head, LinkButton } from "./parts/basics.tsx";
import { Dialog } from "./parts/dialog.tsx";
import { Field, Form } from "./parts/form.tsx";
import { SignInPage } from "./parts/shell.tsx";
import { to } from "./places.ts";

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

/** The page for an unknown URL. */
export function Nothing() {
  return (
    <>
      <Head title="Page not found">The address may be mistyped, or the page no longer exists.</Head>
      <div class="row">
        <LinkButton href={to("")}>Go to the overview</LinkButton>
      </div>
    </>
  );
}
