import { Plus } from "lucide";
import { useState } from "preact/hooks";
import { admin, dataOf, done } from "../../client.ts";
import { useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, Empty, Head, Status } from "../../parts/basics.tsx";
import { Field, Select } from "../../parts/form.tsx";
import { Confirm, FormDialog, toast } from "../../parts/overlays.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { List } from "../../parts/table.tsx";
import { LastUse, Time } from "../../parts/time.tsx";
import { inText } from "../../text.ts";
import { useOperator } from "./operator.tsx";

type Key = components["schemas"]["OperatorKey"];

const isOver = ({ expires_at }: Key) => expires_at !== null && Date.parse(expires_at) <= Date.now();

/** The operator keys, which give access to the admin API and this console. */
export function Keys() {
  const { canChange } = useOperator();
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const loaded = useLoad((signal) => dataOf(admin.GET("/admin/v1/keys", { signal })), [], ["keys"]);
  const revoke = async ({ id }: Key) => {
    await done(admin.DELETE("/admin/v1/keys/{id}", { params: { path: { id } } }));
    toast("Key revoked.");
    loaded.reload();
  };
  return (
    <>
      <Head
        title="Keys"
        actions={
          canChange && (
            <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
              New key
            </Button>
          )
        }
      >
        Give each person and each program a separate key, so that it can be revoked separately.
      </Head>
      <Card isFlush>
        <List
          of={loaded}
          empty={<Empty title="No keys" />}
          label="Keys"
          rows={loaded.data ?? []}
          keyOf={({ id }) => id}
          columns={[
            {
              name: "Name",
              isFilling: true,
              show: ({ name, last_used_at }) => (
                <>
                  <strong class="cell">{name}</strong>
                  <small class="cell muted only-narrow">
                    used: <LastUse at={last_used_at} />
                  </small>
                </>
              ),
            },
            { name: "Role", show: ({ role }) => role },
            {
              name: "Begins with",
              hide: "medium",
              show: ({ prefix }) => prefix && <code class="muted">{prefix}…</code>,
            },
            {
              name: "Last used",
              hide: "narrow",
              show: ({ last_used_at }) => <LastUse at={last_used_at} />,
            },
            {
              name: "Expires",
              show: (key) =>
                key.expires_at === null ? (
                  "never"
                ) : isOver(key) ? (
                  <Status word="expired" />
                ) : (
                  <Time at={key.expires_at} />
                ),
            },
            {
              name: "",
              isNumber: true,
              show: (key) =>
                canChange &&
                key.source !== "environment" && (
                  <Button isSmall kind="quiet" of={key.name} onClick={() => setRevoking(key)}>
                    Revoke
                  </Button>
                ),
            },
          ]}
        />
      </Card>
      {isCreating && <CreateDialog onClose={() => setCreating(false)} onDone={loaded.reload} />}
      {revoking && (
        <Confirm
          title={`Revoke ${inText(revoking.name)}?`}
          verb="Revoke"
          act={() => revoke(revoking)}
          onClose={() => setRevoking(null)}
        >
          <p>Requests with this key are refused at once, also in this console. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}

function CreateDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [key, setKey] = useState<string | null>(null);
  const initial: { name: string; role: Key["role"]; days: string } = { name: "", role: "reader", days: "90" };
  const form = useForm("key", initial, async (_, { name, role, days }) => {
    const body = { name, role, expires_in: days === "" ? null : Number(days) * 86_400 };
    setKey((await done(admin.POST("/admin/v1/keys", { body }))).key);
    onDone();
  });
  if (key !== null)
    return (
      <SecretDialog
        title={`The key of ${inText(form.values.name)}`}
        secrets={{ "Operator key": key }}
        onClose={onClose}
      />
    );
  return (
    <FormDialog title="New key" verb="Create" of={form} onClose={onClose}>
      <Field label="Name" required hint="The person or program that will use it." {...form.at("name")} />
      <Select
        label="Role"
        options={[
          ["reader", "reader: can view everything, and change nothing"],
          ["publisher", "publisher: only the platform's data and events"],
          ["operator", "operator: can do everything"],
        ]}
        {...form.at("role")}
      />
      <Select
        label="Expires after"
        options={[
          ["1", "1 day"],
          ["30", "30 days"],
          ["90", "90 days"],
          ["365", "1 year"],
          ["", "never"],
        ]}
        {...form.at("days")}
      />
    </FormDialog>
  );
}
