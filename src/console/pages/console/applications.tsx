import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useList } from "../../list.ts";
import { useAction } from "../../load.ts";
import { Button, Card, Empty, FaultNotice, Head, number, Status } from "../../parts/basics.tsx";
import { Dialog, Field, Form, Select } from "../../parts/form.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { ListState, More, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";
import { useOperator } from "./operator.tsx";

type Application = components["schemas"]["ListedApplication"];

type State = Application["state"];

const pageSize = 100;

/** The states as people read them, with their tones. */
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
  const [query, setQuery] = useQuery();
  const [isCreating, setCreating] = useState(false);
  const { find = "", state = "" } = query;
  const filters = {
    limit: pageSize,
    ...(find.trim() && { find: find.trim() }),
    ...(state in states && { state: state as State }),
  };
  const list = useList<Application>(
    (cursor, signal) => {
      const query = { ...filters, ...(cursor && { cursor }) };
      return done(admin.GET("/admin/v1/applications", { params: { query }, signal }));
    },
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
            <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
              New application
            </Button>
          )
        }
      >
        Programs of third parties: what they may do, and whether their webhooks take what is sent.
      </Head>
      <div class="filters">
        <Field
          isWide
          label="Find"
          placeholder="Name, id or webhook URL"
          value={find}
          onInput={(find) => setQuery({ find })}
        />
        <Select
          label="State"
          value={state}
          options={[["", "Any"], ...Object.entries(states).map(([name, [text]]) => [name, text] as const)]}
          onChange={(state) => setQuery({ state })}
        />
      </div>
      <Card isFlush title={list.data ? counted(rows.length, list.more.hasMore) : "Applications"}>
        <ListState
          of={list}
          isEmpty={rows.length === 0}
          empty={
            <Empty title={isFiltered ? "No application fits" : "There is no application yet"}>
              <p>
                {isFiltered
                  ? "Look for another name, or any state."
                  : "Make the first one: its developer gets a client id and two secrets."}
              </p>
            </Empty>
          }
        >
          <Table
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
                name: "Requests a minute",
                hide: "medium",
                isNumber: true,
                show: ({ rate_limit }) =>
                  rate_limit === null ? "default" : rate_limit === 0 ? "no limit" : number(rate_limit),
              },
              {
                name: "Made",
                hide: "narrow",
                isNumber: true,
                show: ({ created_at }) => <Time at={created_at} />,
              },
            ]}
          />
        </ListState>
        <More {...list.more} />
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
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [type, setType] = useState("confidential");
  const [made, setMade] = useState<components["schemas"]["NewApplication"] | null>(null);
  const create = useAction(async () => {
    const body = {
      name,
      client_type: type as "confidential" | "public",
      ...(url !== "" && { webhook_url: url }),
    };
    setMade(await done(admin.POST("/admin/v1/applications", { body })));
  });
  if (made) {
    const secrets = {
      "Client id": made.client_id,
      ...(made.client_secret !== null && { "Client secret": made.client_secret }),
      "Signing secret": made.webhook_secret,
    };
    return (
      <SecretDialog
        title={`${made.name} is made`}
        secrets={secrets}
        onClose={() => route(to(`/applications/${made.id}`))}
      />
    );
  }
  const fields = create.fault?.fields ?? {};
  return (
    <Dialog title="New application" onClose={onClose}>
      <Form label="New application" onSubmit={() => create.run()}>
        <Field
          label="Name"
          hint="What users see when they consent."
          required
          value={name}
          problem={fields["name"]}
          onInput={setName}
        />
        <Field
          label="Webhook URL"
          type="url"
          hint="May be set later, also by its developer."
          value={url}
          problem={fields["webhook_url"]}
          onInput={setUrl}
        />
        <Select
          label="Type"
          value={type}
          options={[
            ["confidential", "confidential: runs on a server and keeps a secret"],
            ["public", "public: runs on its users' devices"],
          ]}
          onChange={setType}
        />
        <FaultNotice fault={create.fault} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={create.isBusy}>
            Create
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
