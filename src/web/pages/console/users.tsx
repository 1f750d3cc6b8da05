import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { admin, dataOf, done } from "../../client.ts";
import { useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, Empty, Facts, Head, number, Status, Value } from "../../parts/basics.tsx";
import { Check, Field, Find, Form, NoMatch } from "../../parts/form.tsx";
import { Confirm, toast } from "../../parts/overlays.tsx";
import { List, Read } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";
import { UserNames } from "../../users.tsx";
import { History } from "./audit.tsx";
import { Allowed, useOperator, writers } from "./operator.tsx";

/** Finds users by their id or a part of a name. */
export function Users() {
  const [query] = useQuery();
  const wanted = (query["query"] ?? "").trim();
  const found = useLoad(
    async (signal) => {
      if (wanted === "") return [];
      const options = { params: { query: { query: wanted, limit: 50 } }, signal };
      return dataOf(admin.GET("/admin/v1/users/search", options));
    },
    [wanted],
    ["users"],
  );
  return (
    <>
      <Head title="Users">The platform reports them. Find one by a part of either name, or by the id.</Head>
      <Find name="query" placeholder="Part of a username or name, or id" />
      <Card isFlush>
        <List
          of={found}
          empty={
            wanted === "" ? (
              <Empty title="Search for a user" text="Enter a part of a username or display name, or an id." />
            ) : (
              <NoMatch of="users">Try another part of the name, or the id.</NoMatch>
            )
          }
          label="Users"
          rows={found.data ?? []}
          keyOf={({ id }) => String(id)}
          linkOf={({ id }) => to(`/users/${id}`)}
          columns={[
            {
              name: "User",
              isFilling: true,
              show: (user) => (
                <>
                  <a class="cell" href={to(`/users/${user.id}`)}>
                    <UserNames user={user} or="" />
                  </a>
                  <small class="cell muted only-narrow">
                    {user.id}
                    {user.is_verified && " · verified"}
                  </small>
                </>
              ),
            },
            {
              name: "",
              hide: "narrow",
              show: ({ is_verified }) => is_verified && <Status word="verified" tone="ok" />,
            },
            {
              name: "Followers",
              isNumber: true,
              show: ({ followers_count }) => number(followers_count),
            },
            { name: "Id", hide: "narrow", isNumber: true, show: ({ id }) => <code>{id}</code> },
          ]}
        />
      </Card>
    </>
  );
}

type UserRecord = components["schemas"]["User"];

/** The stored profile of a user, and a form to edit it. */
export function User() {
  const { role } = useOperator();
  const id = Number(useRoute().params["id"]);
  const path = { params: { path: { id } } };
  const loaded = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/users/{id}", { ...path, signal }))).user,
    [id],
    ["users"],
  );
  return (
    <>
      <Head crumb={{ href: to("/users"), text: "Users" }} title={loaded.data?.display_name ?? "User"} />
      <Read of={loaded}>
        {(user) => (
          <div class="columns">
            {role === "reader" ? (
              <Card title="Profile">
                <Facts
                  rows={[
                    ["Bio", user.bio || "none"],
                    ["Verified", user.is_verified ? "yes" : "no"],
                  ]}
                />
                <Allowed roles={writers} to="edit users" />
              </Card>
            ) : (
              <Correction user={user} onSaved={loaded.reload} />
            )}
            <div class="stack wide">
              <Card title="Details">
                <Facts
                  rows={[
                    ["Id", <Value text={String(user.id)} key="id" />],
                    ["Username", <Value text={user.username} key="name" />],
                    ["Followers", number(user.followers_count)],
                    ["Follows", number(user.following_count)],
                    ["Account created", <Time at={user.created_at} key="at" />],
                  ]}
                />
              </Card>
              <ChannelsOf user={user} />
              {role !== "publisher" && <History of={{ user: String(id) }} />}
            </div>
          </div>
        )}
      </Read>
    </>
  );
}

/** The channels of a user, with links to what concerns them. */
function ChannelsOf({ user }: { user: UserRecord }) {
  const { role } = useOperator();
  const id = String(user.id);
  const found = useLoad(
    async (signal) => {
      const query = { user_id: user.id, limit: 100 };
      return dataOf(admin.GET("/admin/v1/channels/search", { params: { query }, signal }));
    },
    [id],
    ["ranking", "subscriptions"],
  );
  return (
    <Card
      isFlush
      title="Channels"
      actions={
        role !== "publisher" && (
          <>
            <a href={to("/subscriptions", { broadcaster: id })}>Subscriptions</a>
            <a href={to("/deliveries", { broadcaster: id })}>Deliveries</a>
          </>
        )
      }
    >
      <List
        of={found}
        empty={<Empty title="The user has no channel" />}
        label="Channels"
        rows={found.data ?? []}
        keyOf={(channel) => String(channel.id)}
        columns={[
          {
            name: "Channel",
            isFilling: true,
            show: ({ name, slug }) => (
              <span class="cell">
                <bdi>{name}</bdi> <bdi class="username">{slug}</bdi>
              </span>
            ),
          },
          {
            name: "Viewers",
            isNumber: true,
            show: ({ viewers }) =>
              viewers === null ? (
                <span class="muted">not live</span>
              ) : (
                <a href={to("/livestreams", { broadcaster: id })}>{number(viewers)}</a>
              ),
          },
          {
            name: "Subscriptions",
            isNumber: true,
            show: ({ subscriptions }) => number(subscriptions),
          },
        ]}
      />
    </Card>
  );
}

function Correction({ user, onSaved }: { user: UserRecord; onSaved: () => void }) {
  const { route } = useLocation();
  const { username, display_name, bio, is_verified } = user;
  const [isAsking, setAsking] = useState(false);
  const path = { params: { path: { id: user.id } } };
  const replace = (body: UserRecord) => done(admin.PUT("/admin/v1/users/{id}", { ...path, body }));
  const form = useForm(`user ${user.id}`, { username, display_name, bio, is_verified }, async (changes) => {
    await replace({ ...user, ...changes });
    toast("Saved.", async () => {
      await replace(user);
      onSaved();
    });
    onSaved();
  });
  const remove = async () => {
    await done(admin.DELETE("/admin/v1/users/{id}", path));
    toast(`${user.username} is deleted.`);
    route(to("/users"));
  };
  return (
    <Card
      title="Edit the profile"
      actions={
        <Button isSmall kind="danger" onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      <Form label="Profile" of={form} verb="Save">
        <Field label="Username" {...form.at("username")} />
        <Field label="Display name" {...form.at("display_name")} />
        <Field label="Bio" rows={4} {...form.at("bio")} />
        <Check label="Verified by the platform" {...form.at("is_verified")} />
        <p class="muted small">The next import from the platform overwrites these fields.</p>
      </Form>
      {isAsking && (
        <Confirm
          title={`Delete ${user.username}?`}
          verb="Delete"
          act={remove}
          onClose={() => setAsking(false)}
        >
          <p>
            The user's channels and livestreams, tokens for the user, and subscriptions to the user's events
            are deleted, too. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Card>
  );
}
