import type { components } from "../client/api.d.ts";
import type { Column } from "./parts/table.tsx";
import { Time } from "./parts/time.tsx";
import { to } from "./places.ts";

/** A subscription, as both APIs have it. */
type Subscription = components["schemas"]["NamedSubscription"];

/** The channel of a subscription, by the best name that there is. */
export function channelOf(one: Pick<Subscription, "channel_name" | "username" | "broadcaster_user_id">) {
  return (one.channel_name ?? one.username ?? String(one.broadcaster_user_id ?? "")) || "all channels";
}

/** The columns of a list of subscriptions; with `applicationOf`, of several applications. */
export function subscriptionColumns<Row extends Subscription>(
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
          <strong class="cell">{channelOf(one)}</strong>
          <small class="cell muted only-narrow">{one.event}</small>
        </>
      ),
    },
    { name: "Event", hide: "narrow", show: ({ event }) => <span class="cell">{event}</span> },
    ...(application ? [application] : []),
    {
      name: "Id",
      hide: "medium",
      show: ({ id }) => (
        <a href={to("/deliveries", { subscription_id: id })}>
          <code>{id}</code>
        </a>
      ),
    },
    { name: "Made", hide: "narrow", isNumber: true, show: ({ created_at }) => <Time at={created_at} /> },
  ];
}
