import { Type } from "@sinclair/typebox";
import { exampleCategory } from "../examples.ts";
import { about, closed, Id, nullable, Timestamp, text, Url } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, Person } from "./people.ts";

export const livestreamStatusUpdated = eventType({
  name: "livestream.status.updated",
  version: 1,
  description: "A channel's livestream started or ended.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    is_live: Type.Boolean({ description: "Whether the channel is live now." }),
    title: text(500, { description: "Title of the stream." }),
    started_at: about(Timestamp, "When the stream started."),
    ended_at: nullable(Timestamp, { description: "When the stream ended; null while it is live." }),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    is_live: true,
    title: "Hardcore run, day 12",
    started_at: "2026-01-14T16:08:06Z",
    ended_at: null,
  },
  timeToLiveMs: null,
});

export const livestreamMetadataUpdated = eventType({
  name: "livestream.metadata.updated",
  version: 1,
  description: "The title, language, category or maturity of a channel's livestream changed.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    metadata: closed(
      {
        title: text(500, { description: "Title of the stream." }),
        language: text(50, { description: "Language of the stream." }),
        has_mature_content: Type.Boolean({ description: "Whether the stream is for adults only." }),
        category: closed(
          {
            id: about(Id, "Id of the category."),
            name: text(200, { description: "Name of the category." }),
            thumbnail: about(Url, 'URL of an image of the category; "" for none.'),
          },
          { description: "Category of the stream." },
        ),
      },
      { description: "The new metadata of the stream." },
    ),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    metadata: {
      title: "Hardcore run, day 12: the frozen caves",
      language: "en",
      has_mature_content: false,
      category: {
        id: exampleCategory.id,
        name: exampleCategory.name,
        thumbnail: `https://images.example.com/categories/${exampleCategory.id}/thumbnail.webp`,
      },
    },
  },
  timeToLiveMs: null,
});
