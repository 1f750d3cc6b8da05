import { version as fromPackage } from "../../package.json";

/** The version and the commit of a build. */
export interface Build {
  /** A version of Semantic Versioning: that of a tag, or with what came after it, like `1.0.0+12.g44cb90d`. */
  readonly version: string;
  /** The commit, with the suffix `-changed` if the checkout had changes; null if it is unknown. */
  readonly commit: string | null;
}

/** This build. The build of the executable (`scripts/executable.ts`) replaces this file. */
export const build: Build = { version: fromPackage, commit: null };
