import { version as fromPackage } from "../../package.json";

/** The version of this build, as in `User-Agent: onair/…`. */
export const version: string = fromPackage;
