import type { ChannelInput } from "../domain/livestreams.ts";
import type { UserInput } from "../domain/users.ts";
import type { SampleLanguage } from "./sample-languages.ts";

/** A user of the sample platform with its channel. */
export interface SamplePerson {
  readonly user: Required<UserInput>;
  readonly channel: ChannelInput;
  readonly language: SampleLanguage;
  /** The category and the usual number of viewers of its livestreams. */
  readonly homeCategoryId: number;
  readonly typicalViewers: number;
}
