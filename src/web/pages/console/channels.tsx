import type { ComponentChildren } from "preact";
import { admin, done, nonEmpty } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { type Listed, useList, useLoad } from "../../load.ts";
import { Card, Empty, Head, number } from "../../parts/basics.tsx";
import { Find, NoMatch, QuerySelect } from "../../parts/form.tsx";
import { type Column, List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";
import { QueryUser, UserNames } from "../../users.tsx";
import { useOperator } from "./operator.tsx";

type Channel = components["schemas"]["ListedChannel"];
type Livestream = components["schemas"]["ListedLivestream"];

/** A channel by the names of its owner, and its own where they differ. */
function ChannelNames({ of: channel }: { of: Channel | Livestream }) {
  const { name, username, display_name } = channel;
  const isOwn = ![username, display_name].some((known) => known.toLowerCase() === name.toLowerCase());
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

interface ChannelListProps<Row> {
  readonly title: string;
  readonly about: string;
  readonly filters: ComponentChildren;
  readonly of: Listed<Row>;
  /** Shown when there are no rows, and no filters. */
  readonly empty: ComponentChildren;
  /** The second line of a channel. */
  readonly below?: (row: Row) => ComponentChildren;
  /** The columns between the channel and its number of subscriptions. */
  readonly columns: readonly Column<Row>[];
}

/** A page with a list of channels, each with the number of subscriptions to it. */
function ChannelList<Row extends Channel | Livestream>(props: ChannelListProps<Row>) {
  const { title, about, filters, of, empty, below, columns } = props;
  const { role } = useOperator();
  const [query] = useQuery();
  const channel: Column<Row> = {
    name: "Channel",
    isFilling: true,
    show: (row) => (
      <>
        <a class="cell" href={to(`/users/${row.user_id}`)}>
          <ChannelNames of={row} />
        </a>
        {below && <small class="cell muted">{below(row)}</small>}
      </>
    ),
  };
  const subscriptions: Column<Row> = {
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
  return (
    <>
      <Head title={title}>{about}</Head>
      {filters}
      <Card isFlush>
        <List
          of={of}
          more={of.more}
          empty={Object.keys(query).length > 0 ? <NoMatch of="channels" /> : empty}
          label={title}
          rows={of.rows}
          keyOf={({ id }) => String(id)}
          linkOf={({ user_id }) => to(`/users/${user_id}`)}
          columns={[channel, ...columns, subscriptions]}
        />
      </Card>
    </>
  );
}

/** All channels, by id or as they are searched for. */
export function Channels() {
  const [{ find = "" }] = useQuery();
  const wanted = find.trim();
  const list = useList<Channel>(
    (page, signal) => {
      const query = { ...page, ...nonEmpty({ find: wanted }) };
      return done(admin.GET("/admin/v1/channels/search", { params: { query }, signal }));
    },
    [wanted],
    ["ranking"],
  );
  return (
    <ChannelList
      title="Channels"
      about="The channels that the platform reports, with their owners."
      filters={<Find name="find" placeholder="Name or id of the owner, or slug" />}
      of={list}
      empty={
        <Empty
          title="No channels yet"
          text="The platform reports them with onair import channels, or PUT /admin/v1/channels."
        />
      }
      columns={[
        { name: "Slug", hide: "medium", show: ({ slug }) => <bdi class="cell muted">{slug}</bdi> },
        { name: "Id", hide: "medium", isNumber: true, show: ({ id }) => <code>{id}</code> },
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
      ]}
    />
  );
}

/** The most categories that the filter offers. */
const offered = 100;

/** All livestreams, the most watched first. */
export function Livestreams() {
  const [{ broadcaster, category }] = useQuery();
  const filters = nonEmpty({
    user_id: broadcaster && Number(broadcaster),
    category_id: category && Number(category),
  });
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
  const known = (categories.data ?? []).filter(({ live_channels }) => live_channels > 0);
  const isListed = category === undefined || known.some(({ id }) => String(id) === category);
  return (
    <ChannelList
      title="Livestreams"
      about="Who is live now, the most watched first."
      filters={
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
      }
      of={list}
      empty={
        <Empty
          title="Nobody is live"
          text="The platform reports livestreams with onair import livestreams, or PUT /admin/v1/livestreams."
        />
      }
      below={({ title }) => <bdi>{title || "no title"}</bdi>}
      columns={[
        {
          name: "Category",
          show: ({ category_id, category_name }) => (
            <a class="cell" href={to("/categories", { category: String(category_id) })}>
              <bdi>{category_name}</bdi>
            </a>
          ),
        },
        { name: "Viewers", isNumber: true, show: ({ viewers }) => number(viewers) },
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
  );
}
