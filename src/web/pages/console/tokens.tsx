import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, FaultNotice, number } from "../../parts/basics.tsx";
import { Confirm, toast } from "../../parts/overlays.tsx";
import { RotateDialog, SecretTable } from "../../parts/secret.tsx";
import { Read, Table } from "../../parts/table.tsx";
import { LastUse, Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { inText } from "../../text.ts";
import { useOperator } from "./operator.tsx";

/** The most tokens that are listed before the others are asked for. */
const fewTokens = 20;

type Token = components["schemas"]["Token"];
type OpenDialog = "client_secret" | "webhook_secret" | "revoke" | Token;

const ownerOf = ({ user_id, username, is_portal_session }: Token) =>
  user_id === null ? (is_portal_session ? "the portal" : "the application") : (username ?? `user ${user_id}`);

/** The secrets and tokens of an application: rotate a secret, revoke one token or all. */
export function SecretsAndTokens({
  application: { id, name, client_type },
}: {
  application: components["schemas"]["Application"];
}) {
  const { canChange } = useOperator();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [isLong, setLong] = useState(false);
  const path = { params: { path: { id } } };
  const usage = useLoad(
    (signal) => done(admin.GET("/admin/v1/applications/{id}/usage", { ...path, signal })),
    [id],
    ["applications"],
  );
  const tokens = useLoad(
    (signal) => done(admin.GET("/admin/v1/applications/{id}/tokens", { ...path, signal })),
    [id],
    ["applications"],
  );
  const close = () => setDialog(null);
  const revokeAll = async () => {
    await done(admin.DELETE("/admin/v1/applications/{id}/tokens", path));
    toast(`All tokens of ${inText(name)} are revoked.`);
    tokens.reload();
  };
  const revoke = async (token: Token) => {
    const params = { path: { id, token_id: token.id } };
    await done(admin.DELETE("/admin/v1/applications/{id}/tokens/{token_id}", { params }));
    toast("The token is revoked.");
    tokens.reload();
  };
  const rotate = {
    client_secret: async (body: { overlap_seconds: number }) =>
      (await done(admin.POST("/admin/v1/applications/{id}/client-secret", { ...path, body }))).client_secret,
    webhook_secret: async (body: { overlap_seconds: number }) =>
      (await done(admin.POST("/admin/v1/applications/{id}/webhook-secret", { ...path, body })))
        .webhook_secret,
  };
  const listed = tokens.data?.data ?? [];
  const first = isLong ? listed : listed.slice(0, fewTokens);
  return (
    <>
      <Card
        isFlush
        title="Secrets"
        actions={
          canChange && (
            <>
              {client_type === "confidential" && (
                <Button isSmall onClick={() => setDialog("client_secret")}>
                  Rotate client secret
                </Button>
              )}
              <Button isSmall onClick={() => setDialog("webhook_secret")}>
                Rotate signing secret
              </Button>
            </>
          )
        }
      >
        <Read of={usage}>{({ secrets }) => <SecretTable secrets={secrets} />}</Read>
      </Card>
      <Card
        isFlush={listed.length > 0}
        title="Tokens"
        actions={
          canChange &&
          listed.length > 0 && (
            <Button isSmall kind="danger" onClick={() => setDialog("revoke")}>
              Revoke all tokens
            </Button>
          )
        }
      >
        <FaultNotice fault={tokens.fault} />
        {tokens.data && listed.length === 0 && <p class="muted">It has no active tokens.</p>}
        {listed.length > 0 && <TokenTable tokens={first} onRevoke={canChange ? setDialog : null} />}
        {listed.length > first.length && (
          <footer>
            <Button isSmall onClick={() => setLong(true)}>
              Show {number(listed.length - first.length)} more
            </Button>
          </footer>
        )}
      </Card>
      {(dialog === "client_secret" || dialog === "webhook_secret") && (
        <RotateDialog
          kind={dialog}
          rotate={async (overlap) => {
            const secret = await rotate[dialog](overlap);
            usage.reload();
            return secret;
          }}
          onClose={close}
        />
      )}
      {dialog === "revoke" && (
        <Confirm
          title={`Revoke all tokens of ${inText(name)}?`}
          verb="Revoke"
          act={revokeAll}
          onClose={close}
        >
          <p>
            The application must request new tokens, and its users must sign in again. This cannot be undone.
          </p>
        </Confirm>
      )}
      {dialog !== null && typeof dialog === "object" && (
        <Confirm title="Revoke this token?" verb="Revoke" act={() => revoke(dialog)} onClose={close}>
          <p>
            It belongs to <bdi>{ownerOf(dialog)}</bdi>, and was created <Time at={dialog.created_at} />.
            Requests with it are refused at once.{" "}
            {dialog.user_id !== null &&
              "The user must sign in again for the application to get another one. "}
            This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}

function TokenTable({
  tokens,
  onRevoke,
}: {
  tokens: readonly Token[];
  /** null for a user who may not revoke. */
  onRevoke: ((token: Token) => void) | null;
}) {
  return (
    <Table
      label="Tokens"
      rows={tokens}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "Issued to",
          isFilling: true,
          show: (token) => (
            <>
              {token.user_id === null ? (
                <span class="cell">{ownerOf(token)}</span>
              ) : (
                <a class="cell" href={to(`/users/${token.user_id}`)}>
                  {ownerOf(token)}
                </a>
              )}
              <small class="cell muted">{token.scopes.join(", ") || "no scopes"}</small>
              <small class="muted only-narrow">
                created <Time at={token.created_at} />, expires <Time at={token.expires_at} />
              </small>
            </>
          ),
        },
        { name: "Created", hide: "narrow", show: ({ created_at }) => <Time at={created_at} /> },
        { name: "Last used", show: ({ last_used_at }) => <LastUse at={last_used_at} /> },
        { name: "Expires", hide: "narrow", show: ({ expires_at }) => <Time at={expires_at} /> },
        {
          name: "",
          isNumber: true,
          show: (token) =>
            onRevoke && (
              <Button
                isSmall
                kind="quiet"
                of={`the token of ${ownerOf(token)}, id ${token.id.slice(0, 8)}`}
                onClick={() => onRevoke(token)}
              >
                Revoke
              </Button>
            ),
        },
      ]}
    />
  );
}
