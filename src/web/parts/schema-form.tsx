import { useEffect, useRef, useState } from "preact/hooks";
import { type Problems, problemsBelow } from "../form.ts";
import { Button } from "./basics.tsx";
import { Check, Field, Select } from "./form.tsx";

/** The keywords of a JSON Schema that forms support. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string | undefined;
  readonly minimum?: number;
  readonly maximum?: number;
}

type Json = Readonly<Record<string, unknown>>;

interface SchemaFormProps {
  readonly schema: Schema;
  readonly value: Json;
  /** The problems of the value and of its parts, as `problemsBelow` names them. */
  readonly problems?: Problems;
  readonly onInput: (value: Json) => void;
}

/** Edits a value by its JSON Schema, as a form or as JSON. Lists and other nested values are always edited as JSON. */
export function SchemaForm({ schema, value, problems = {}, onInput }: SchemaFormProps) {
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
        <JsonField
          label="Data as JSON"
          value={value}
          rows={16}
          problem={listed(problems, "Correct these values:\n")}
          onInput={onInput}
        />
      ) : (
        <Members schema={schema} value={value} problems={problems} onInput={onInput} />
      )}
    </div>
  );
}

function Members({ schema, value, problems, onInput }: Required<SchemaFormProps>) {
  const members = Object.entries(schema.properties ?? {}).map(([name, member]) => ({
    name,
    member,
    below: problemsBelow(problems, `.${name}`),
  }));
  const placed = members.flatMap(({ name, below }) => Object.keys(below).map((rest) => `.${name}${rest}`));
  // A field that the schema does not have, for example, is in no member.
  const others = Object.fromEntries(Object.entries(problems).filter(([rest]) => !placed.includes(rest)));
  return (
    <div class="stack">
      {listed(others) && <p class="bad">{listed(others)}</p>}
      {members.map(({ name, member, below }) => (
        <Member
          key={name}
          name={name}
          schema={member}
          value={value[name]}
          problems={below}
          onInput={(next) => onInput({ ...value, [name]: next })}
        />
      ))}
    </div>
  );
}

/** The problems of a value and of its parts in lines below a heading; undefined for none. */
function listed(problems: Problems, heading = ""): string | undefined {
  const lines = Object.entries(problems).map(([rest, message]) =>
    rest === "" ? message : `${rest.replace(/^\./, "")}: ${message}`,
  );
  return lines.length > 0 ? heading + lines.join("\n") : undefined;
}

interface MemberProps {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly problems: Problems;
  readonly onInput: (value: unknown) => void;
}

function Member({ name, schema, value, problems, onInput }: MemberProps) {
  const options = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  const isNullable = options.length < (schema.anyOf?.length ?? 0);
  const [only] = options;
  const choices = schema.enum ?? literals(options);
  const problem = listed(problems);
  if (choices) {
    return (
      <Select
        label={name}
        hint={schema.description}
        problem={problem}
        value={JSON.stringify(value)}
        options={choices.map((choice) => [JSON.stringify(choice), String(choice)])}
        onInput={(text) => onInput(JSON.parse(text))}
      />
    );
  }
  const known: Schema =
    only && options.length === 1 ? { ...only, description: schema.description ?? only.description } : schema;
  const isNull = isNullable && value === null;
  if (known.type === "boolean" && !isNull) {
    return <Check label={name} value={value === true} problem={problem} onInput={onInput} />;
  }
  if (known.type === "object" && known.properties && typeof value === "object" && value !== null) {
    return (
      <details class="group" open={name === "data"}>
        <summary>
          {name} <small class="muted">{known.description}</small>
        </summary>
        <Members schema={known} value={value as Json} problems={problems} onInput={onInput} />
      </details>
    );
  }
  const isNumber = known.type === "integer" || known.type === "number";
  if (isNumber || known.type === "string" || isNull) {
    return (
      <Field
        label={name}
        hint={known.description}
        problem={problem}
        type={isNumber ? "number" : "text"}
        placeholder={isNullable ? "null" : ""}
        value={value === undefined || value === null ? "" : String(value)}
        onInput={(text) => onInput(isNullable && text === "" ? null : read(known, text))}
      />
    );
  }
  return <JsonField label={name} value={value} rows={3} problem={problem} onInput={onInput} />;
}

/** The values of a union of literals; null for other schemas. */
function literals(options: readonly Schema[]): readonly unknown[] | null {
  if (options.length < 2 || options.some((option) => option.const === undefined)) return null;
  return options.map((option) => option.const);
}

function read({ type }: Schema, text: string): unknown {
  if (type === "integer" || type === "number")
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  return text;
}

interface JsonFieldProps<Value> {
  readonly label: string;
  readonly value: Value;
  readonly rows: number;
  /** The problem of the value, when its JSON is valid. */
  readonly problem?: string | undefined;
  readonly onInput: (value: Value) => void;
}

/** Edits a value as JSON. Invalid JSON is marked, does not change the value, and the form is not sent with it. */
export function JsonField<Value>({ label, value, rows, problem, onInput }: JsonFieldProps<Value>) {
  const [text, setText] = useState(JSON.stringify(value, null, 2) ?? "");
  const [isBroken, setBroken] = useState(false);
  /** The value that was typed last. */
  const typed = useRef(value);
  // Another value than the typed one, for example after the changes were discarded, replaces the text.
  useEffect(() => {
    if (JSON.stringify(value) === JSON.stringify(typed.current)) return;
    typed.current = value;
    setText(JSON.stringify(value, null, 2) ?? "");
    setBroken(false);
  }, [value]);
  const input = (next: string) => {
    setText(next);
    try {
      typed.current = JSON.parse(next) as Value;
      onInput(typed.current);
      setBroken(false);
    } catch {
      setBroken(true);
    }
  };
  return (
    <Field
      label={label}
      isCode
      rows={rows}
      value={text}
      problem={isBroken ? "is not valid JSON yet" : problem}
      isBlocking={isBroken}
      onInput={input}
    />
  );
}
