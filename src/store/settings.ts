/** The server's own values, such as its signing key. */
export interface SettingStore {
  get(key: string): Promise<string | null>;
  put(key: string, value: string): Promise<void>;
  /** Stores a value if there is none. Resolves to the stored value. */
  settle(key: string, value: string): Promise<string>;
}

/** The setting with the time since which sending is held, in ISO 8601. Sending is not held when it is "" or missing. */
export const heldSetting = "deliveries_held";
