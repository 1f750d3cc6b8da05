import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Fault } from "../client.ts";
import { Button, FaultNotice } from "./basics.tsx";

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly isWide?: boolean;
  readonly rows?: number;
  /** Whether its text is read by programs. */
  readonly isCode?: boolean;
  readonly list?: readonly string[];
  readonly name?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: number;
}

/** A labelled input; with `rows`, of several lines. */
export function Field({
  label,
  hint,
  problem,
  value,
  onInput,
  isWide,
  rows,
  isCode,
  list,
  ...rest
}: FieldProps) {
  const id = useId();
  const about = hint || problem ? `${id}-about` : undefined;
  const common = {
    ...rest,
    id,
    class: isCode ? "input code-input" : "input",
    value,
    spellcheck: false,
    "aria-invalid": problem ? true : undefined,
    "aria-describedby": about,
    onInput: (event: Event) => onInput((event.target as HTMLInputElement).value),
  } as const;
  return (
    <div class={isWide ? "field wide" : "field"}>
      <label for={id}>{label}</label>
      {/* Preact's types know which inputs may have a list only where the type of the input is known. */}
      {rows ? (
        <textarea {...common} rows={rows} />
      ) : (
        <input {...(common as object)} list={list && `${id}-list`} />
      )}
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((one) => (
            <option value={one} key={one} />
          ))}
        </datalist>
      )}
      {(hint || problem) && (
        <small id={about} class={problem ? "problem" : ""}>
          {problem ? problemOf(label, problem) : hint}
        </small>
      )}
    </div>
  );
}

/** What is wrong with a field: the API says it as a sentence, or as what follows the name of the field. */
function problemOf(label: string, problem: string): string {
  return /^[A-Z]/.test(problem) ? problem : `${label} ${problem}`;
}

interface SelectProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly disabled?: boolean;
  /** Whether the label is only for those who cannot see where it stands. */
  readonly isBare?: boolean;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

export function Select({ label, hint, value, options, onChange, disabled = false, isBare }: SelectProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={isBare ? "visually-hidden" : ""}>
        {label}
      </label>
      <select
        id={id}
        class="input"
        value={value}
        disabled={disabled}
        aria-describedby={hint && `${id}-about`}
        onChange={(event) => onChange((event.target as HTMLSelectElement).value)}
      >
        {options.map(([one, text]) => (
          <option value={one} key={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
      {hint && <small id={`${id}-about`}>{hint}</small>}
    </div>
  );
}

export function Check({
  label,
  checked,
  onChange,
}: {
  label: ComponentChildren;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={() => onChange(!checked)} />
      <span>{label}</span>
    </label>
  );
}

/** A form that is sent by its button or Enter. */
export function Form({
  onSubmit,
  children,
  label,
}: {
  onSubmit: () => unknown;
  children: ComponentChildren;
  label?: string;
}) {
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form class="stack" aria-label={label} onSubmit={submit}>
      {children}
    </form>
  );
}

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly onClose: () => void;
  /** A dialog that must be answered does not close by Escape. */
  readonly mustAnswer?: boolean;
}

/** A dialog over the page, which keeps the focus inside; Escape closes it. */
export function Dialog({ title, children, footer, onClose, mustAnswer }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is removed, a dialog gives the focus back; other effects end after that.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!mustAnswer) onClose();
      }}
      // Chromium closes a dialog by a second Escape although its cancel is refused.
      onKeyDown={(event) => mustAnswer && event.key === "Escape" && event.preventDefault()}
    >
      <div class="dialog">
        <h2 id={id}>{title}</h2>
        {children}
        {footer && <footer>{footer}</footer>}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The verb of the button. */
  readonly verb: string;
  readonly isBusy?: boolean;
  readonly fault?: Fault | null;
  readonly isHarmless?: boolean;
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  children,
  verb,
  isBusy,
  fault = null,
  isHarmless,
  onConfirm,
  onClose,
}: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind={isHarmless ? "primary" : "danger primary"}
            isBusy={isBusy ?? false}
            onClick={onConfirm}
          >
            {verb}
          </Button>
        </>
      }
    >
      <div class="stack tight">{children}</div>
      <FaultNotice fault={fault} />
    </Dialog>
  );
}
