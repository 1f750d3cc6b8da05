import { useEffect, useState } from "preact/hooks";
import { Fault } from "./client.ts";
import { useDraft } from "./drafts.ts";
import { type Action, useAction } from "./load.ts";

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** The names of the text fields. */
type TextOf<T> = { [Name in keyof T]: T[Name] extends string ? Name : never }[keyof T];

/** The state of a form and of its last submission. */
interface FormState<T> extends Action {
  /** The values of the fields. */
  readonly values: T;
  /** Sets fields as if they were typed. */
  put(typed: Partial<T>): void;
  /** The problem of a field; undefined for none. It is then shown there, and not again below the form. */
  problemAt(name: keyof T & string): string | undefined;
  /** The properties of a text's `Field`. */
  at(name: TextOf<T>): {
    readonly value: string;
    readonly problem: string | undefined;
    onInput(value: string): void;
  };
}

/**
 * A form whose typed values overlay the saved ones. Changes that others save meanwhile are shown, and are not reverted
 * by saving another field. Typed values are kept until they are saved or discarded, see `drafts.ts`.
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
  const keep = (fields: Partial<T>) => draft.set(Object.keys(fields).length > 0 ? fields : undefined);
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
  const { fault } = action;
  const problems = fault?.fields ?? {};
  /** The problems that are shown at their fields. */
  const shown = new Set<string>();
  /** The problem of a field, of the first item of a list, or of the first named part. */
  const problemAt = (name: string) => {
    const parts = Object.keys(problems).filter((one) => one.startsWith(`${name}.`));
    const key = [name, `${name}[0]`, ...parts].find((one) => one in problems);
    if (key === undefined) return undefined;
    shown.add(key);
    const part = key.slice(name.length + 1);
    return parts.includes(key) ? `${part}: ${problems[key]}` : problems[key];
  };
  const put = (more: Partial<T>) => keep(without({ ...draft.now(), ...more }, before));
  return {
    ...action,
    // `fault` is read after the fields, so that problems which the fields show are not repeated.
    get fault() {
      const all = Object.keys(problems);
      if (fault === null || all.length === 0 || !all.every((one) => shown.has(one))) return fault;
      return new Fault("Correct the marked fields.", fault.code, fault.status);
    },
    draft: { isRestored: draft.isRestored, discard: () => draft.set(undefined) },
    values,
    put,
    problemAt,
    at: (name) => ({
      value: values[name] as string,
      problem: problemAt(String(name)),
      onInput: (value) => put({ [name]: value } as Partial<T>),
    }),
  };
}
