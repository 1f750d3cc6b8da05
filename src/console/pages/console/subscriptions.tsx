import { admin, done } from "../../client.ts";
import { ApplicationField, useApplicationNames } from "../../deliveries/application-names.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useList } from "../../list.ts";
import { Card, Empty, Head } from "../../parts/basics.tsx";
import { QueryField } from "../../parts/form.tsx";
import { List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";

type Subscription = components["schemas"]["NamedSubscription"];

const pageSize = 100;

/** Who follows a channel: the subscriptions of all applications. */
export function Subscriptions() {
  const [query, setQuery] = useQuery();
  const { channel = "", event, application_id } = query;
  const id = /^[0-9]{1,15}$/.test(channel.trim()) ? Number(channel) : null;
  const filters = {
    limit: pageSize,
    ...(id !== null && { broadcaster_user_id: id }),
    ...(id === null && channel.trim() !== "" && { channel: channel.trim() }),
    ...(event && { event }),
    ...(application_id && { application_id }),
  };
  const list = useList<Subscription>(
    (cursor, signal) => {
      const query = { ...filters, ...(cursor && { cursor }) };
      return done(admin.GET("/admin/v1/subscriptions", { params: { query }, signal }));
    },
    [query],
    ["subscriptions"],
  );
  const names = useApplicationNames(list.rows.map(({ app_id }) => app_id));
  return (
    <>
      <Head title="Subscriptions">Who follows a channel, and what each application gets.</Head>
      <div class="filters">
        <QueryField label="Channel" name="channel" placeholder="Slug, or id of its user" />
        <QueryField label="Event type" name="event" placeholder="channel.followed" />
        <ApplicationField
          id={application_id ?? ""}
          onChange={(application_id) => setQuery({ application_id })}
        />
      </div>
      <Card isFlush>
        <List
          of={list}
          more={list.more}
          empty={
            Object.keys(query).length > 0 ? (
              <Empty
                title="No subscription fits"
                text="Nobody follows this channel, or not with this event."
              />
            ) : (
              <Empty
                title="There is no subscription yet"
                text="Applications subscribe to the events of channels over the public API."
              />
            )
          }
          label="Subscriptions"
          rows={list.rows}
          keyOf={({ id }) => id}
          columns={[
            {
              name: "Channel",
              show: (one) => (
                <strong class="cell">{one.channel_name ?? one.username ?? one.broadcaster_user_id}</strong>
              ),
            },
            { name: "Event", isFilling: true, show: ({ event }) => <span class="cell">{event}</span> },
            {
              name: "Application",
              show: ({ app_id }) => (
                <a class="cell" href={to(`/applications/${app_id}`)}>
                  {names.get(app_id) ?? app_id}
                </a>
              ),
            },
            {
              name: "Id",
              hide: "medium",
              show: ({ id, app_id }) => (
                <a href={to("/deliveries", { subscription_id: id, application_id: app_id })}>
                  <code>{id}</code>
                </a>
              ),
            },
            {
              name: "Made",
              hide: "narrow",
              isNumber: true,
              show: ({ created_at }) => <Time at={created_at} />,
            },
          ]}
        />
      </Card>
    </>
  );
}
