import { inexactMessage, inexactNumbers } from "../../domain/validation/exact-numbers.ts";
import { UsageError } from "../command.ts";

/** One `--set path=value`. */
export interface Assignment {
  /** Field names and list indexes. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

const pathForm = /^[^.[\]=]+(\.[^.[\]=]+|\[(0|[1-9][0-9]{0,5})\])*$/;

/**
 * Parses `path=value`, as in `sender.username=maya` and `giftees[0].user_id=7`. A value that is valid JSON is parsed,
 * any other is a string; quote a string that looks like JSON: `content="5"`. Throws a `UsageError`, also for a number
 * that would be rounded.
 */
export function readAssignment(text: string): Assignment {
  const equals = text.indexOf("=");
  const path = equals === -1 ? text : text.slice(0, equals);
  if (equals === -1 || !pathForm.test(path)) {
    throw new UsageError(
      `--set ${path} must be a path and a value, like sender.username=maya or giftees[0].user_id=7`,
    );
  }
  const parts = [...path.matchAll(/\[([0-9]+)\]|([^.[\]]+)/g)];
  return {
    path: parts.map(([, index, name = ""]) => (index === undefined ? name : Number(index))),
    value: readValue(path, text.slice(equals + 1)),
  };
}

function readValue(path: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (inexactNumbers(text).size > 0) throw new UsageError(`--set ${path} ${inexactMessage}`);
  return value;
}

/**
 * Returns a copy of `sample` with the values at their paths. The last part of a path may be a new field or the index
 * after the last item; everything before it must exist. Throws a `UsageError`.
 */
export function withAssignments(sample: unknown, assignments: readonly Assignment[]): unknown {
  const copy: unknown = structuredClone(sample);
  for (const { path, value } of assignments) assign(copy, path, value);
  return copy;
}

function assign(root: unknown, path: readonly (string | number)[], value: unknown): void {
  let target = root;
  for (const [i, part] of path.entries()) {
    const isLast = i === path.length - 1;
    if (!canSet(target, part, isLast)) {
      const shown = shownPath(path.slice(0, i + 1));
      const why =
        typeof part === "number"
          ? "it is not a list, or the list is shorter"
          : "the sample has no such field";
      throw new UsageError(`--set ${shownPath(path)}: there is no ${shown}, ${why}`);
    }
    // `defineProperty`, so that a name such as `__proto__` calls no setter.
    if (isLast) {
      const property = { value, writable: true, enumerable: true, configurable: true };
      Object.defineProperty(target, part, property);
    } else target = (target as Record<string | number, unknown>)[part];
  }
}

function canSet(target: unknown, part: string | number, isLast: boolean): target is object {
  if (Array.isArray(target)) {
    return typeof part === "number" && part < target.length + (isLast ? 1 : 0);
  }
  if (typeof target !== "object" || target === null || typeof part === "number") return false;
  return isLast || Object.hasOwn(target, part);
}

function shownPath(path: readonly (string | number)[]): string {
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i > 0 ? "." : ""}${part}`))
    .join("");
}
