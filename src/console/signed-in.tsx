import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Fault, hasExpired, session } from "./client.ts";
import { Button, FaultNotice } from "./parts/basics.tsx";
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
  const signIn = async (values: Readonly<Record<string, string>>) => {
    try {
      const begun = await session<Session>("POST", begin(values));
      setFault(null);
      hasExpired.value = false;
      setCurrent(begun);
    } catch (error) {
      setFault(error instanceof Fault ? error : new Fault(String(error), "unknown", 0));
    }
  };
  const signOut = async () => {
    await session("DELETE").catch(() => {});
    location.reload();
  };
  if (current === undefined) return null;
  if (current !== null && !hasExpired.value) return children(current, signOut);
  return (
    <SignInPage kind={kind}>
      <SignInForm intro={intro} fields={fields} fault={fault} onSignIn={signIn} />
      {besides}
    </SignInPage>
  );
}

/** Typed secrets stay in memory, and only until they are sent. */
const typed = signal<Readonly<Record<string, string>>>({});

function SignInForm({
  intro,
  fields,
  fault,
  onSignIn,
}: Pick<SignedInProps<unknown>, "intro" | "fields"> & {
  fault: Fault | null;
  onSignIn: (values: Readonly<Record<string, string>>) => Promise<void>;
}) {
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    await onSignIn(typed.value);
    const kept = fields
      .filter(({ isSecret }) => !isSecret)
      .map(({ name }) => [name, typed.value[name] ?? ""]);
    typed.value = Object.fromEntries(kept);
    setBusy(false);
  };
  return (
    <Form onSubmit={submit} label="Sign in">
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
      <FaultNotice fault={fault} />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </Form>
  );
}
