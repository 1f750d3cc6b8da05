import { Type } from "@sinclair/typebox";
import { exampleCategory } from "../examples.ts";
import { about, closed, Id, text, Url } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster } from "./example-people.ts";
import { Person } from "./person.ts";

export const livestreamMetadataUpdated = eventType({
  name: "livestream.metadata.updated",
  version: 1,
  description: "The title, language, category or maturity of a channel's livestream changed.",
  payload: closed({
    broadcaster: about(Person, "Whose channel it is."),
    metadata: closed(
      {
        title: text(500, { description: "The title of the stream." }),
        language: text(50, { description: "What is spoken in it." }),
        has_mature_content: Type.Boolean({ description: "Whether it is for adults." }),
        category: closed(
          {
            id: about(Id, "Id of the category."),
            name: text(200, { description: "Its name." }),
            thumbnail: about(Url, 'Address of its picture; "" where there is none.'),
          },
          { description: "What is streamed." },
        ),
      },
      { description: "What is told of the stream from now on." },
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
