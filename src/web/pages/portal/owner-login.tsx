import { useEffect, useState } from "preact/hooks";
import { asFault, base, Fault, otherTabs, session } from "../../client.ts";
import { useAction } from "../../load.ts";
import { Button, FaultNotice, LinkButton } from "../../parts/basics.tsx";
import { SignInPage } from "../../parts/shell.tsx";
import { to } from "../../places.ts";
import type { LoginBegun, OwnedApplications, PortalSession } from "../../session.ts";

const hasLogin = "login" in document.documentElement.dataset;
const asJson = (body: object): RequestInit => ({
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

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

let answered: Promise<OwnedApplications> | null = null;

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
    answered ??= owned();
    answered.then(
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
