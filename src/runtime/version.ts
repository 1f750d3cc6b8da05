import { version as fromPackage } from "../../package.json";
import { commit } from "./commit.ts";

/** The version of this build, as in `User-Agent: onair/…`. */
export const version: string = fromPackage;

/** The version for display: with its commit, if that is known. */
export const versionWithCommit = commit === null ? version : `${version} (${commit})`;
