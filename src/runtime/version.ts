import { build } from "./build.ts";

export const { version, commit } = build;

/** The version for display: with its commit, if that is known. */
export const versionWithCommit = commit === null ? version : `${version} (${commit})`;
