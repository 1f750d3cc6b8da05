/*
 * The exports of `onair/client`.
 */
export { type AnswerOf, type Client, type ClientOptions, createClient } from "./create-client.ts";
export type { AnyEvent, DeliveryInfo, NoticeEvent, PlatformEvent, ReceivedEvent } from "./events.ts";
export { OnairError } from "./http.ts";
export { type ReceiverOptions, receiver, type WebhookReceiver } from "./receiver.ts";
export { type StreamEvent, type StreamGap, type StreamNotice, stream } from "./stream.ts";
export type { Credentials, Session } from "./tokens.ts";
