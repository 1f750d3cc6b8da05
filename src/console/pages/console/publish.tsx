import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { admin, done, Fault } from "../../client.ts";
import { EventDeliveries } from "../../deliveries/latest.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Card, Empty, FaultNotice, Head, Notice, number } from "../../parts/basics.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import { SchemaForm } from "../../parts/schema-form.tsx";
import { useQuery } from "../../places.ts";
import { useOperator } from "./operator.tsx";

type Entry = components["schemas"]["CatalogueEntry"];

/** Publishes one event by a form. All its subscribers get it. */
export function Publish() {
  const [query, setQuery] = useQuery();
  const loaded = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/catalogue", { signal }))).data,
    [],
    ["event-types"],
  );
  const types = loaded.data ?? [];
  const name = query["event"] ?? "channel.followed";
  const versions = types.filter((type) => type.name === name);
  const type = versions.find(({ version }) => String(version) === query["version"]) ?? versions.at(-1);
  return (
    <>
      <Head title="Publish an event">
        It is sent for real, to every application that is subscribed to it on that channel.
      </Head>
      <FaultNotice fault={loaded.data ? null : loaded.fault} retry={loaded.reload} />
      {type && (
        <EventForm key={`${type.name} ${type.version}`} type={type}>
          <Select
            label="Event type"
            value={name}
            options={[...new Set(types.map((one) => one.name))].map((one) => [one, one] as const)}
            onChange={(event) => setQuery({ event, version: null })}
          />
          {versions.length > 1 && (
            <Select
              label="Version"
              value={String(type.version)}
              options={versions.map(({ version }) => [String(version), String(version)] as const)}
              onChange={(version) => setQuery({ version })}
            />
          )}
        </EventForm>
      )}
    </>
  );
}

/** The form of an event, and what became of it; the children choose the type. */
function EventForm({ type, children }: { type: Entry; children: ComponentChildren }) {
  const { canChange } = useOperator();
  const [channel, setChannel] = useState("");
  const [data, setData] = useState<Readonly<Record<string, unknown>>>(type.example);
  const [published, setPublished] = useState<{ id: string; deliveries: number } | null>(null);
  const publish = useAction(async () => {
    setPublished(null);
    const broadcaster_user_id = await userIdOf(channel);
    const body = { name: type.name, version: type.version, broadcaster_user_id, data };
    const answer = await done(admin.POST("/admin/v1/events", { body }));
    if ("deliveries" in answer) setPublished(answer);
  });
  return (
    <div class="columns even">
      <Card>
        <Form label="Event" onSubmit={() => publish.run()}>
          {children}
          <Field
            label="Channel"
            required
            hint="The username or id of its broadcaster."
            value={channel}
            onInput={setChannel}
          />
          <SchemaForm schema={type.schema} value={data} onChange={setData} />
          <Button type="submit" kind="primary" icon="send" isBusy={publish.isBusy}>
            Publish
          </Button>
        </Form>
      </Card>
      <div class="stack wide">
        <FaultNotice fault={publish.fault} />
        {!published && !publish.fault && (
          <Card>
            <Empty title="Nothing was published yet">
              <p>Name the channel, change the data if you like, and publish it.</p>
            </Empty>
          </Card>
        )}
        <div aria-live="polite">{published && <Published event={published} />}</div>
        {published && canChange && published.deliveries > 0 && <EventDeliveries id={published.id} />}
      </div>
    </div>
  );
}

function Published({ event: { deliveries } }: { event: { deliveries: number } }) {
  return (
    <Notice
      tone={deliveries > 0 ? "ok" : "warn"}
      title={deliveries === 1 ? "Published: 1 delivery." : `Published: ${number(deliveries)} deliveries.`}
    >
      {deliveries === 0 && <p>No application is subscribed to this event of the channel.</p>}
    </Notice>
  );
}

/** The id of a user that is named by it or by the username. */
async function userIdOf(text: string): Promise<number> {
  const wanted = text.trim();
  if (/^[0-9]{1,15}$/.test(wanted)) return Number(wanted);
  const { data } = await done(
    admin.GET("/admin/v1/users/search", { params: { query: { query: wanted, limit: 1 } } }),
  );
  const [user] = data;
  if (user?.username.toLowerCase() === wanted.toLowerCase()) return user.id;
  throw new Fault(`There is no user called ${wanted}.`, "user_not_found", 404);
}
