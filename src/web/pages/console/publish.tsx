import { Send } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { happeningAt, inChannelOf, type SampleBroadcaster } from "../../../domain/events/event-type.ts";
import { admin, done } from "../../client.ts";
import { EventDeliveries } from "../../deliveries/list.tsx";
import { problemsOf, useDraft } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { type Action, type Loaded, useAction, useLoad } from "../../load.ts";
import { Card, Empty, Head, Notice, number } from "../../parts/basics.tsx";
import { useTypeChoice } from "../../parts/event-type.tsx";
import { Form } from "../../parts/form.tsx";
import { Confirm } from "../../parts/overlays.tsx";
import { SchemaForm } from "../../parts/schema-form.tsx";
import { Read } from "../../parts/table.tsx";
import { to, useQuery } from "../../places.ts";
import { QueryUser } from "../../users.tsx";
import { Allowed, useCatalogue, useOperator, writers } from "./operator.tsx";

type Entry = components["schemas"]["CatalogueEntry"];
type Preview = components["schemas"]["EventPreview"];
type Payload = Readonly<Record<string, unknown>>;

/** A form that publishes an event to its subscribers. The channel is in the URL, so that another type keeps it. */
export function Publish() {
  const loaded = useCatalogue();
  const [query] = useQuery();
  const [type, choice] = useTypeChoice(loaded.data ?? []);
  const id = Number(query["broadcaster"]) || null;
  const channel = useChannel(id);
  return (
    <>
      <Head title="Publish an event">
        The event is delivered to all applications that subscribe to it on this channel.
      </Head>
      <Allowed roles={writers} to="publish events">
        <Read of={loaded}>
          {() =>
            type ? (
              <EventForm
                key={`${type.name} ${type.version}`}
                type={type}
                channel={channel.data?.id === id ? channel.data : null}
              >
                {choice}
              </EventForm>
            ) : (
              <Card>{choice}</Card>
            )
          }
        </Read>
      </Allowed>
    </>
  );
}

/** Reads what an event says of the user in whose channel it happens. */
function useChannel(id: number | null): Loaded<SampleBroadcaster | null> {
  return useLoad(
    async (signal) => {
      if (id === null) return null;
      const params = { path: { id } };
      const { user, picture } = await done(admin.GET("/admin/v1/users/{id}", { params, signal }));
      const own = { query: { user_id: id, limit: 1 } };
      const { data } = await done(admin.GET("/admin/v1/channels/search", { params: own, signal }));
      const [channel] = data;
      return { ...user, profile_picture: picture, ...(channel && { channel_slug: channel.slug }) };
    },
    [id],
    ["users"],
  );
}

interface EventFormProps {
  readonly type: Entry;
  /** null until a channel is chosen. */
  readonly channel: SampleBroadcaster | null;
  /** Select the type. */
  readonly children: ComponentChildren;
}

/** The form of an event, and its deliveries. */
function EventForm({ type, channel, children }: EventFormProps) {
  const { canChange } = useOperator();
  const { name, version, schema, example } = type;
  const [sample, setSample] = useState<Payload>(() => filled(example, channel));
  const draft = useDraft<Payload>(`event ${name} ${version}`);
  const data = draft.value ?? sample;
  const whose = JSON.stringify(channel);
  useEffect(() => {
    if (!channel) return;
    setSample((last) => filled(last, channel));
    const typed = draft.now();
    // What was typed stays, but for the broadcaster.
    if (typed) draft.set(inChannelOf(channel, typed));
  }, [whose]);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [published, setPublished] = useState<{ id: string; deliveries: number } | null>(null);
  const event = { name, version, broadcaster_user_id: channel?.id ?? 0, data };
  const receivers = useLoad(
    async (signal) =>
      channel === null ? null : done(admin.POST("/admin/v1/events/preview", { body: event, signal })),
    [JSON.stringify(channel && event)],
    ["subscriptions", "applications"],
  );
  // The event is checked before the question is asked.
  const ask = useAction(async () => {
    if (channel === null) return;
    setPreview(await done(admin.POST("/admin/v1/events/preview", { body: event })));
  });
  const publish = async () => {
    setPublished(null);
    const answer = await done(admin.POST("/admin/v1/events", { body: event }));
    setSample(data);
    draft.discard();
    if ("deliveries" in answer) setPublished(answer);
  };
  const problems = problemsOf(ask.fault);
  const form: Action = {
    ...ask,
    get fault() {
      return problems.fault;
    },
    draft,
  };
  return (
    <div class="columns even">
      <Card>
        <Form label="Event" of={form} verb="Publish" icon={Send} disabled={channel === null}>
          {children}
          <QueryUser
            label="Channel"
            name="broadcaster"
            required
            problem={problems.at("broadcaster_user_id")}
          />
          <SchemaForm schema={schema} value={data} problems={problems.under("data")} onInput={draft.set} />
          <p class="muted" role="status">
            {channel === null
              ? "Choose a channel to see how many applications get the event."
              : receivers.data && (
                  <Receivers
                    of={receivers.data}
                    href={to("/subscriptions", { broadcaster: String(channel.id), event: type.name })}
                  />
                )}
          </p>
        </Form>
        {preview && channel && (
          <Confirm
            title={`Publish ${name} of ${channel.username}?`}
            verb={preview.deliveries > 0 ? `Send to ${applications(preview.deliveries)}` : "Publish"}
            act={publish}
            onClose={() => setPreview(null)}
          >
            <p>
              <Receivers of={preview} />
            </p>
            <p>It is sent as if it had happened on the platform. This cannot be undone.</p>
          </Confirm>
        )}
      </Card>
      <div class="stack wide">
        {!published && (
          <Card>
            <Empty
              title="No event published yet"
              text="Choose a channel, edit the data if necessary, and publish the event."
            />
          </Card>
        )}
        <div aria-live="polite">{published && <Published event={published} />}</div>
        {published && canChange && published.deliveries > 0 && <EventDeliveries id={published.id} />}
      </div>
    </div>
  );
}

/** Returns a payload that happens now, in a channel if there is one. */
function filled(payload: Payload, channel: SampleBroadcaster | null): Payload {
  const now = happeningAt(Date.now(), payload);
  return channel ? inChannelOf(channel, now) : now;
}

const applications = (count: number) => (count === 1 ? "1 application" : `${number(count)} applications`);

interface ReceiversProps {
  readonly of: Preview;
  /** Leads to the subscriptions; absent in a question, where the first thing that Enter reaches is an answer. */
  readonly href?: string;
}

/** Says to how many applications an event goes. */
function Receivers({ of: { deliveries, filtered }, href }: ReceiversProps) {
  const { role } = useOperator();
  const count = deliveries === 0 ? "It goes to no application" : `It goes to ${applications(deliveries)}`;
  return (
    <>
      {href && deliveries + filtered > 0 && role !== "publisher" ? <a href={href}>{count}</a> : count}.
      {filtered > 0 &&
        ` ${applications(filtered)} ${filtered === 1 ? "has" : "have"} a filter that keeps it away.`}
    </>
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
