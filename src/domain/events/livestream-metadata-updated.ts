import { type Static, Type } from "@sinclair/typebox";
import { closed, Id, text, Url } from "../fields.ts";
import type { EventType } from "./event-type.ts";
import { exampleBroadcaster } from "./example-people.ts";
import { Person } from "./person.ts";

const payload = closed({
  broadcaster: Person,
  metadata: closed({
    title: text(500),
    language: text(50),
    has_mature_content: Type.Boolean(),
    category: closed({ id: Id, name: text(200), thumbnail: Url }),
  }),
});

export type LivestreamMetadataUpdated = Static<typeof payload>;

export const livestreamMetadataUpdated: EventType<typeof payload> = {
  name: "livestream.metadata.updated",
  version: 1,
  description: "The title, language, category or maturity of a channel's livestream changed.",
  payload,
  example: {
    broadcaster: exampleBroadcaster,
    metadata: {
      title: "Hardcore run, day 12: the frozen caves",
      language: "en",
      has_mature_content: false,
      category: {
        id: 317,
        name: "Deepwinter",
        thumbnail: "https://images.example.com/categories/317/thumbnail.webp",
      },
    },
  },
  timeToLiveMs: null,
};
