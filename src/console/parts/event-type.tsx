import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Status } from "./basics.tsx";
import { Code, Tabs } from "./code.tsx";

interface TypeCardProps {
  readonly type: {
    readonly name: string;
    readonly version: number;
    readonly description: string;
    readonly example: unknown;
    readonly schema: unknown;
  };
  readonly isRegistered?: boolean;
  /** Whether it is the one that is looked for. */
  readonly isOpen: boolean;
  readonly actions: ComponentChildren;
}

/** An event type in a line, which opens to what can be done with it, its example and its schema. */
export function EventTypeCard({ type, isRegistered, isOpen, actions }: TypeCardProps) {
  const [isShown, setShown] = useState(isOpen);
  useEffect(() => {
    if (isOpen) setShown(true);
  }, [isOpen]);
  const { name, version, description, example, schema } = type;
  const code = (label: string, value: unknown) => ({
    name: label,
    show: () => <Code isJson text={JSON.stringify(value)} label={`${label} of ${name}`} />,
  });
  return (
    <details
      class="card flush event-type"
      open={isShown}
      onToggle={(event) => setShown((event.target as HTMLDetailsElement).open)}
    >
      <summary>
        <h2>
          <code>{name}</code> <small class="muted">version {version}</small>{" "}
          {isRegistered && <Status word="registered" tone="ok" />}
        </h2>
        <span class="muted">{description}</span>
      </summary>
      {isShown && (
        <div class="stack">
          {actions && <div class="row wrap">{actions}</div>}
          <Tabs label={`About ${name}`} tabs={[code("Example", example), code("JSON Schema", schema)]} />
        </div>
      )}
    </details>
  );
}
