import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Card, Facts, FaultNotice, Head, number, toast, Value } from "../../parts/basics.tsx";
import { Check, Confirm, Field, Form } from "../../parts/form.tsx";
import { Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { useOperator } from "./operator.tsx";

type UserRecord = components["schemas"]["User"];

/** One user: the profile as it is kept, and its correction. */
export function User() {
  const { role } = useOperator();
  const id = Number(useRoute().params["id"]);
  const path = { params: { path: { id } } };
  const loaded = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/users/{id}", { ...path, signal }))).user,
    [id],
  );
  const user = loaded.data;
  return (
    <>
      <Head crumb={{ href: to("/users"), text: "Users" }} title={user?.display_name ?? "User"} />
      {!user && <FaultNotice fault={loaded.fault} retry={loaded.reload} />}
      {user && (
        <div class="columns">
          {role === "reader" ? (
            <Card title="Profile">
              <Facts rows={[["Bio", user.bio]]} />
            </Card>
          ) : (
            <Correction key={JSON.stringify(user)} user={user} onSaved={loaded.reload} />
          )}
          <Card title="About the user">
            <Facts
              rows={[
                ["Id", <Value text={String(user.id)} key="id" />],
                ["Username", <Value text={user.username} key="name" />],
                ["Followers", number(user.followers_count)],
                ["Follows", number(user.following_count)],
                ["Account made", <Time at={user.created_at} key="at" />],
              ]}
            />
          </Card>
        </div>
      )}
    </>
  );
}

function Correction({ user, onSaved }: { user: UserRecord; onSaved: () => void }) {
  const { route } = useLocation();
  const [username, setUsername] = useState(user.username);
  const [name, setName] = useState(user.display_name);
  const [bio, setBio] = useState(user.bio);
  const [isVerified, setVerified] = useState(user.is_verified);
  const [isAsking, setAsking] = useState(false);
  const path = { params: { path: { id: user.id } } };
  const put = (body: UserRecord) => done(admin.PUT("/admin/v1/users/{id}", { ...path, body }));
  const save = useAction(async () => {
    await put({ ...user, username, display_name: name, bio, is_verified: isVerified });
    toast("Saved.", async () => {
      await put(user);
      onSaved();
    });
    onSaved();
  });
  const remove = useAction(async () => {
    await done(admin.DELETE("/admin/v1/users/{id}", path));
    toast(`${user.username} is deleted.`);
    route(to("/users"));
  });
  const fields = save.fault?.fields ?? {};
  return (
    <Card
      title="Correct the profile"
      actions={
        <Button isSmall kind="danger" onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      <Form label="Profile" onSubmit={() => save.run()}>
        <Field label="Username" value={username} problem={fields["username"]} onInput={setUsername} />
        <Field label="Display name" value={name} problem={fields["display_name"]} onInput={setName} />
        <Field label="Bio" rows={4} value={bio} problem={fields["bio"]} onInput={setBio} />
        <Check label="Verified by the platform" checked={isVerified} onChange={setVerified} />
        <p class="muted small">The next import of the platform replaces what it reports.</p>
        <FaultNotice fault={save.fault} />
        <Button type="submit" kind="primary" isBusy={save.isBusy}>
          Save
        </Button>
      </Form>
      {isAsking && (
        <Confirm
          title={`Delete ${user.username}?`}
          verb="Delete"
          isBusy={remove.isBusy}
          fault={remove.fault}
          onConfirm={() => remove.run()}
          onClose={() => setAsking(false)}
        >
          <p>
            Channels and livestreams of the user go, too, tokens for the user end, and so do the subscriptions
            to the user's events. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Card>
  );
}
