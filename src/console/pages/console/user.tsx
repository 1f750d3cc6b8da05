import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { admin, done } from "../../client.ts";
import { useDraft } from "../../draft.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Card, Facts, FaultNotice, Head, number, Value } from "../../parts/basics.tsx";
import { Check, Confirm, Field, Form } from "../../parts/form.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
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
    ["users"],
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
            <Correction user={user} onSaved={loaded.reload} />
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
  const { username, display_name, bio, is_verified } = user;
  const { values, changes, put } = useDraft({ username, display_name, bio, is_verified });
  const [isAsking, setAsking] = useState(false);
  const path = { params: { path: { id: user.id } } };
  const replace = (body: UserRecord) => done(admin.PUT("/admin/v1/users/{id}", { ...path, body }));
  const save = useAction(async () => {
    await replace({ ...user, ...changes });
    toast("Saved.", async () => {
      await replace(user);
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
        <Field
          label="Username"
          value={values.username}
          problem={fields["username"]}
          onInput={(username) => put({ username })}
        />
        <Field
          label="Display name"
          value={values.display_name}
          problem={fields["display_name"]}
          onInput={(display_name) => put({ display_name })}
        />
        <Field
          label="Bio"
          rows={4}
          value={values.bio}
          problem={fields["bio"]}
          onInput={(bio) => put({ bio })}
        />
        <Check
          label="Verified by the platform"
          checked={values.is_verified}
          onChange={(is_verified) => put({ is_verified })}
        />
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
