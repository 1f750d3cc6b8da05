/* Rows of the platform's data, as its batches take them. */

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

/** A line for each row; a string is a line as it stands. */
export const ndjson = (rows: readonly unknown[]) =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");
