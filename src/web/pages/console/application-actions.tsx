import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, FaultNotice, number } from "../../parts/basics.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { RotateDialog } from "../../parts/secret.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { useOperator } from "./operator.tsx";

type Application = components["schemas"]["Application"];

type Asked = "client_secret" | "webhook_secret" | "revoke";

/** The secrets and tokens of an application: rotate a secret, revoke all tokens. */
export function ApplicationActions({ application: { id, name, client_type } }: { application: Application }) {
  const { canChange } = useOperator();
  const [asked, setAsked] = useState<Asked | null>(null);
  const path = { params: { path: { id } } };
  const tokens = useLoad(
    (signal) => done(admin.GET("/admin/v1/applications/{id}/tokens", { ...path, signal })),
    [id],
    ["applications"],
  );
  const close = () => setAsked(null);
  const revoke = async () => {
    await done(admin.DELETE("/admin/v1/applications/{id}/tokens", path));
    toast(`All tokens of ${name} are revoked.`);
    tokens.reload();
  };
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
      {tokens.data && listed.length === 0 && <p class="muted">It has no active tokens.</p>}
      {listed.length > 0 && (
        <Table
          label="Tokens"
          rows={listed.slice(0, 20)}
          keyOf={(token) => JSON.stringify(token)}
          columns={[
            {
              name: "Issued to",
              show: ({ user_id }) => (user_id === null ? "the application" : `user ${user_id}`),
            },
            { name: "Scopes", show: ({ scopes }) => scopes.join(", ") },
            { name: "Expires", isNumber: true, show: ({ expires_at }) => <Time at={expires_at} /> },
          ]}
        />
      )}
      {listed.length > 20 && <footer class="muted">and {number(listed.length - 20)} more</footer>}
      {asked === "client_secret" && (
        <RotateDialog
          name="Client secret"
          rotate={async (body) =>
            (await done(admin.POST("/admin/v1/applications/{id}/client-secret", { ...path, body })))
              .client_secret
          }
          onClose={close}
        />
      )}
      {asked === "webhook_secret" && (
        <RotateDialog
          name="Signing secret"
          rotate={async (body) =>
            (await done(admin.POST("/admin/v1/applications/{id}/webhook-secret", { ...path, body })))
              .webhook_secret
          }
          onClose={close}
        />
      )}
      {asked === "revoke" && (
        <Confirm title={`Revoke all tokens of ${name}?`} verb="Revoke" act={revoke} onClose={close}>
          <p>
            The application must request new tokens, and its users must sign in again. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Card>
  );
}
