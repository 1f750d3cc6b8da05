/** Who reads a page of the documentation. */
export type Reader = "developer" | "operator";

/** The name of the platform in `docs/` and in descriptions of the API. */
export const productName = "On Air";

/**
 * The addresses of the listeners in `docs/` and in descriptions of the API. Guides for developers also use
 * `https://api.example.com` for the public one; in guides for operators that is a setting.
 */
export const exampleAddresses = { public: "http://127.0.0.1:8080", admin: "http://127.0.0.1:8081" } as const;
