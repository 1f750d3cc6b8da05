import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { admin, dataOf, done } from "../../client.ts";
import { useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, Empty, Facts, Head, number, Status, Value } from "../../parts/basics.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Check, Field, Find, Form } from "../../parts/form.tsx";
import { List, Read } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { to, useQuery } from "../../places.ts";
import { useOperator } from "./operator.tsx";

const shortest = 3;

/** The user search of the API. */
export function Users() {
  const [query] = useQuery();
  const wanted = (query["query"] ?? "").trim();
  const isLong = [...wanted].length >= shortest;
  const found = useLoad(
    async (signal) => {
      if (!isLong) return [];
      const options = { params: { query: { query: wanted, limit: 50 } }, signal };
      return dataOf(admin.GET("/admin/v1/users/search", options));
    },
    [wanted],
    ["users"],
  );
  return (
    <>
      <Head title="Users">
        Search users as the public API does. The platform reports them; single users can be edited here.
      </Head>
      <Find name="query" placeholder="Part of a username or name" />
      <Card isFlush>
        <List
          of={found}
          empty={
            isLong ? (
              <Empty title="No matching users" text="Try a shorter part of the name." />
            ) : (
              <Empty
                title="Search for a user"
                text={`Enter at least ${shortest} characters of a username or display name.`}
              />
            )
          }
          label="Users"
          rows={found.data ?? []}
          keyOf={({ id }) => String(id)}
          linkOf={({ id }) => to(`/users/${id}`)}
          columns={[
            {
              name: "Username",
              show: ({ id, username }) => (
                <a class="cell" href={to(`/users/${id}`)}>
                  {username}
                </a>
              ),
            },
            { name: "Name", show: ({ display_name }) => <span class="cell">{display_name}</span> },
            { name: "", show: ({ is_verified }) => is_verified && <Status word="verified" tone="ok" /> },
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
                <Facts rows={[["Bio", user.bio]]} />
              </Card>
            ) : (
              <Correction user={user} onSaved={loaded.reload} />
            )}
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
          </div>
        )}
      </Read>
    </>
  );
}

function Correction({ user, onSaved }: { user: UserRecord; onSaved: () => void }) {
  const { route } = useLocation();
  const { username, display_name, bio, is_verified } = user;
  const [isAsking, setAsking] = useState(false);
  const path = { params: { path: { id: user.id } } };
  const replace = (body: UserRecord) => done(admin.PUT("/admin/v1/users/{id}", { ...path, body }));
  const form = useForm({ username, display_name, bio, is_verified }, async (changes) => {
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
        <Check
          label="Verified by the platform"
          checked={form.values.is_verified}
          onChange={(is_verified) => form.put({ is_verified })}
        />
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
