import { Plus } from "lucide";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { admin, done, nonEmpty } from "../../client.ts";
import { useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { useList } from "../../load.ts";
import { Button, Card, Empty, Head, number, Status } from "../../parts/basics.tsx";
import { Checks, Field, NoMatch, QueryField, QuerySelect, Select } from "../../parts/form.tsx";
import { FormDialog } from "../../parts/overlays.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";
import { inText } from "../../text.ts";
import { UserPicker } from "../../users.tsx";
import { scopeOptions } from "./application.tsx";
import { useOperator } from "./operator.tsx";

type Application = components["schemas"]["ListedApplication"];

type State = Application["state"];

/** The displayed states, with their tones. */
const states: Readonly<Record<State, readonly [text: string, tone: "ok" | "warn" | "bad" | ""]>> = {
  enabled: ["enabled", "ok"],
  failing: ["failing", "warn"],
  disabled: ["disabled", "bad"],
  disabled_by_operator: ["disabled by operator", ""],
  no_webhook: ["no webhook", ""],
  stream_only: ["stream only", ""],
};

export function Applications() {
  const { canChange } = useOperator();
  const [query] = useQuery();
  const [isCreating, setCreating] = useState(false);
  const { find = "", state = "" } = query;
  const filters = nonEmpty({ find: find.trim(), state: state in states ? (state as State) : null });
  const list = useList<Application>(
    (page, signal) =>
      done(admin.GET("/admin/v1/applications", { params: { query: { ...filters, ...page } }, signal })),
    [query],
    ["applications", "deliveries"],
  );
  const { rows } = list;
  const isFiltered = find !== "" || state !== "";
  return (
    <>
      <Head
        title="Applications"
        actions={
          canChange && (
            <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
              New application
            </Button>
          )
        }
      >
        Third-party programs that use the API, with their permissions and the state of their endpoints.
      </Head>
      <div class="filters">
        <QueryField isWide label="Find" name="find" placeholder="Name, id or webhook URL" />
        <QuerySelect
          label="State"
          name="state"
          options={[["", "Any"], ...Object.entries(states).map(([name, [text]]) => [name, text] as const)]}
        />
      </div>
      <Card isFlush title={list.data ? counted(rows.length, list.more.hasMore) : "Applications"}>
        <List
          of={list}
          more={list.more}
          empty={
            isFiltered ? (
              <NoMatch of="applications" />
            ) : (
              <Empty
                title="No applications yet"
                text="Create the first one to get a client id and two secrets for its developer."
              />
            )
          }
          label="Applications"
          rows={rows}
          keyOf={({ id }) => id}
          linkOf={({ id }) => to(`/applications/${id}`)}
          columns={[
            {
              name: "Name",
              isFilling: true,
              show: ({ id, name }) => (
                <a class="cell" href={to(`/applications/${id}`)}>
                  {name}
                </a>
              ),
            },
            {
              name: "Endpoint",
              show: ({ state }) => <Status word={states[state][0]} tone={states[state][1]} />,
            },
            {
              name: "Webhook URL",
              hide: "medium",
              show: ({ webhook_url }) => <code class="cell muted">{webhook_url}</code>,
            },
            {
              name: "Requests per minute",
              hide: "medium",
              isNumber: true,
              show: ({ rate_limit }) =>
                rate_limit === null ? "default" : rate_limit === 0 ? "no limit" : number(rate_limit),
            },
            {
              name: "Created",
              hide: "narrow",
              isNumber: true,
              show: ({ created_at }) => <Time at={created_at} />,
            },
          ]}
        />
      </Card>
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function counted(count: number, hasMore: boolean): string {
  return `${number(count)}${hasMore ? "+" : ""} ${count === 1 ? "application" : "applications"}`;
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { route } = useLocation();
  const [made, setMade] = useState<components["schemas"]["NewApplication"] | null>(null);
  const initial = {
    name: "",
    webhook_url: "",
    client_type: "confidential",
    scopes: scopeOptions.map(([scope]) => scope),
    redirect_uris: "",
    owner_user_id: null as number | null,
  };
  const form = useForm(
    "application",
    initial,
    async (_, { name, webhook_url, client_type, scopes, redirect_uris, owner_user_id }) => {
      const body = {
        name,
        client_type: client_type as "confidential" | "public",
        scopes,
        redirect_uris: redirect_uris.split(/\s+/).filter(Boolean),
        ...nonEmpty({ webhook_url, owner_user_id }),
      };
      setMade(await done(admin.POST("/admin/v1/applications", { body })));
    },
  );
  if (made) {
    const secrets = {
      "Client id": made.client_id,
      ...(made.client_secret !== null && { "Client secret": made.client_secret }),
      "Signing secret": made.webhook_secret,
    };
    return (
      <SecretDialog
        title={`${inText(made.name)} is created`}
        secrets={secrets}
        onClose={() => route(to(`/applications/${made.id}`))}
      />
    );
  }
  return (
    <FormDialog title="New application" verb="Create" of={form} onClose={onClose}>
      <Field label="Name" hint="Shown to users when they give consent." required {...form.at("name")} />
      <Field
        label="Webhook URL"
        type="url"
        hint="Can be set later, also by the developer."
        {...form.at("webhook_url")}
      />
      <Select
        label="Type"
        options={[
          ["confidential", "confidential: runs on a server and can keep a secret"],
          ["public", "public: runs on the devices of its users"],
        ]}
        {...form.at("client_type")}
      />
      <Checks label="Scopes" options={scopeOptions} {...form.at("scopes")} />
      <Field
        label="Redirect URIs"
        rows={2}
        hint="To which users may be redirected after they sign in, one per line. Only for applications that users sign in to."
        {...form.at("redirect_uris")}
      />
      <UserPicker
        label="Owner"
        hint="The user who manages it, and can sign in to the portal with their account. Empty for none."
        {...form.at("owner_user_id")}
      />
    </FormDialog>
  );
}
