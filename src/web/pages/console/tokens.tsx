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
type Asked = "client_secret" | "webhook_secret" | "revoke" | Token;

const ownerOf = ({ user_id, username, is_portal_session }: Token) =>
  user_id === null ? (is_portal_session ? "the portal" : "the application") : (username ?? `user ${user_id}`);

/** The secrets and tokens of an application: rotate a secret, revoke one token or all. */
export function SecretsAndTokens({
  application: { id, name, client_type },
}: {
  application: components["schemas"]["Application"];
}) {
  const { canChange } = useOperator();
  const [asked, setAsked] = useState<Asked | null>(null);
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
  const close = () => setAsked(null);
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
  const rotated = <T,>(answer: T): T => {
    usage.reload();
    return answer;
  };
  const listed = tokens.data?.data ?? [];
  const shown = isLong ? listed : listed.slice(0, fewTokens);
  return (
    <>
      <Card
        isFlush
        title="Secrets"
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
            <Button isSmall kind="danger" onClick={() => setAsked("revoke")}>
              Revoke all tokens
            </Button>
          )
        }
      >
        <FaultNotice fault={tokens.fault} />
        {tokens.data && listed.length === 0 && <p class="muted">It has no active tokens.</p>}
        {listed.length > 0 && <TokenTable tokens={shown} onRevoke={canChange ? setAsked : null} />}
        {listed.length > shown.length && (
          <footer>
            <Button isSmall onClick={() => setLong(true)}>
              Show {number(listed.length - shown.length)} more
            </Button>
          </footer>
        )}
      </Card>
      {asked === "client_secret" && (
        <RotateDialog
          kind="client_secret"
          rotate={async (body) =>
            rotated(await done(admin.POST("/admin/v1/applications/{id}/client-secret", { ...path, body })))
              .client_secret
          }
          onClose={close}
        />
      )}
      {asked === "webhook_secret" && (
        <RotateDialog
          kind="webhook_secret"
          rotate={async (body) =>
            rotated(await done(admin.POST("/admin/v1/applications/{id}/webhook-secret", { ...path, body })))
              .webhook_secret
          }
          onClose={close}
        />
      )}
      {asked === "revoke" && (
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
      {asked !== null && typeof asked === "object" && (
        <Confirm title="Revoke this token?" verb="Revoke" act={() => revoke(asked)} onClose={close}>
          <p>
            It belongs to <bdi>{ownerOf(asked)}</bdi>, and was created <Time at={asked.created_at} />.
            Requests with it are refused at once.{" "}
            {asked.user_id !== null && "The user must sign in again for the application to get another one. "}
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
