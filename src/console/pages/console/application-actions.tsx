import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Card, FaultNotice, number } from "../../parts/basics.tsx";
import { Confirm, Select } from "../../parts/form.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { useOperator } from "./operator.tsx";

type Application = components["schemas"]["Application"];

type Asked = "client_secret" | "webhook_secret" | "revoke";
const dayS = "86400";

/** Its secrets and tokens: rotate, make one, revoke all. */
export function ApplicationActions({ application: { id, name, client_type } }: { application: Application }) {
  const { canChange } = useOperator();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [overlap, setOverlap] = useState(dayS);
  const [shown, setShown] = useState<Readonly<Record<string, string>> | null>(null);
  const path = { params: { path: { id } } };
  const tokens = useLoad(
    (signal) => done(admin.GET("/admin/v1/applications/{id}/tokens", { ...path, signal })),
    [id],
    ["applications"],
  );
  const rotate = useAction(async () => {
    const options = { ...path, body: { overlap_seconds: Number(overlap) } };
    if (asked === "client_secret") {
      const made = await done(admin.POST("/admin/v1/applications/{id}/client-secret", options));
      setShown({ "Client secret": made.client_secret });
    } else {
      const made = await done(admin.POST("/admin/v1/applications/{id}/webhook-secret", options));
      setShown({ "Signing secret": made.webhook_secret });
    }
    setAsked(null);
  });
  const revoke = useAction(async () => {
    await done(admin.DELETE("/admin/v1/applications/{id}/tokens", path));
    setAsked(null);
    toast(`All tokens of ${name} are revoked.`);
    tokens.reload();
  });
  const listed = tokens.data?.data ?? [];
  return (
    <Card
      isFlush={listed.length > 0}
      title="Secrets and tokens"
      actions={
        canChange && (
          <>
            {client_type === "confidential" && (
              <Button isSmall onClick={() => setAsked("client_secret")}>
                Rotate client secret
              </Button>
            )}
            <Button isSmall onClick={() => setAsked("webhook_secret")}>
              Rotate signing secret
            </Button>
            {listed.length > 0 && (
              <Button isSmall kind="danger" onClick={() => setAsked("revoke")}>
                Revoke all tokens
              </Button>
            )}
          </>
        )
      }
    >
      <FaultNotice fault={tokens.fault} />
      {tokens.data && listed.length === 0 && <p class="muted">It has no token in force.</p>}
      {listed.length > 0 && (
        <Table
          label="Tokens"
          rows={listed.slice(0, 20)}
          keyOf={(token) => JSON.stringify(token)}
          columns={[
            {
              name: "Token of",
              show: ({ user_id }) => (user_id === null ? "the application" : `user ${user_id}`),
            },
            { name: "Scopes", show: ({ scopes }) => scopes.join(", ") },
            { name: "Ends", isNumber: true, show: ({ expires_at }) => <Time at={expires_at} /> },
          ]}
        />
      )}
      {listed.length > 20 && <footer class="muted">and {number(listed.length - 20)} more</footer>}
      {(asked === "client_secret" || asked === "webhook_secret") && (
        <Confirm
          title={asked === "client_secret" ? "Rotate the client secret?" : "Rotate the signing secret?"}
          verb="Make a new secret"
          isHarmless
          isBusy={rotate.isBusy}
          fault={rotate.fault}
          onConfirm={() => rotate.run()}
          onClose={() => setAsked(null)}
        >
          <Select
            label="The old one stays good for"
            value={overlap}
            options={[
              ["3600", "1 hour"],
              [dayS, "1 day"],
              ["604800", "7 days"],
              ["0", "no longer: it may have leaked"],
            ]}
            onChange={setOverlap}
          />
        </Confirm>
      )}
      {asked === "revoke" && (
        <Confirm
          title={`Revoke all tokens of ${name}?`}
          verb="Revoke"
          isBusy={revoke.isBusy}
          fault={revoke.fault}
          onConfirm={() => revoke.run()}
          onClose={() => setAsked(null)}
        >
          <p>
            Its programs have to ask for new ones, and its users have to sign in again. This cannot be undone.
          </p>
        </Confirm>
      )}
      {shown && <SecretDialog title="The new secret" secrets={shown} onClose={() => setShown(null)} />}
    </Card>
  );
}
