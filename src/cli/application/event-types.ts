import type { Client } from "../../client/create-client.ts";
import { didYouMean } from "../../config/command-line.ts";
import { UsageError } from "../command.ts";

/** An event type with a version. */
interface TypeVersion {
  readonly name: string;
  readonly version: number;
}

/**
 * Returns these event types with the requested version, by default the newest of each. Throws a `UsageError` for a type
 * that the platform does not know.
 */
export async function knownTypes(
  api: Client,
  names: readonly string[],
  version: number | undefined,
): Promise<TypeVersion[]> {
  const { data } = await api.get("/public/v1/events/types");
  return names.map((name) => {
    const versions = data.filter((type) => type.name === name).map((type) => type.version);
    if (versions.length > 0) return { name, version: version ?? Math.max(...versions) };
    const meant = didYouMean(name, [...new Set(data.map((type) => type.name))]);
    throw new UsageError(
      `There is no event type ${name}.${meant} "onair events types" lists the built-in ones.`,
    );
  });
}
