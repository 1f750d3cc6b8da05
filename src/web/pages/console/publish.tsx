import { Send } from "lucide";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { admin, done, Fault } from "../../client.ts";
import { EventDeliveries } from "../../deliveries/list.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useAction } from "../../load.ts";
import { Card, Empty, Head, Notice, number } from "../../parts/basics.tsx";
import { useTypeChoice } from "../../parts/event-type.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { SchemaForm } from "../../parts/schema-form.tsx";
import { Read } from "../../parts/table.tsx";
import { useCatalogue, useOperator } from "./operator.tsx";

type Entry = components["schemas"]["CatalogueEntry"];

/** A form that publishes an event to its subscribers. */
export function Publish() {
  const loaded = useCatalogue();
  const [type, choice] = useTypeChoice(loaded.data ?? []);
  return (
    <>
      <Head title="Publish an event">
        The event is delivered to all applications that subscribe to it on this channel.
      </Head>
      <Read of={loaded}>
        {() =>
          type && (
            <EventForm key={`${type.name} ${type.version}`} type={type}>
              {choice}
            </EventForm>
          )
        }
      </Read>
    </>
  );
}

/** The form of an event, and its deliveries. The children select the type. */
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
        <Form label="Event" of={publish} verb="Publish" icon={Send}>
          {children}
          <Field
            label="Channel"
            required
            hint="Username or id of the broadcaster."
            value={channel}
            onInput={setChannel}
          />
          <SchemaForm schema={type.schema} value={data} onChange={setData} />
        </Form>
      </Card>
      <div class="stack wide">
        {!published && (
          <Card>
            <Empty
              title="No event published yet"
              text="Enter a channel, edit the data if necessary, and publish the event."
            />
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
      {deliveries === 0 && <p>No application subscribes to this event of the channel.</p>}
    </Notice>
  );
}

/** Returns the id of a user given by id or username. Throws a `Fault` when there is no such user. */
async function userIdOf(text: string): Promise<number> {
  const wanted = text.trim();
  if (/^[0-9]{1,15}$/.test(wanted)) return Number(wanted);
  const { data } = await done(
    admin.GET("/admin/v1/users/search", { params: { query: { query: wanted, limit: 1 } } }),
  );
  const [user] = data;
  if (user?.username.toLowerCase() === wanted.toLowerCase()) return user.id;
  throw new Fault(`There is no user with the username ${wanted}.`, "user_not_found", 404);
}
