import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useList } from "../../list.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, Empty, Head, number } from "../../parts/basics.tsx";
import { Find, QuerySelect } from "../../parts/form.tsx";
import { type Column, List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";
import { UserNames } from "../../users/names.tsx";
import { QueryUser } from "../../users/picker.tsx";
import { useOperator } from "./operator.tsx";

type Channel = components["schemas"]["ListedChannel"];
type Livestream = components["schemas"]["ListedLivestream"];

/** A channel by the names of its owner, and its own where they differ. */
function ChannelNames({ of: channel }: { of: Channel | Livestream }) {
  const { name, username, display_name } = channel;
  const isOwn = ![username, display_name].some((one) => one.toLowerCase() === name.toLowerCase());
  return (
    <>
      <UserNames user={channel} or="" />
      {isOwn && (
        <span class="muted">
          {" "}
          · <bdi>{name}</bdi>
        </span>
      )}
    </>
  );
}

/** The column with the number of subscriptions, which leads to them for those who may see them. */
function useSubscriptionColumn(): Column<Channel | Livestream> {
  const { role } = useOperator();
  return {
    name: "Subscriptions",
    hide: "narrow",
    isNumber: true,
    show: ({ subscriptions, user_id }) =>
      subscriptions === 0 || role === "publisher" ? (
        number(subscriptions)
      ) : (
        <a href={to("/subscriptions", { broadcaster: String(user_id) })}>{number(subscriptions)}</a>
      ),
  };
}

/** All channels, by id or as they are searched for. */
export function Channels() {
  const [{ find = "" }] = useQuery();
  const wanted = find.trim();
  const subscriptions = useSubscriptionColumn();
  const list = useList<Channel>(
    (page, signal) => {
      const query = { ...page, ...(wanted && { find: wanted }) };
      return done(admin.GET("/admin/v1/channels/search", { params: { query }, signal }));
    },
    [wanted],
    ["ranking"],
  );
  return (
    <>
      <Head title="Channels">The channels that the platform reports, with their owners.</Head>
      <Find name="find" placeholder="Name or id of the owner, or slug" />
      <Card isFlush>
        <List
          of={list}
          more={list.more}
          empty={
            wanted ? (
              <Empty title="No matching channels" text="Try another part of the owner's name." />
            ) : (
              <Empty
                title="No channels yet"
                text="The platform reports them with onair import channels, or PUT /admin/v1/channels."
              />
            )
          }
          label="Channels"
          rows={list.rows}
          keyOf={({ id }) => String(id)}
          linkOf={({ user_id }) => to(`/users/${user_id}`)}
          columns={[
            {
              name: "Channel",
              isFilling: true,
              show: (channel) => (
                <a class="cell" href={to(`/users/${channel.user_id}`)}>
                  <ChannelNames of={channel} />
                </a>
              ),
            },
            { name: "Slug", hide: "medium", show: ({ slug }) => <bdi class="cell muted">{slug}</bdi> },
            {
              name: "Viewers",
              isNumber: true,
              show: ({ viewers, user_id }) =>
                viewers === null ? (
                  <span class="muted">not live</span>
                ) : (
                  <a href={to("/livestreams", { broadcaster: String(user_id) })}>{number(viewers)}</a>
                ),
            },
            {
              name: "Followers",
              hide: "narrow",
              isNumber: true,
              show: ({ followers_count }) => number(followers_count),
            },
            subscriptions,
            { name: "Id", hide: "medium", isNumber: true, show: ({ id }) => <code>{id}</code> },
          ]}
        />
      </Card>
    </>
  );
}

/** The most categories that the filter offers. */
const offered = 100;

/** All livestreams, the most watched first. */
export function Livestreams() {
  const [query, , clear] = useQuery();
  const { broadcaster, category } = query;
  const subscriptions = useSubscriptionColumn();
  const filters = {
    ...(broadcaster && { user_id: Number(broadcaster) }),
    ...(category && { category_id: Number(category) }),
  };
  const list = useList<Livestream>(
    (page, signal) =>
      done(admin.GET("/admin/v1/livestreams/search", { params: { query: { ...filters, ...page } }, signal })),
    [filters],
    ["ranking"],
  );
  const categories = useLoad(
    async (signal) =>
      (await done(admin.GET("/admin/v1/ranking", { params: { query: { limit: offered } }, signal }))).data,
    [],
    ["ranking"],
  );
  const isFiltered = Object.keys(filters).length > 0;
  const known = (categories.data ?? []).filter(({ live_channels }) => live_channels > 0);
  const isListed = category === undefined || known.some(({ id }) => String(id) === category);
  return (
    <>
      <Head title="Livestreams">Who is live now, the most watched first.</Head>
      <div class="filters">
        <QueryUser label="Channel" name="broadcaster" />
        <QuerySelect
          label="Category"
          name="category"
          options={[
            ["", "Any"],
            ...known.map(({ id, name }) => [String(id), name] as const),
            ...(isListed ? [] : [[category, `Category ${category}`] as const]),
          ]}
        />
      </div>
      <Card isFlush>
        <List
          of={list}
          more={list.more}
          empty={
            isFiltered ? (
              <Empty title="No livestream matches these filters">
                <div class="row">
                  <Button onClick={clear}>Clear filters</Button>
                </div>
              </Empty>
            ) : (
              <Empty
                title="Nobody is live"
                text="The platform reports livestreams with onair import livestreams, or PUT /admin/v1/livestreams."
              />
            )
          }
          label="Livestreams"
          rows={list.rows}
          keyOf={({ id }) => String(id)}
          linkOf={({ user_id }) => to(`/users/${user_id}`)}
          columns={[
            {
              name: "Channel",
              isFilling: true,
              show: (one) => (
                <>
                  <a class="cell" href={to(`/users/${one.user_id}`)}>
                    <ChannelNames of={one} />
                  </a>
                  <small class="cell muted">
                    <bdi>{one.title || "no title"}</bdi>
                  </small>
                </>
              ),
            },
            {
              name: "Category",
              show: ({ category_id, category_name }) => (
                <a class="cell" href={to("/categories", { category: String(category_id) })}>
                  <bdi>{category_name}</bdi>
                </a>
              ),
            },
            { name: "Viewers", isNumber: true, show: ({ viewers }) => number(viewers) },
            subscriptions,
            {
              name: "Language",
              hide: "medium",
              show: ({ language }) => <bdi class="cell muted">{language}</bdi>,
            },
            {
              name: "Started",
              hide: "narrow",
              isNumber: true,
              show: ({ started_at }) => <Time at={started_at} />,
            },
          ]}
        />
      </Card>
    </>
  );
}
