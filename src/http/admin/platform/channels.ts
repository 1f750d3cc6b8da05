import { exampleChannel } from "../../../domain/examples.ts";
import { ChannelInput } from "../../../domain/livestreams.ts";
import type { AdminDeps, AdminListener } from "../base.ts";
import { recordRoutes } from "./records.ts";

/** Channels as the platform reports them. */
export function channelRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  recordRoutes(app, {
    noun: "channel",
    plural: "channels",
    tag: "Channels and livestreams",
    input: ChannelInput,
    example: exampleChannel,
    missing: "not_found",
    deletion: "The livestream of the channel ends.",
    rows: store.channels,
    intake: data.channels,
    remove: data.removeChannel,
  });
}
