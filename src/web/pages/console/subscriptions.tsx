import { admin, done, nonEmpty } from "../../client.ts";
import { ApplicationField, useApplicationNames } from "../../deliveries/applications.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useList } from "../../load.ts";
import { Card, Empty, Head } from "../../parts/basics.tsx";
import { NoMatch, QueryField } from "../../parts/form.tsx";
import { List } from "../../parts/table.tsx";
import { useQuery } from "../../places.ts";
import { subscriptionColumns } from "../../subscriptions.tsx";
import { QueryUser, useUsers } from "../../users.tsx";

type Subscription = components["schemas"]["NamedSubscription"];

/** The subscriptions of all applications. */
export function Subscriptions() {
  const [query, setQuery] = useQuery();
  const { broadcaster, event, application_id } = query;
  const broadcaster_user_id = broadcaster && Number(broadcaster);
  const filters = nonEmpty({ broadcaster_user_id, event, application_id });
  const list = useList<Subscription>(
    (page, signal) =>
      done(admin.GET("/admin/v1/subscriptions", { params: { query: { ...filters, ...page } }, signal })),
    [query],
    ["subscriptions"],
  );
  const nameOf = useApplicationNames(list.rows.map(({ app_id }) => app_id));
  const users = useUsers(list.rows.map(({ broadcaster_user_id }) => broadcaster_user_id));
  return (
    <>
      <Head title="Subscriptions">The events of channels that applications subscribe to.</Head>
      <div class="filters">
        <QueryUser label="Channel" name="broadcaster" />
        <QueryField label="Event type" name="event" placeholder="channel.followed" />
        <ApplicationField
          value={application_id ?? ""}
          onInput={(application_id) => setQuery({ application_id })}
        />
      </div>
      <Card isFlush>
        <List
          of={list}
          more={list.more}
          empty={
            Object.keys(query).length > 0 ? (
              <NoMatch of="subscriptions" />
            ) : (
              <Empty
                title="No subscriptions yet"
                text="Applications subscribe to events of channels with the public API."
              />
            )
          }
          label="Subscriptions"
          rows={list.rows}
          keyOf={({ id }) => id}
          columns={subscriptionColumns(users, ({ app_id }) => ({
            id: app_id,
            name: nameOf(app_id),
          }))}
        />
      </Card>
    </>
  );
}
