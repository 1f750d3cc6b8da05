import { useEffect, useState } from "preact/hooks";
import { Fault } from "./client.ts";
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
  /** The properties of a text's `Field`. */
  at(name: TextOf<T>): {
    readonly value: string;
    readonly problem: string | undefined;
    onInput(value: string): void;
  };
}

/**
 * A form whose typed values overlay the saved ones. Changes that others save meanwhile are shown, and are not reverted
 * by saving another field.
 * @param send receives the changed values and all values. Their names are those of the API, so that its problems are
 * shown
 */
export function useForm<T extends object>(
  saved: T,
  send: (changes: Partial<T>, values: T) => Promise<unknown>,
): FormState<T> {
  const [typed, setTyped] = useState<Partial<T>>({});
  const differing = (fields: Partial<T>) =>
    Object.fromEntries(
      Object.entries(fields).filter(([field, value]) => !isSame(value, saved[field as keyof T])),
    ) as Partial<T>;
  // Typed values that are now saved are dropped.
  useEffect(() => setTyped(differing), [JSON.stringify(saved)]);
  const values = { ...saved, ...typed };
  const action = useAction(() => send(differing(typed), values));
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
  const put = (more: Partial<T>) => setTyped((last) => ({ ...last, ...more }));
  return {
    ...action,
    // `fault` is read after the fields, so that problems which the fields show are not repeated.
    get fault() {
      const all = Object.keys(problems);
      if (fault === null || all.length === 0 || !all.every((one) => shown.has(one))) return fault;
      return new Fault("Correct the marked fields.", fault.code, fault.status);
    },
    values,
    put,
    at: (name) => ({
      value: values[name] as string,
      problem: problemAt(String(name)),
      onInput: (value) => put({ [name]: value } as Partial<T>),
    }),
  };
}
