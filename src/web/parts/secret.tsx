import { useState } from "preact/hooks";
import { useAction } from "../load.ts";
import { Button, Notice } from "./basics.tsx";
import { Code } from "./code.tsx";
import { Dialog, FormDialog } from "./dialog.tsx";
import { Select } from "./form.tsx";

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

/** Rotates a secret: the user chooses how long the old secret stays valid, and sees the new secret. */
export function RotateDialog({
  name,
  rotate,
  onClose,
}: {
  /** The name of the secret, for example "Client secret". */
  name: string;
  rotate: (overlap: { overlap_seconds: number }) => Promise<string>;
  onClose: () => void;
}) {
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState<string | null>(null);
  const act = useAction(async () => setSecret(await rotate({ overlap_seconds: Number(overlap) })));
  const words = name.toLowerCase();
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
        hint="Until then both secrets are accepted."
        onChange={setOverlap}
      />
    </FormDialog>
  );
}
