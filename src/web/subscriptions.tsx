import type { components } from "../client/api.d.ts";
import type { Column } from "./parts/table.tsx";
import { Time } from "./parts/time.tsx";
import { to } from "./places.ts";
import { type FoundUser, UserNames } from "./users.tsx";

/** A subscription, in the form of both APIs. */
type Subscription = components["schemas"]["NamedSubscription"];

/** The best available name of a subscription's channel. */
export function channelOf(one: Pick<Subscription, "channel_name" | "username" | "broadcaster_user_id">) {
  return (one.channel_name ?? one.username ?? String(one.broadcaster_user_id ?? "")) || "all channels";
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
    show: (one: Row) => {
      const { id, name } = applicationOf(one);
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
      show: (one) => (
        <>
          <strong class="cell">
            <UserNames user={users.get(one.broadcaster_user_id ?? 0)} or={channelOf(one)} />
          </strong>
          <small class="cell only-narrow">{eventOf(one)}</small>
        </>
      ),
    },
    { name: "Event", hide: "narrow", show: (one) => <span class="cell long">{eventOf(one)}</span> },
    ...(application ? [application] : []),
    { name: "Id", hide: "medium", show: ({ id }) => <code class="muted">{id}</code> },
    { name: "Created", hide: "narrow", isNumber: true, show: ({ created_at }) => <Time at={created_at} /> },
  ];
}
