import { useEffect, useState } from "preact/hooks";

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

interface Draft<T> {
  /** What the fields show. */
  readonly values: T;
  /** What differs from what is saved. */
  readonly changes: Partial<T>;
  /** Types over a field. */
  put(typed: Partial<T>): void;
}

/**
 * The fields of a form: what is saved, and over it what a person has typed. So what others save meanwhile is shown, and
 * is not taken back by saving another field.
 */
export function useDraft<T extends object>(saved: T): Draft<T> {
  const [typed, setTyped] = useState<Partial<T>>({});
  const differing = (fields: Partial<T>) =>
    Object.fromEntries(
      Object.entries(fields).filter(([field, value]) => !isSame(value, saved[field as keyof T])),
    ) as Partial<T>;
  // What was saved is no longer typed.
  useEffect(() => setTyped(differing), [JSON.stringify(saved)]);
  return {
    values: { ...saved, ...typed },
    changes: differing(typed),
    put: (more) => setTyped((last) => ({ ...last, ...more })),
  };
}
