/**
 * Filters of an application: a condition on `data` for each event type, by its key, such as `chat.message.sent` or
 * `chat.message.sent@1`. An event that does not match makes no delivery for the application.
 */

import { DomainError, type FieldProblem, invalidField } from "./errors.ts";
import type { Catalogue } from "./events/catalogue.ts";
import { type Condition, conditionLimits, readCondition } from "./events/conditions.ts";
import type { EventType } from "./events/event-type.ts";
import { Shape } from "./events/shape.ts";
import { isoTime } from "./time.ts";

/** A condition as JSON; `events/conditions.ts` describes its form. */
type ConditionJson = Readonly<Record<string, unknown>>;

/** A filter as it is stored. */
interface StoredFilter {
  readonly condition: ConditionJson;
  /** When it was set, in milliseconds since the epoch. */
  readonly set_at: number;
}

/** The filters of an application, by key. */
export type Filters = Readonly<Record<string, StoredFilter>>;

/** Changes by key: a condition to set, or null to remove the filter. Others are kept. null removes all. */
export type FilterChanges = Readonly<Record<string, ConditionJson | null>> | null;

export const filterLimits = { count: 20, bytes: conditionLimits.bytes } as const;

/** Returns the types that a key is about: all versions of a name, or the version in the key. */
export function typesOfKey(key: string, catalogue: Pick<Catalogue, "types">): EventType[] {
  const [name, version] = key.split("@", 2);
  return catalogue.types.filter(
    (type) => type.name === name && (version === undefined || key === keyOf(type.name, type.version)),
  );
}

const keyOf = (name: string, version: number) => `${name}@${version}`;

/** Returns the name of a filter in problems, such as `filters["chat.message.sent"]`. */
const fieldOfFilter = (key: string) => `filters[${JSON.stringify(key.slice(0, 120).toWellFormed())}]`;

/** Returns all problems of the given changes, without regard to the filters that the application has. */
export function filterProblems(changes: FilterChanges, catalogue: Catalogue): FieldProblem[] {
  return Object.entries(changes ?? {}).flatMap(([key, condition]) => {
    if (condition === null) return [];
    const read = readFilter(key, condition, catalogue);
    return "problems" in read ? read.problems : [];
  });
}

/** The problem of a key without types. */
export const unknownType =
  "is not a known event type; GET /public/v1/events/types lists them: their names, or a name with its version, such as chat.message.sent@1";

/**
 * Reads the filter of a key. Its fields must be those of the type, in one of the versions that the key is about.
 *
 * @param field its name in problems
 */
export function readFilter(
  key: string,
  source: unknown,
  catalogue: Pick<Catalogue, "types">,
  field = fieldOfFilter(key),
): ReturnType<typeof readCondition> {
  const types = typesOfKey(key, catalogue);
  if (types.length === 0) return { problems: [{ in: "body", field, message: unknownType }] };
  const shape = Shape.of(types.map(({ payload }) => payload));
  return readCondition(source, field, { shape, type: key });
}

/**
 * Throws `conflict` when a type that is registered lacks a field, or has it with another type, that filters of
 * applications rely on. That may be so when a version was deleted and is registered again, because filters stay.
 */
export function checkFiltersOf(
  type: EventType,
  applications: readonly { readonly name: string; readonly filters: Filters }[],
  catalogue: Catalogue,
): void {
  const types = [...catalogue.types, type];
  const broken = applications.flatMap(({ name, filters }) =>
    [type.name, keyOf(type.name, type.version)].flatMap((key) => {
      const filter = Object.hasOwn(filters, key) ? filters[key] : undefined;
      const read = filter && readFilter(key, filter.condition, { types }, "data");
      const [problem] = read && "problems" in read ? read.problems : [];
      return problem ? [{ name, problem }] : [];
    }),
  );
  const [first] = broken;
  if (!first) return;
  const others = broken.length > 1 ? `, and ${broken.length - 1} more` : "";
  const { field, message } = first.problem;
  throw new DomainError(
    "conflict",
    `The filter of the application ${first.name}${others} relies on another schema: ${field} ${message}. Keep the field, or have the filter changed or removed first`,
  );
}

/**
 * Returns the filters after a change without `filterProblems`. A filter that is set again unchanged keeps its time.
 * Throws `invalid_parameter` when there would be too many.
 */
export function changedFilters(before: Filters, changes: FilterChanges, now: number): Filters {
  if (changes === null) return {};
  const kept = new Map(Object.entries(before));
  for (const [key, condition] of Object.entries(changes)) {
    if (condition === null) kept.delete(key);
    else if (!isSame(kept.get(key)?.condition, condition)) kept.set(key, { condition, set_at: now });
  }
  const { count } = filterLimits;
  if (kept.size <= count) return Object.fromEntries(kept);
  const message = `may be at most ${count}, and would be ${kept.size}`;
  throw invalidField("body", "filters", message);
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Returns the conditions by key. */
export function shownFilters(filters: Filters): Record<string, ConditionJson> {
  return Object.fromEntries(Object.entries(filters).map(([key, { condition }]) => [key, condition]));
}

/** Returns the times since which the filters are in force, by key. */
export function shownFilterTimes(filters: Filters): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).map(([key, { set_at }]) => [key, isoTime(set_at)]));
}

/** A filter with its key. */
interface KeyedFilter extends StoredFilter {
  readonly key: string;
}

/** Returns the filter that applies to events of a type: that of its version, else that of its name; else null. */
export function filterOf(filters: Filters, name: string, version: number): KeyedFilter | null {
  for (const key of [keyOf(name, version), name]) {
    const filter = Object.hasOwn(filters, key) ? filters[key] : undefined;
    if (filter) return { key, ...filter };
  }
  return null;
}

/** The filters of an application, of which each is made ready on its first use. */
export class ReadyFilters {
  readonly #filters: Filters;
  readonly #conditions = new Map<string, Condition>();

  constructor(filters: Filters) {
    this.#filters = filters;
  }

  /** The condition for events of a type; null when all match. It is made ready when it is first applied. */
  conditionOf(name: string, version: number): Condition | null {
    const filter = filterOf(this.#filters, name, version);
    return filter && { matches: (data) => this.#ready(filter).matches(data) };
  }

  #ready(filter: KeyedFilter): Condition {
    let condition = this.#conditions.get(filter.key);
    if (condition === undefined) {
      condition = storedCondition(filter);
      this.#conditions.set(filter.key, condition);
    }
    return condition;
  }
}

/** Returns the payload of an event's body. */
export function payloadOf(body: string): unknown {
  return JSON.parse(body).data;
}

/** Returns a stored condition ready for use. It was checked when it was set; if it cannot be read, all events match. */
export function storedCondition({ key, condition }: KeyedFilter): Condition {
  const read = readCondition(condition, fieldOfFilter(key));
  return "condition" in read ? read.condition : { matches: () => true };
}
