/** What the server keeps for itself, such as its signing key. */
export interface SettingStore {
  get(key: string): Promise<string | null>;
  put(key: string, value: string): Promise<void>;
  /** Keeps a value where there is none yet; gives the one that is there then. */
  settle(key: string, value: string): Promise<string>;
}
