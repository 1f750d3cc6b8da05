import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

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
export interface Draft<T> {
  /** undefined when there is none. */
  readonly value: T | undefined;
  /** Whether the input is from before the form was opened, and not changed since. */
  readonly isRestored: boolean;
  /** Replaces the input; undefined drops it. */
  set(next: T | undefined): void;
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
    now: read,
  };
}
