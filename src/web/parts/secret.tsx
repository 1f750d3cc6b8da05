import { useState } from "preact/hooks";
import { useAction } from "../load.ts";
import { Button, Notice, Status } from "./basics.tsx";
import { Code } from "./code.tsx";
import { Select } from "./form.tsx";
import { Dialog, FormDialog } from "./overlays.tsx";
import { Table } from "./table.tsx";
import { Time } from "./time.tsx";

/** Shows secrets, which can be displayed only once. */
export function SecretDialog({
  title,
  secrets,
  onClose,
}: {
  title: string;
  secrets: Readonly<Record<string, string>>;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={title}
      mustAnswer
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      }
    >
      <Notice tone="warn" title="This is shown only once. Store it where only your program can read it." />
      {Object.entries(secrets).map(([name, text]) => (
        <div class="stack tight" key={name}>
          <h3>{name}</h3>
          <Code text={text} label={name} />
        </div>
      ))}
    </Dialog>
  );
}

/** What a former secret still does, by kind. */
const kinds = {
  client_secret: { name: "Client secret", former: "accepted until" },
  webhook_secret: { name: "Signing secret", former: "also signs until" },
} as const;

/** A secret that is valid, as both APIs have it. */
interface SecretInForce {
  readonly kind: keyof typeof kinds;
  readonly prefix: string;
  readonly created_at: string;
  /** null for the newest of its kind. */
  readonly expires_at: string | null;
}

/** The valid secrets of an application. During a rotation, the new and the former one are told apart. */
export function SecretTable({ secrets }: { secrets: readonly SecretInForce[] }) {
  return (
    <Table
      label="Secrets"
      rows={secrets}
      keyOf={({ kind, created_at, expires_at }) => `${kind} ${created_at} ${expires_at}`}
      columns={[
        {
          name: "Secret",
          show: ({ kind, prefix }) => (
            <>
              <strong class="nowrap">{kinds[kind].name}</strong>
              <br />
              {prefix ? <code>{prefix}…</code> : <span class="muted">of unknown beginning</span>}
            </>
          ),
        },
        {
          name: "State",
          isFilling: true,
          show: ({ kind, expires_at }) =>
            expires_at === null ? (
              <Status word="in force" tone="ok" />
            ) : (
              <>
                <Status word="replaced" tone="warn" />{" "}
                <small class="muted">
                  {kinds[kind].former} <Time at={expires_at} />
                </small>
              </>
            ),
        },
        { name: "Created", isNumber: true, show: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

/** Rotates a secret: the user chooses how long the old secret stays valid, and sees the new secret. */
export function RotateDialog({
  kind,
  rotate,
  onClose,
}: {
  kind: keyof typeof kinds;
  rotate: (overlap: { overlap_seconds: number }) => Promise<string>;
  onClose: () => void;
}) {
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState<string | null>(null);
  const act = useAction(async () => setSecret(await rotate({ overlap_seconds: Number(overlap) })));
  const { name } = kinds[kind];
  const words = name.toLowerCase();
  const both =
    kind === "webhook_secret"
      ? "Until then both secrets sign: each delivery has two signatures, and a receiver with either of them accepts it."
      : "Until then both secrets are accepted.";
  if (secret !== null)
    return <SecretDialog title={`The new ${words}`} secrets={{ [name]: secret }} onClose={onClose} />;
  return (
    <FormDialog title={`Rotate the ${words}?`} verb="Create new secret" of={act} onClose={onClose}>
      <Select
        label="The old secret stays valid for"
        value={overlap}
        options={[
          ["3600", "1 hour"],
          ["86400", "1 day"],
          ["604800", "7 days"],
          ["0", "no time: it may have leaked"],
        ]}
        hint={overlap === "0" ? "Only the new secret is valid, at once." : both}
        onInput={setOverlap}
      />
    </FormDialog>
  );
}
