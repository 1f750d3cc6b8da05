import type { components } from "../../client/api.d.ts";
import type { ConditionJson } from "./form.ts";

/** An event type that filters can be about, as either API has it. */
interface FilteredType {
  readonly name: string;
  readonly version: number;
  readonly schema: object;
  readonly example: ConditionJson;
}

export type FilterTest = components["schemas"]["FilterTest"];

/** What to test, and with which payloads; by default those of the last deliveries. */
type TestInput = components["schemas"]["FilterTestInput"];

/** The filters of an application, for the pages that the portal and the console share. */
export interface FilterSource {
  readonly filters: Readonly<Record<string, ConditionJson>>;
  /** The times since which they are in force. */
  readonly setAt: Readonly<Record<string, string>>;
  readonly types: readonly FilteredType[];
  /** Whether the user may change them. */
  readonly canChange: boolean;
  /** Sets the filter of a type; null removes it. */
  change(type: string, filter: ConditionJson | null): Promise<unknown>;
  test(input: TestInput, signal: AbortSignal): Promise<FilterTest>;
}

/** Returns the types that a filter is about: all versions of a name, or one, such as `chat.message.sent@1`. */
export function typesOf(key: string, types: readonly FilteredType[]): readonly FilteredType[] {
  return types.filter(({ name, version }) => key === name || key === `${name}@${version}`);
}

/** Returns the types for which a filter can be set: names, and the versions of those that have several. */
export function keysOf(types: readonly FilteredType[]): readonly string[] {
  const names = [...new Set(types.map(({ name }) => name))];
  return names.flatMap((name) => {
    const versions = types.filter((type) => type.name === name);
    return [name, ...(versions.length > 1 ? versions.map(({ version }) => `${name}@${version}`) : [])];
  });
}
