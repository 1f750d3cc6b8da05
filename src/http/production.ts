// Imported before Elysia, which decides by this at load time how much of an error it tells to the caller.
process.env.NODE_ENV = "production";

export {};
