import type { components } from "../client/api.d.ts";
import type { Column } from "./parts/table.tsx";
import { Time } from "./parts/time.tsx";
import { to } from "./places.ts";
import { type FoundUser, UserNames } from "./users.tsx";

/** A subscription, in the form of both APIs. */
type Subscription = components["schemas"]["NamedSubscription"];

/** The best available name of a subscription's channel. */
export function channelOf({ channel_name, username, broadcaster_user_id: id }: Subscription): string {
  return (channel_name ?? username ?? String(id ?? "")) || "all channels";
}

/** The event of a subscription, which leads to its deliveries. */
const eventOf = ({ id, event }: Pick<Subscription, "id" | "event">) => (
  <a href={to("/deliveries", { subscription_id: id })} title={`Deliveries of the subscription ${id}`}>
    {event}
  </a>
);

/** The columns of a list of subscriptions; `applicationOf` adds a column for the application. */
export function subscriptionColumns<Row extends Subscription>(
  users: ReadonlyMap<number, FoundUser>,
  applicationOf?: (subscription: Row) => { id: string; name: string },
): Column<Row>[] {
  const application = applicationOf && {
    name: "Application",
    show: (row: Row) => {
      const { id, name } = applicationOf(row);
      return (
        <a class="cell" href={to(`/applications/${id}`)}>
          {name}
        </a>
      );
    },
  };
  return [
    {
      name: "Channel",
      isFilling: true,
      show: (row) => (
        <>
          <strong class="cell">
            <UserNames user={users.get(row.broadcaster_user_id ?? 0)} or={channelOf(row)} />
          </strong>
          <small class="cell only-narrow">{eventOf(row)}</small>
        </>
      ),
    },
    { name: "Event", hide: "narrow", show: (row) => <span class="cell long">{eventOf(row)}</span> },
    ...(application ? [application] : []),
    { name: "Id", hide: "medium", show: ({ id }) => <code class="muted">{id}</code> },
    { name: "Created", hide: "narrow", isNumber: true, show: ({ created_at }) => <Time at={created_at} /> },
  ];
}
