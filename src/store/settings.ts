/** What the server keeps for itself, such as its signing key. */
export interface SettingStore {
  get(key: string): Promise<string | null>;
  put(key: string, value: string): Promise<void>;
  /** Keeps a value where there is none yet; gives the one that is there then. */
  settle(key: string, value: string): Promise<string>;
}

/** The setting that says since when nothing is sent, in ISO 8601; "" or none: everything is. */
export const heldSetting = "deliveries_held";
