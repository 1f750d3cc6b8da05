import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Fault } from "./client.ts";
import { type Action, useAction } from "./load.ts";

/*
 * What was typed and is not saved. It stays in memory when its form is left, and is there again when the form is opened
 * again. Before the whole page is left, the browser asks.
 */

/** The unsaved input of forms, by the name of the form. */
const drafts = signal<ReadonlyMap<string, unknown>>(new Map());

addEventListener("beforeunload", (event) => {
  if (hasDrafts()) event.preventDefault();
});

/** Whether any form has unsaved input. */
export const hasDrafts = () => drafts.value.size > 0;

/** Drops all unsaved input, also that of other pages. */
export function dropDrafts(): void {
  drafts.value = new Map();
}

function setDraft(name: string, value: unknown): void {
  const next = new Map(drafts.value);
  if (value === undefined) next.delete(name);
  else next.set(name, value);
  drafts.value = next;
}

/** The unsaved input of a form. */
interface Draft<T> {
  /** undefined when there is none. */
  readonly value: T | undefined;
  /** Whether the input is from before the form was opened, and not changed since. */
  readonly isRestored: boolean;
  set(next: T): void;
  discard(): void;
  /** Returns the present input, also in a function that an earlier rendering made. */
  now(): T | undefined;
}

/**
 * Returns the unsaved input of a form.
 * @param name says what is edited: forms with the same name share their input
 */
export function useDraft<T extends object>(name: string): Draft<T> {
  const read = () => drafts.value.get(name) as T | undefined;
  const [restored, setRestored] = useState(read);
  useEffect(() => setRestored(read), [name]);
  const value = read();
  return {
    value,
    isRestored: value !== undefined && value === restored,
    set: (next) => setDraft(name, next),
    discard: () => setDraft(name, undefined),
    now: read,
  };
}

/** The problems of fields, by the rest of their names below a common part. */
export type Problems = Readonly<Record<string, string>>;

/**
 * The problems of fields in a refusal. Those that were asked for are shown at their fields, and not again below the
 * form: `fault` is read after the fields.
 */
export function problemsOf(fault: Fault | null) {
  const problems = fault?.fields ?? {};
  const names = Object.keys(problems);
  const shown = new Set<string>();
  return {
    /** The problem of a field, of the first item of a list, or of the first named part; undefined for none. */
    at(name: string): string | undefined {
      const parts = names.filter((field) => field.startsWith(`${name}.`));
      const key = [name, `${name}[0]`, ...parts].find((field) => field in problems);
      if (key === undefined) return undefined;
      shown.add(key);
      const part = key.slice(name.length + 1);
      return parts.includes(key) ? `${part}: ${problems[key]}` : problems[key];
    },
    /** All problems of a value and of its parts. */
    under(name: string): Problems {
      const below = problemsBelow(problems, name);
      for (const rest of Object.keys(below)) shown.add(name + rest);
      return below;
    },
    get fault(): Fault | null {
      if (fault === null || names.length === 0 || !names.every((field) => shown.has(field))) return fault;
      return new Fault("Correct the marked fields.", fault.code, fault.status);
    },
  };
}

/** The problems of a value and of its parts: "" is the value itself, `.text` a member and `[0]` an item. */
export function problemsBelow(problems: Problems, name: string): Problems {
  const ends = [undefined, ".", "["];
  const below = Object.entries(problems).filter(
    ([field]) => field.startsWith(name) && ends.includes(field[name.length]),
  );
  return Object.fromEntries(below.map(([field, message]) => [field.slice(name.length), message]));
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Returns the parts of a body that belong to changed fields. */
export function changed<Body extends object>(body: Body, changes: object): Partial<Body> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name in changes)) as Partial<Body>;
}

/** The state of a form and of its last submission. */
interface FormState<T> extends Action {
  /** The values of the fields. */
  readonly values: T;
  /** Sets fields as if they were typed. */
  put(typed: Partial<T>): void;
  /** The properties of an input. A problem that is shown at its input is not shown again below the form. */
  at<Name extends keyof T & string>(
    name: Name,
  ): {
    readonly value: T[Name];
    readonly problem: string | undefined;
    onInput(value: T[Name]): void;
  };
}

/**
 * A form whose typed values overlay the saved ones. Changes that others save meanwhile are shown, and are not reverted
 * by saving another field. Typed values are kept until they are saved or discarded.
 * @param name says what is edited, such as `user 7`: each object that a form edits has a name of its own
 * @param send receives the changed values and all values. Their names are those of the API, so that its problems are
 * shown. Resolves to false when the user did not confirm it
 */
export function useForm<T extends object>(
  name: string,
  saved: T,
  send: (changes: Partial<T>, values: T) => Promise<unknown>,
): FormState<T> {
  const draft = useDraft<Partial<T>>(name);
  /** Sent values, which are shown until the saved ones are read again. */
  const [sent, setSent] = useState<Partial<T>>({});
  const typed = draft.value ?? {};
  const without = (fields: Partial<T>, known: Partial<T>) =>
    Object.fromEntries(
      Object.entries(fields).filter(([field, value]) => !isSame(value, known[field as keyof T])),
    ) as Partial<T>;
  const keep = (fields: Partial<T>) => (Object.keys(fields).length > 0 ? draft.set(fields) : draft.discard());
  // Typed values that are now saved are dropped.
  useEffect(() => {
    setSent({});
    const now = draft.now() ?? {};
    const unsaved = without(now, saved);
    if (Object.keys(unsaved).length < Object.keys(now).length) keep(unsaved);
  }, [name, JSON.stringify(saved)]);
  const before = { ...saved, ...sent };
  const values = { ...before, ...typed };
  const action = useAction(async () => {
    if ((await send(without(typed, before), values)) === false) return;
    // What was typed meanwhile is not sent yet.
    const now = draft.now() ?? {};
    keep(without(now, values));
    setSent((last) => ({ ...last, ...without(values, saved) }));
  });
  const problems = problemsOf(action.fault);
  const put = (more: Partial<T>) => keep(without({ ...draft.now(), ...more }, before));
  return {
    ...action,
    get fault() {
      return problems.fault;
    },
    draft,
    values,
    put,
    at: (name) => ({
      value: values[name],
      problem: problems.at(name),
      onInput: (value) => put({ [name]: value } as unknown as Partial<T>),
    }),
  };
}
