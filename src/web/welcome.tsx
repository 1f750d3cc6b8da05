import { Send } from "lucide";
import { type ComponentChildren, render } from "preact";
import { useState } from "preact/hooks";
import { asJson, session } from "./client.ts";
import { useLiveStream } from "./live.ts";
import { useAction, useLoad } from "./load.ts";
import {
  Button,
  Card,
  Empty,
  Facts,
  FaultNotice,
  LinkButton,
  Notice,
  Status,
  Value,
} from "./parts/basics.tsx";
import { Code, Tabs } from "./parts/code.tsx";
import { Brand, ConnectionBanner, ThemeButton } from "./parts/shell.tsx";
import { Read, Table } from "./parts/table.tsx";
import { Time } from "./parts/time.tsx";
import type { WelcomeFacts, WelcomeSignIn } from "./session.ts";

/** The first page of `onair dev`: URLs and keys, sample users, calls to try, and the receiver's inbox. */
function Welcome() {
  useLiveStream("/welcome/events");
  const facts = useLoad(() => session<WelcomeFacts>("GET", {}, "facts"), [], ["inbox"]);
  return (
    <>
      <header class="top plain">
        <Brand kind="for development" />
        <span class="grow" />
        <ThemeButton />
      </header>
      <ConnectionBanner />
      <main>
        <Read of={facts}>{(facts) => <Everything facts={facts} />}</Read>
      </main>
    </>
  );
}

function Everything({ facts }: { facts: WelcomeFacts }) {
  const { public_url, sign_in_url } = facts;
  return (
    <>
      <div class="hero">
        <h1>A whole streaming platform, on your machine</h1>
        <p>
          Made-up users stream, chat and follow. Events are signed and sent to a receiver that verifies them,
          below. Build your bot against it.
        </p>
        <div class="row wrap">
          <LinkButton href={`${public_url}/docs`}>Documentation</LinkButton>
          <LinkButton href={sign_in_url}>Sign in as a sample user</LinkButton>
        </div>
      </div>
      <div class="grid large">
        {facts.has_portal && (
          <Door
            facts={facts}
            page="portal"
            title="Portal, for developers"
            ways={[
              { to: "portal", text: "Open the portal", kind: "primary" },
              { to: "guide", text: "Open it as the Guide app", kind: "" },
            ]}
          >
            Where the developer of an application sees what was sent to it and why something failed,
            subscribes to events, sets filters, and changes its webhook. You enter as the application "Dev
            app", to which this page's events are sent, or as the "Guide app" of the first steps.
          </Door>
        )}
        <Door
          facts={facts}
          page="console"
          title="Console, for operators"
          ways={[{ to: "console", text: "Open the console", kind: "" }]}
        >
          Where those who run the platform look after all applications, users and deliveries, publish events,
          and make backups. You enter with the operator key.
        </Door>
      </div>
      <div class="columns">
        <div class="stack wide">
          <Calls facts={facts} />
          <Inbox facts={facts} />
        </div>
        <div class="stack wide">
          <Where facts={facts} />
          <Users users={facts.users} />
        </div>
      </div>
    </>
  );
}

interface Way {
  /** What `POST /welcome/sign-in` opens. */
  readonly to: "portal" | "guide" | "console";
  readonly text: string;
  readonly kind: "" | "primary";
}

interface DoorProps {
  readonly facts: WelcomeFacts;
  readonly page: "portal" | "console";
  readonly title: string;
  readonly ways: readonly [Way, ...Way[]];
  readonly children: ComponentChildren;
}

/** What a page is for, and buttons that sign in to it. On another machine, a link to its sign-in form. */
function Door({ facts: { public_url, admin_url, secrets }, page, title, ways, children }: DoorProps) {
  const [{ text, kind }] = ways;
  return (
    <Card title={title}>
      <div class="stack">
        <p>{children}</p>
        <div class="row wrap">
          {secrets ? (
            ways.map((way) => <Open key={way.to} {...way} />)
          ) : (
            <LinkButton kind={kind} href={`${page === "portal" ? public_url : admin_url}/${page}`}>
              {text}
            </LinkButton>
          )}
        </div>
      </div>
    </Card>
  );
}

/** A button that signs in, and what is shown when that fails. */
function Open({ to, text, kind }: Way) {
  const open = useAction(async () => {
    location.assign((await session<WelcomeSignIn>("POST", asJson({ to }), "sign-in")).location);
  });
  return (
    <>
      <FaultNotice fault={open.fault} />
      <Button {...(kind && { kind })} isBusy={open.isBusy} onClick={open.run}>
        {text}
      </Button>
    </>
  );
}

function Calls({ facts: { public_url, secrets, users, query } }: { facts: WelcomeFacts }) {
  const api = `${public_url}/public/v1`;
  const token = secrets?.access_token ?? "TOKEN";
  const calls = [
    { name: "Get a user", url: `${api}/users/${users[0]?.username}`, token },
    { name: "Search users", url: `${api}/users/search?query=${query}`, token },
    { name: "Top categories", url: `${api}/categories?limit=3` },
  ];
  return (
    <Card title="Three calls to try">
      <Tabs
        label="Calls"
        tabs={calls.map((call) => ({ name: call.name, show: () => <Call key={call.name} {...call} /> }))}
      />
    </Card>
  );
}

/** A call as a command. The page can also send it. */
function Call({ name, url, token }: { name: string; url: string; token?: string }) {
  const [answer, setAnswer] = useState<string | null>(null);
  const authorization = token && `Bearer ${token}`;
  const send = async () => {
    const response = await fetch(url, { headers: { ...(authorization && { authorization }) } });
    setAnswer(await response.text());
  };
  const header = authorization ? ` \\\n  -H 'Authorization: ${authorization}'` : "";
  return (
    <div class="stack tight">
      <Code text={`curl '${url}'${header}`} label={`Command: ${name}`} />
      <div class="row">
        <Button isSmall icon={Send} onClick={send}>
          Send
        </Button>
      </div>
      {answer !== null && <Code text={answer} label="Response" />}
    </div>
  );
}

function Inbox({ facts: { inbox, receiver_url, webhook_url } }: { facts: WelcomeFacts }) {
  const isHere = webhook_url === receiver_url;
  return (
    <Card isFlush title="The receiver's inbox" actions={isHere && <Status word="live" />}>
      {!isHere && (
        <Notice title={`The webhook URL of the Dev app is now ${webhook_url ?? "not set"}.`}>
          Deliveries arrive here only while it is the URL of the receiver.
        </Notice>
      )}
      {inbox.length === 0 ? (
        <Empty title="Nothing has arrived yet">
          <p>An event is published every few seconds, unless onair dev was started with --no-events.</p>
        </Empty>
      ) : (
        <Table
          label="Inbox"
          rows={inbox.slice(0, 12)}
          keyOf={({ id, at }) => `${id} ${at}`}
          columns={[
            {
              name: "Signature",
              show: ({ is_verified }) => (
                <Status word={is_verified ? "verified" : "refused"} tone={is_verified ? "ok" : "bad"} />
              ),
            },
            { name: "Event", hide: "narrow", show: ({ type }) => <span class="nowrap">{type}</span> },
            {
              name: "What happened",
              show: ({ text, at }) => (
                <>
                  <span class="breaks">{text}</span>
                  <p class="small muted only-narrow">
                    <Time at={at} />
                  </p>
                </>
              ),
            },
            { name: "Arrived", hide: "narrow", isNumber: true, show: ({ at }) => <Time at={at} /> },
          ]}
        />
      )}
    </Card>
  );
}

function Where({ facts: { public_url, admin_url, receiver_url, secrets } }: { facts: WelcomeFacts }) {
  return (
    <Card title="URLs and keys">
      <Facts
        rows={[
          ["API", <Value text={public_url} key="api" />],
          ["Admin API", <Value text={admin_url} key="admin" />],
          ["Receiver", <Value text={receiver_url} key="receiver" />],
          ...(secrets
            ? ([
                ["Operator key", <Value text={secrets.admin_key} name="operator key" key="key" />],
                ["Client id", <Value text={secrets.client_id} name="client id" key="id" />],
                ["Client secret", <Value text={secrets.client_secret} name="client secret" key="secret" />],
                ["Access token", <Value text={secrets.access_token} name="access token" key="token" />],
                [
                  "Signing secret",
                  <Value text={secrets.webhook_secret} name="signing secret" key="webhook" />,
                ],
              ] as const)
            : [["Secrets", "are shown only on this machine"] as const]),
        ]}
      />
    </Card>
  );
}

function Users({ users }: { users: WelcomeFacts["users"] }) {
  return (
    <Card isFlush title="Sample users">
      <Table
        label="Sample users"
        rows={users}
        keyOf={({ id }) => String(id)}
        columns={[
          {
            name: "Name",
            isFilling: true,
            show: ({ display_name, username }) => (
              <>
                <span class="cell">{display_name}</span>
                <code class="cell muted only-narrow">{username}</code>
              </>
            ),
          },
          { name: "Username", hide: "narrow", show: ({ username }) => <code>{username}</code> },
          { name: "Id", hide: "narrow", isNumber: true, show: ({ id }) => <code>{id}</code> },
          { name: "", show: ({ is_live }) => is_live && <Status word="live" /> },
        ]}
      />
    </Card>
  );
}

render(<Welcome />, document.getElementById("app") ?? document.body);
