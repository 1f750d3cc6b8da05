import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Fault, hasExpired, session } from "./client.ts";
import { useAction } from "./load.ts";
import { Field, Form } from "./parts/form.tsx";
import { SignInPage } from "./parts/shell.tsx";

interface SignedInProps<Session> {
  readonly kind: string;
  readonly intro: ComponentChildren;
  readonly fields: readonly { readonly name: string; readonly label: string; readonly isSecret?: boolean }[];
  /** Another way to sign in, below the form. */
  readonly besides?: ComponentChildren;
  /** The request that begins a session. */
  readonly begin: (values: Readonly<Record<string, string>>) => RequestInit;
  readonly children: (session: Session, signOut: () => Promise<void>) => ComponentChildren;
}

/** Typed secrets stay in memory, and only until they are sent. */
const typed = signal<Readonly<Record<string, string>>>({});

/** Shows its children where there is a session, and else the form that begins one. */
export function SignedIn<Session>({ kind, intro, fields, besides, begin, children }: SignedInProps<Session>) {
  const [current, setCurrent] = useState<Session | null | undefined>(undefined);
  const [fault, setFault] = useState<Fault | null>(null);
  useEffect(() => {
    session<Session>("GET").then(setCurrent, (error) => {
      setCurrent(null);
      if (error instanceof Fault && error.status !== 401) setFault(error);
    });
  }, []);
  const signIn = useAction(async () => {
    setFault(null);
    try {
      setCurrent(await session<Session>("POST", begin(typed.value)));
      hasExpired.value = false;
    } finally {
      const kept = fields.filter(({ isSecret }) => !isSecret);
      typed.value = Object.fromEntries(kept.map(({ name }) => [name, typed.value[name] ?? ""]));
    }
  });
  const signOut = async () => {
    await session("DELETE").catch(() => {});
    location.reload();
  };
  if (current === undefined) return null;
  if (current !== null && !hasExpired.value) return children(current, signOut);
  return (
    <SignInPage kind={kind}>
      <Form label="Sign in" of={{ ...signIn, fault: signIn.fault ?? fault }} verb="Sign in">
        <h1>Sign in</h1>
        <p>{intro}</p>
        {fields.map(({ name, label, isSecret }) => (
          <Field
            key={name}
            name={name}
            label={label}
            type={isSecret ? "password" : "text"}
            autocomplete={isSecret ? "current-password" : "username"}
            required
            value={typed.value[name] ?? ""}
            onInput={(value) => {
              typed.value = { ...typed.value, [name]: value };
            }}
          />
        ))}
      </Form>
      {besides}
    </SignInPage>
  );
}
