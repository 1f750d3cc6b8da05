/* Rows of platform data for the batch routes. */

export const user = (id: number, username = `user_${id}`, more: object = {}) => ({ id, username, ...more });

export const category = (id: number, name = `Category ${id}`, more: object = {}) => {
  return { id, name, slug: name.toLowerCase().replaceAll(" ", "-"), ...more };
};

export const channel = (id: number, slug = `channel-${id}`, user_id = id, more: object = {}) => {
  return { id, user_id, slug, ...more };
};

export const live = (channel_id: number, category_id: number, viewers: number, more: object = {}) => {
  return { channel_id, category_id, viewers, ...more };
};

/** One line per row; a string becomes a line unchanged. */
export const ndjson = (rows: readonly unknown[]) =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");
