import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "./basics.tsx";
import { Check, Field, Select } from "./form.tsx";

/** The keywords of a JSON Schema that forms support. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

type Json = Readonly<Record<string, unknown>>;

/** Edits a value by its JSON Schema, as a form or as JSON. Lists and other nested values are always edited as JSON. */
export function SchemaForm({
  schema,
  value,
  onChange,
}: {
  schema: object;
  value: Json;
  onChange: (value: Json) => void;
}) {
  const [isText, setText] = useState(false);
  return (
    <div class="stack">
      <div class="row between">
        <h2>Data</h2>
        <Button isSmall kind="quiet" onClick={() => setText(!isText)}>
          {isText ? "Edit as a form" : "Edit as JSON"}
        </Button>
      </div>
      {isText ? (
        <JsonField label="Data as JSON" value={value} rows={16} onChange={(next) => onChange(next as Json)} />
      ) : (
        <Members schema={schema as Schema} value={value} onChange={onChange} />
      )}
    </div>
  );
}

function Members({
  schema,
  value,
  onChange,
}: {
  schema: Schema;
  value: Json;
  onChange: (value: Json) => void;
}) {
  return (
    <div class="stack">
      {Object.entries(schema.properties ?? {}).map(([name, member]) => (
        <Member
          key={name}
          name={name}
          schema={member}
          value={value[name]}
          onChange={(next) => onChange({ ...value, [name]: next })}
        />
      ))}
    </div>
  );
}

interface MemberProps {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function Member({ name, schema, value, onChange }: MemberProps) {
  const options = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  const isNullable = options.length < (schema.anyOf?.length ?? 0);
  const [only] = options;
  const choices = schema.enum ?? literals(options);
  if (choices)
    return <Choice name={name} schema={schema} value={value} choices={choices} onChange={onChange} />;
  const known =
    only && options.length === 1 ? { ...only, description: schema.description ?? only.description } : schema;
  const isNull = isNullable && value === null;
  if (known.type === "boolean" && !isNull) {
    return <Check label={name} checked={value === true} onChange={onChange} />;
  }
  if (known.type === "object" && known.properties && typeof value === "object" && value !== null) {
    return (
      <details class="group" open={name === "data"}>
        <summary>
          {name} <small class="muted">{known.description}</small>
        </summary>
        <Members schema={known as Schema} value={value as Json} onChange={onChange} />
      </details>
    );
  }
  const isNumber = known.type === "integer" || known.type === "number";
  if (isNumber || known.type === "string" || isNull) {
    return (
      <Field
        label={name}
        hint={known.description}
        type={isNumber ? "number" : "text"}
        placeholder={isNullable ? "null" : ""}
        value={value === undefined || value === null ? "" : String(value)}
        onInput={(text) => onChange(isNullable && text === "" ? null : read(known as Schema, text))}
      />
    );
  }
  return <JsonField label={name} value={value} rows={3} onChange={onChange} />;
}

function Choice({ name, schema, value, choices, onChange }: MemberProps & { choices: readonly unknown[] }) {
  const texts = choices.map((choice) => [JSON.stringify(choice), String(choice)] as const);
  return (
    <Select
      label={name}
      {...(schema.description && { hint: schema.description })}
      value={JSON.stringify(value)}
      options={texts}
      onChange={(text) => onChange(JSON.parse(text))}
    />
  );
}

/** The values of a union of literals; null for other schemas. */
function literals(options: readonly Schema[]): readonly unknown[] | null {
  if (options.length < 2 || options.some((one) => one.const === undefined)) return null;
  return options.map((one) => one.const);
}

function read({ type }: Schema, text: string): unknown {
  if (type === "integer" || type === "number")
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  return text;
}

/** Edits a value as JSON. Invalid JSON is marked, and does not change the value. */
export function JsonField({
  label,
  value,
  rows,
  onChange,
}: {
  label: string;
  value: unknown;
  rows: number;
  onChange: (value: unknown) => void;
}) {
  const [text, setText] = useState(JSON.stringify(value, null, 2) ?? "");
  const [problem, setProblem] = useState<string | undefined>(undefined);
  /** The value that was typed last. */
  const typed = useRef(value);
  // Another value than the typed one, for example after the changes were discarded, replaces the text.
  useEffect(() => {
    if (JSON.stringify(value) === JSON.stringify(typed.current)) return;
    typed.current = value;
    setText(JSON.stringify(value, null, 2) ?? "");
    setProblem(undefined);
  }, [value]);
  const input = (next: string) => {
    setText(next);
    try {
      typed.current = JSON.parse(next);
      onChange(typed.current);
      setProblem(undefined);
    } catch {
      setProblem("is not valid JSON yet");
    }
  };
  return <Field label={label} isCode rows={rows} value={text} problem={problem} onInput={input} />;
}
