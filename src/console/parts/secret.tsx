import { useState } from "preact/hooks";
import { useAction } from "../load.ts";
import { Button, Notice } from "./basics.tsx";
import { Code } from "./code.tsx";
import { Dialog, FormDialog } from "./dialog.tsx";
import { Select } from "./form.tsx";

/** Shows secrets the only time that they can be seen. */
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
          I have kept it
        </Button>
      }
    >
      <Notice
        tone="warn"
        title="It is shown only now. Keep it where your program finds it, and nobody else does."
      />
      {Object.entries(secrets).map(([name, text]) => (
        <div class="stack tight" key={name}>
          <h3>{name}</h3>
          <Code text={text} label={name} />
        </div>
      ))}
    </Dialog>
  );
}

/** Makes a new secret, for which it asks how long the old one holds, and shows it. */
export function RotateDialog({
  name,
  rotate,
  onClose,
}: {
  /** Such as "Client secret". */
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
    <FormDialog title={`Rotate the ${words}?`} verb="Make a new secret" of={act} onClose={onClose}>
      <Select
        label="The old one stays good for"
        value={overlap}
        options={[
          ["3600", "1 hour"],
          ["86400", "1 day"],
          ["604800", "7 days"],
          ["0", "no longer: it may have leaked"],
        ]}
        hint="Meanwhile both are good, and nothing is refused."
        onChange={setOverlap}
      />
    </FormDialog>
  );
}
