import { useEffect, useState } from "preact/hooks";
import { Fault } from "./client.ts";
import { type Action, useAction } from "./load.ts";

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** The names of the fields that are texts. */
type TextOf<T> = { [Name in keyof T]: T[Name] extends string ? Name : never }[keyof T];

/** A form, and what became of sending it. */
interface FormState<T> extends Action {
  /** What the fields show. */
  readonly values: T;
  /** Types over a field. */
  put(typed: Partial<T>): void;
  /** What a `Field` needs of a text: its value, what is wrong with it, and what typing does. */
  at(name: TextOf<T>): {
    readonly value: string;
    readonly problem: string | undefined;
    onInput(value: string): void;
  };
}

/**
 * The fields of a form: what is saved, and over it what a person has typed. So what others save meanwhile is shown, and
 * is not taken back by saving another field.
 * @param send gets what differs from what is saved, and everything; the names are those of the API, whose problems are shown
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
  // What was saved is no longer typed.
  useEffect(() => setTyped(differing), [JSON.stringify(saved)]);
  const values = { ...saved, ...typed };
  const action = useAction(() => send(differing(typed), values));
  const { fault } = action;
  const problems = fault?.fields ?? {};
  /** The problems that are shown at their fields. */
  const shown = new Set<string>();
  /** Of a list, the first that is wrong. */
  const problemAt = (name: string) => {
    const key = [name, `${name}[0]`].find((one) => one in problems);
    if (key === undefined) return undefined;
    shown.add(key);
    return problems[key];
  };
  const put = (more: Partial<T>) => setTyped((last) => ({ ...last, ...more }));
  return {
    ...action,
    // Read when the fields are made: what all of them show is not said twice.
    get fault() {
      const all = Object.keys(problems);
      if (fault === null || all.length === 0 || !all.every((one) => shown.has(one))) return fault;
      return new Fault("It was not done: see what is marked above.", fault.code, fault.status);
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
