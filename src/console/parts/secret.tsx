import { Button, Notice } from "./basics.tsx";
import { Code } from "./code.tsx";
import { Dialog } from "./form.tsx";

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
