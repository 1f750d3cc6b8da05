// Imported before Elysia, which reads this at load time to decide how much detail errors reveal.
process.env.NODE_ENV = "production";

export {};
