export const findingStatuses = ["ok", "warning", "wrong", "skipped"] as const;

/** The result of one check. */
export interface Finding {
  /** The check's name in the JSON output. */
  readonly check: string;
  /** `warning` may be intended; `skipped` states why the check did not run. */
  readonly status: (typeof findingStatuses)[number];
  readonly message: string;
  /** The fix, when it is known. */
  readonly advice: string | null;
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  const finding =
    (status: Finding["status"]) =>
    (message: string, advice: string | null = null): Finding => ({ check, status, message, advice });
  return {
    ok: finding("ok"),
    warning: finding("warning"),
    wrong: finding("wrong"),
    skipped: finding("skipped"),
  };
}
