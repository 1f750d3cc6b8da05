import type { Backup } from "../domain/backups.ts";
import { idTime } from "../domain/ids.ts";
import { minute } from "../domain/time.ts";
import type { KeptBackup } from "./files.ts";
import { type BackupPlace, openPlace, type PlaceSettings, placeOfOthers, shownBackupPlace } from "./place.ts";

/** The list of a place on the network is read again after this time. */
const listAgainMs = 10 * minute;
/** The time after a failure in which callers get the same error, without another request. */
const askAgainMs = minute;

/** The complete backups at a place, as far as they are known. */
export class KeptList {
  readonly #settings: PlaceSettings;
  readonly #dataId: () => Promise<string>;
  readonly #monotonic: () => number;
  #place: Promise<BackupPlace> | null = null;
  #known: readonly KeptBackup[] | null = null;
  #listedAt = 0;
  #asking: Promise<readonly KeptBackup[]> | null = null;
  /** Why the place could not be asked last. */
  #unlisted: { readonly error: unknown; readonly at: number } | null = null;

  /**
   * @param dataId the id of the data whose backups they are
   * @param monotonic a clock that is never set
   */
  constructor(settings: PlaceSettings, dataId: () => Promise<string>, monotonic: () => number) {
    this.#settings = settings;
    this.#dataId = dataId;
    this.#monotonic = monotonic;
  }

  /** null before the place was asked. */
  get known(): readonly KeptBackup[] | null {
    return this.#known;
  }

  /** When the newest that is known began; null without one. */
  get newestAt(): number | null {
    const newest = this.#known
      ?.map(({ id }) => id)
      .sort()
      .at(-1);
    return newest === undefined ? null : idTime(newest);
  }

  /** A directory is read each time, another place a few times an hour. Rejects when the place cannot be reached. */
  async list(): Promise<readonly KeptBackup[]> {
    const at = this.#monotonic();
    if (this.#settings.kind === "directory") return this.#shared();
    if (this.#known !== null && at - this.#listedAt < listAgainMs) return this.#known;
    if (this.#unlisted && at - this.#unlisted.at < askAgainMs) throw this.#unlisted.error;
    return this.#shared();
  }

  /** Reads the place now, whatever is known. */
  async refresh(): Promise<readonly KeptBackup[]> {
    await this.#asking?.catch(() => {});
    return this.#shared();
  }

  #shared(): Promise<readonly KeptBackup[]> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  open(): Promise<BackupPlace> {
    this.#place ??= openPlace(this.#settings);
    return this.#place;
  }

  /** Claims the place for the data. Rejects with `unavailable` where other data has its backups there. */
  async claim(): Promise<void> {
    const [place, id] = await Promise.all([this.open(), this.#dataId()]);
    this.#requireOwn(await place.claim(id), id);
  }

  #requireOwn(owner: string, id: string): void {
    if (owner !== id) throw placeOfOthers(shownBackupPlace(this.#settings));
  }

  async remove({ id, name }: KeptBackup): Promise<void> {
    await (await this.open()).remove(name);
    this.#known = this.#known?.filter((one) => one.id !== id) ?? null;
  }

  async #ask(): Promise<readonly KeptBackup[]> {
    try {
      const place = await this.open();
      const owner = await place.owner();
      if (owner !== null) this.#requireOwn(owner, await this.#dataId());
      this.#known = await place.list();
      this.#listedAt = this.#monotonic();
      this.#unlisted = null;
      return this.#known;
    } catch (error) {
      this.#unlisted = { error, at: this.#monotonic() };
      // Who asks once more is not told of what was there before.
      this.#listedAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }
}

/** A complete backup as it is shown. */
export function shownKept({ id, size, sha256, isEncrypted, keptAt }: KeptBackup): Backup {
  return {
    id,
    status: "done",
    progress: 1,
    size_bytes: size,
    sha256,
    is_encrypted: isEncrypted,
    error: null,
    created_at: idTime(id),
    finished_at: keptAt,
  };
}
