import { type Static, Type } from "@sinclair/typebox";
import { type Application, usesOnlyStream } from "../../../domain/applications.ts";
import {
  disabledReasons,
  type Endpoint,
  endpointStatus,
  endpointStatuses,
} from "../../../domain/endpoints.ts";
import { isoTime } from "../../../domain/time.ts";
import { about, nullable, oneOf } from "../../../domain/validation/fields.ts";
import { IsoTimestamp, named } from "../../fields.ts";

/*
 * The state of the endpoint of an application, for the public and the admin API.
 */

export const LastFailure = named("LastFailure", "The last failed attempt of an endpoint.", {
  at: about(IsoTimestamp, "Time of the failure."),
  status: nullable(Type.Integer(), { description: "HTTP status of the response; null if none arrived." }),
  error: nullable(Type.String(), { description: "Reason for the failure, in one sentence." }),
});

export const DisabledReason = oneOf([...disabledReasons, "no_webhook_url"], {
  $id: "DisabledReason",
  description:
    "Why the endpoint is disabled. `gone`: it answered 410. `failing`: every attempt failed for 24 hours. `no_webhook_url`: the application has no webhook URL.",
});

/** Fields of every schema that describes an endpoint. */
export const endpointFields = {
  status: oneOf(endpointStatuses, {
    description: "`failing`: no attempt has succeeded since a failure. `disabled`: nothing is sent.",
  }),
  failures: Type.Integer({ description: "Number of failed attempts since the last success." }),
  last_failure: nullable(LastFailure, { description: "Last failed attempt; null if none has failed." }),
  summary: Type.String({ description: "State of the endpoint in one sentence. The wording may change." }),
  advice: nullable(Type.String(), {
    description: "Recommended action; null if none is needed. The wording may change.",
  }),
};

/** Returns the last failure of an endpoint, or null if it has not failed. */
export function shownFailure(endpoint: Endpoint): Static<typeof LastFailure> | null {
  const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
  return last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error };
}

/** Returns the status of an application's endpoint, as the public API shows it. */
export function healthOf(endpoint: Endpoint, application: Application) {
  // An application that uses only the event stream has no endpoint that could fail.
  if (usesOnlyStream(application)) return { status: "enabled", disabled_reason: null } as const;
  if (application.webhook_url === null)
    return { status: "disabled", disabled_reason: "no_webhook_url" } as const;
  return { status: endpointStatus(endpoint), disabled_reason: endpoint.disabled_reason };
}
