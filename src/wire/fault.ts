/** The one table from the codes of what cannot be read as a request to their statuses. */
export const faultStatuses = {
  malformed_request: 400,
  request_timeout: 408,
  target_too_long: 414,
  expectation_failed: 417,
  head_too_large: 431,
  method_not_implemented: 501,
  coding_not_implemented: 501,
  version_not_supported: 505,
} as const;

export type FaultCode = keyof typeof faultStatuses;

/** Why a request cannot be read. Its connection ends with the answer. */
export class WireFault extends Error {
  readonly status: number;

  constructor(
    readonly code: FaultCode,
    message: string,
  ) {
    super(message);
    this.status = faultStatuses[code];
  }
}

export const malformed = (message: string) => new WireFault("malformed_request", message);
