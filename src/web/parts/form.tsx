import type { IconNode } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Action } from "../load.ts";
import { useQuery } from "../places.ts";
import { Button, Empty, FaultNotice, Notice } from "./basics.tsx";

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly autofocus?: boolean;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly isWide?: boolean;
  readonly rows?: number;
  /** Whether the text is code or data. */
  readonly isCode?: boolean;
  readonly list?: readonly string[];
  readonly name?: string;
  readonly min?: number;
  /** Whether the form is not sent while the field has its problem. */
  readonly isBlocking?: boolean;
}

/** The attributes of an input that connect it with its label, hint and problem. */
interface FramedInput {
  readonly id: string;
  readonly class: string;
  readonly spellcheck: false;
  readonly "aria-invalid": true | undefined;
  readonly "aria-describedby": string | undefined;
}

interface FieldFrameProps extends Pick<FieldProps, "label" | "hint" | "problem"> {
  readonly isWide?: boolean | undefined;
  /** Whether the label is only for screen readers. */
  readonly isBare?: boolean | undefined;
  /** Renders the input. */
  readonly children: (input: FramedInput) => ComponentChildren;
}

/** An input with its label, and below it the hint or the problem. */
export function FieldFrame({ label, hint, problem, isWide, isBare, children }: FieldFrameProps) {
  const id = useId();
  const about = hint || problem ? `${id}-about` : undefined;
  return (
    <div class={isWide ? "field wide" : "field"}>
      <label for={id} class={isBare ? "visually-hidden" : ""}>
        {label}
      </label>
      {children({
        id,
        class: "input",
        spellcheck: false,
        "aria-invalid": problem ? true : undefined,
        "aria-describedby": about,
      })}
      {(hint || problem) && (
        <small id={about} class={problem ? "problem" : ""}>
          {problem ? problemOf(label, problem) : hint}
        </small>
      )}
    </div>
  );
}

type Validated = HTMLInputElement | HTMLTextAreaElement;

/** A labelled input, with `rows` a text area. */
export function Field(props: FieldProps) {
  const { label, hint, problem, isWide, value, onInput, rows, isCode, list, isBlocking, ...rest } = props;
  const block = (input: Validated | null) =>
    input?.setCustomValidity(isBlocking && problem ? problemOf(label, problem) : "");
  return (
    <FieldFrame label={label} hint={hint} problem={problem} isWide={isWide}>
      {(input) => {
        const common = {
          ...rest,
          ...input,
          ...(isCode && { class: "input code-input" }),
          value,
          onInput: (event: Event) => onInput((event.target as HTMLInputElement).value),
          ...(isBlocking !== undefined && { ref: (input: Validated | null) => block(input) }),
        } as const;
        if (rows) return <textarea {...common} rows={rows} />;
        return (
          <>
            {/* Preact's types allow a list only for known input types. */}
            <input {...(common as object)} list={list && `${input.id}-list`} />
            {list && (
              <datalist id={`${input.id}-list`}>
                {list.map((option) => (
                  <option value={option} key={option} />
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </FieldFrame>
  );
}

/** The problem of a field as a sentence. The API returns a sentence, or a predicate for the name of the field. */
function problemOf(label: string, problem: string): string {
  return /^[A-Z]/.test(problem) ? problem : `${label} ${problem}`;
}

interface SelectProps<Value extends string> {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problem?: string | undefined;
  readonly value: Value;
  readonly disabled?: boolean;
  /** Whether the label is only for screen readers. */
  readonly isBare?: boolean;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly onInput: (value: Value) => void;
}

export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, hint, problem, isBare, value, options, onInput, disabled = false } = props;
  return (
    <FieldFrame label={label} hint={hint} problem={problem} isBare={isBare}>
      {(input) => (
        <select
          {...input}
          value={value}
          disabled={disabled}
          onChange={(event) => onInput(event.currentTarget.value as Value)}
        >
          {options.map(([option, text]) => (
            <option value={option} key={option} selected={option === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </FieldFrame>
  );
}

interface CheckProps {
  readonly label: ComponentChildren;
  readonly problem?: string | undefined;
  readonly value: boolean;
  readonly onInput: (value: boolean) => void;
}

export function Check({ label, problem, value, onInput }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        aria-invalid={problem ? true : undefined}
        onChange={() => onInput(!value)}
      />
      <span>
        {label}
        {problem && <small class="problem"> {problem}</small>}
      </span>
    </label>
  );
}

interface ChecksProps<Value extends string> {
  readonly label: string;
  /** Whether the label is only for screen readers. */
  readonly isBare?: boolean;
  readonly problem?: string | undefined;
  readonly options: readonly (readonly [value: Value, label: ComponentChildren])[];
  readonly value: readonly Value[];
  readonly onInput: (value: Value[]) => void;
}

/** A list of values of which any may be chosen. */
export function Checks<Value extends string>(props: ChecksProps<Value>) {
  const { label, isBare, problem, options, value, onInput } = props;
  return (
    <fieldset class="stack tight">
      <legend class={isBare ? "visually-hidden" : "label"}>{label}</legend>
      {options.map(([option, text]) => (
        <Check
          key={option}
          label={text}
          value={value.includes(option)}
          onInput={(isChosen) =>
            onInput(isChosen ? [...value, option] : value.filter((other) => other !== option))
          }
        />
      ))}
      {problem && <small class="problem">{problemOf(label, problem)}</small>}
    </fieldset>
  );
}

type InQuery<Props> = Omit<Props, "value" | "onInput"> & { readonly name: string };

/** A field whose value is the parameter `name` of the URL. */
export function QueryField({ name, ...rest }: InQuery<FieldProps>) {
  const [query, setQuery] = useQuery();
  return <Field {...rest} value={query[name] ?? ""} onInput={(value) => setQuery({ [name]: value })} />;
}

/** A selection that is the parameter `name` of the URL. */
export function QuerySelect({ name, ...rest }: InQuery<SelectProps<string>>) {
  const [query, setQuery] = useQuery();
  return <Select {...rest} value={query[name] ?? ""} onInput={(value) => setQuery({ [name]: value })} />;
}

/** The single text filter of a list, the parameter `name` of the URL. */
export function Find({ name, placeholder }: { name: string; placeholder: string }) {
  return (
    <div class="filters">
      <QueryField isWide label="Find" name={name} placeholder={placeholder} />
    </div>
  );
}

/** The empty state of a list that has filters in the URL; `of` names what the list has, such as "deliveries". */
export function NoMatch({ of, children }: { of: string; children?: ComponentChildren }) {
  const [, , clear] = useQuery();
  return (
    <Empty title={`No ${of} match these filters`}>
      {children && <p>{children}</p>}
      <div class="row">
        <Button onClick={clear}>Clear filters</Button>
      </div>
    </Empty>
  );
}

interface FormProps {
  readonly label: string;
  readonly of: Action;
  /** The label of the button. */
  readonly verb: string;
  readonly icon?: IconNode;
  /** Whether the action cannot be undone. */
  readonly isDangerous?: boolean;
  readonly disabled?: boolean;
  /** Adds a button that cancels. */
  readonly onCancel?: () => void;
  readonly children: ComponentChildren;
}

/**
 * A form that is submitted by the button or Enter, and shows the error if the submission was refused. The first field
 * with a problem then has the focus.
 */
export function Form({ label, of, verb, icon, isDangerous, disabled, onCancel, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const isRefused = !of.isBusy && of.fault !== null;
  useEffect(() => {
    if (isRefused) focusFirstProblem(form.current);
  }, [isRefused]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!of.isBusy) of.run();
  };
  return (
    <form
      class="stack"
      ref={form}
      aria-label={label}
      onSubmit={submit}
      onInvalidCapture={(event) => openAround(event.target as Element)}
    >
      {of.draft?.isRestored && (
        <Notice title="What you had not saved is here again.">
          <div class="row">
            <Button isSmall onClick={of.draft.discard}>
              Discard it
            </Button>
          </div>
        </Notice>
      )}
      {children}
      <FaultNotice fault={of.fault} />
      <div class={onCancel ? "row end" : "row"}>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button
          type="submit"
          kind={isDangerous ? "danger primary" : "primary"}
          icon={icon}
          isBusy={of.isBusy}
          disabled={disabled}
        >
          {verb}
        </Button>
      </div>
    </form>
  );
}

/** Focuses the first field that has a problem, and opens the groups around it. */
function focusFirstProblem(form: HTMLFormElement | null): void {
  const field = form?.querySelector<HTMLElement>("[aria-invalid=true]");
  openAround(field);
  field?.focus();
}

/** Opens the groups around a field: a field in a closed group takes no focus. */
function openAround(field: Element | null | undefined): void {
  for (let group = field?.closest("details"); group; group = group.parentElement?.closest("details"))
    group.open = true;
}
