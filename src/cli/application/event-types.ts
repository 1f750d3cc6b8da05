import type { Client } from "../../client/create-client.ts";
import { didYouMean } from "../../config/command-line.ts";
import { UsageError } from "../command.ts";

/** An event type with a version. */
interface TypeVersion {
  readonly name: string;
  readonly version: number;
}

/**
 * These event types of a platform in the version that is asked for, by default the newest of each. Throws `UsageError`
 * for one that the platform does not know.
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
    throw new UsageError(`There is no event ${name}.${meant} "onair events types" lists the built-in ones.`);
  });
}
