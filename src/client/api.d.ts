export interface paths {
    "/public/v1/categories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Categories
         * @description All categories, the most watched first, then by lower id. Walk through them by passing `pagination.cursor` as `cursor` until `has_more` is false; a cursor belongs to the filter it was made with. A walk shows every category exactly once, in the order and with the viewers of the moment at which it began, as long as each page is asked for within 5 minutes of the one before. After that it goes on from the same position in today's order.
         */
        get: operations["getCategories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/categories/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Category
         * @description One category with the channels that are live in it.
         */
        get: operations["getCategory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Event Types
         * @description The events that can be subscribed to, each version with the JSON Schema of its payload and an example: those of every platform, and those that this one registered.
         */
        get: operations["getEventTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/public-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Public Key
         * @description The Ed25519 key of the `v1a` signatures of webhooks, in PEM.
         */
        get: operations["getPublicKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/public-key/standard-webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Public Key for Standard Webhooks
         * @description The same key in the form that libraries of Standard Webhooks take.
         */
        get: operations["getStandardWebhooksKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get an access token
         * @description Gives an application a token of its own (`client_credentials`), or tokens of a user for a code (`authorization_code`) or for a refresh token (`refresh_token`; RFC 6749). The application authenticates with HTTP Basic, or with `client_id` and `client_secret` in the form; not both; a `Bearer` header beside them is ignored. A public client sends its `client_id` alone. Every error has `error` and `error_description` as in RFC 6749, beside the usual fields.
         *
         *     Each refresh token is exchanged once; for 60 seconds after that it still works, for programs that lost the answer. Used later, it ends everything that came of the same sign-in.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a token
         * @description Ends a token of the application at once (RFC 7009): an access token, or a refresh token together with everything that came of the same sign-in. A token that is unknown is no error.
         */
        post: operations["revokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/introspect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look at a token
         * @description Tells a confidential application what a token of its own is good for (RFC 7662). Of all other tokens it learns no more than that they are not active.
         */
        post: operations["introspectToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/authorize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ask a user for consent
         * @description Send the user's browser here (RFC 6749, section 4.1.1, with PKCE). It goes on to the login and consent of the platform, and from there to your `redirect_uri` with `code`, `state` and `iss`, or with `error` and `error_description`. A request whose application or `redirect_uri` is wrong ends here, because it cannot be sent back.
         */
        get: operations["authorize"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the metadata of the authorization server
         * @description What OAuth libraries need to know of this server; they look for it here (RFC 8414).
         */
        get: operations["getAuthorizationServerMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/users/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search Users
         * @description Finds users whose username or display name contains the query. The exact username comes first, then usernames that start with the query, then the rest; within each, more followers first, then the lower id.
         *
         *     A search does a bounded amount of work. Where very many names have all parts of the query, but few of them contain it, the search is cut off: the answer has what was found so far, and the header `Onair-Search-Complete` is `false` instead of `true`. A longer query finds more.
         */
        get: operations["searchUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/users/{username}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get User
         * @description The public profile of a user, looked up by username.
         */
        get: operations["getUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Event Subscriptions
         * @description Every subscription of the calling application; with a user token, those whose broadcaster is that user.
         */
        get: operations["getSubscriptions"];
        put?: never;
        /**
         * Create Event Subscription
         * @description Subscribes the calling application to events of a broadcaster. There is one result for each requested event, in order; subscribing again to the same gives the subscription that exists. When no event could be subscribed to, the status is 400 and the error carries the same `data`.
         */
        post: operations["createSubscriptions"];
        /**
         * Delete Event Subscription
         * @description Deletes subscriptions and drops their pending deliveries. An id that does not exist, or belongs to another application or, with a user token, to another broadcaster, changes nothing and is not an error.
         */
        delete: operations["deleteSubscriptions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Event Subscription
         * @description One subscription with its health: whether its endpoint takes what is sent, why not, and what waits.
         */
        get: operations["getSubscription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream Events
         * @description The events of your subscriptions as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), for programs that cannot receive webhooks; with a user token, those whose broadcaster is that user. The `delivery` of your application has to be `stream` or `both`.
         *
         *     `event` is the type and `data` a JSON object: `headers`, exactly as a webhook would have them, and `body`, the exact text of a webhook's body, so that what verifies webhooks verifies this. `id` is where to go on: send the last one as `Last-Event-ID` when you connect again. A program that has had no event yet has no id: `after` with the time of its start misses nothing. Delivery is at least once, and `webhook-id` tells what you have already. An event `gap` with `from` and `to` says that what was published between them is no longer kept. Only events have an `id`, and after some 15 seconds of silence there is a comment. With a token of the application itself and the delivery `both`, the stream also has [notices](#tag/application/GET/public/v1/application/notices) about its endpoint, as events of their `type` that belong to no subscription. A reader that takes nothing for 30 seconds is cut off, and a stream whose token ends is ended.
         */
        get: operations["streamEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Deliveries
         * @description What was sent to the webhook of the calling application, newest first, each delivery with its attempts; with a user token, what was sent of events of that user. One request looks only at a part of a long log: a page may have fewer deliveries than `limit`, even none, and still `has_more`.
         */
        get: operations["getDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Delivery
         * @description One delivery with its attempts and the request as it was sent last, without its signature. The body is shown as long as it is kept.
         */
        get: operations["getDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/deliveries/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry Delivery
         * @description Sends a delivery again now, whatever became of it, with the same `webhook-id`; attempts go on counting, and it does not expire any more. One that is being sent is left to that attempt. If it fails, the schedule of retries goes on as if it had not been made. An endpoint that is held up after failures is tried at once.
         */
        post: operations["retryDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/replays": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Replays
         * @description The replays of the calling application, the newest first, at most 100; with a user token, those made with tokens of that user.
         */
        get: operations["getReplays"];
        put?: never;
        /**
         * Create Replay
         * @description Sends the deliveries of a range of time again, with the same `webhook-id`s, in a job that goes on across restarts, at a pace that does not hold up new events. What cannot be sent again is counted as skipped. At most 3 run at once for an application, and none beside another that could send the same delivery. With the tokens of users 1 runs at once for each and 10 for all of them, which are no obstacle to the application's own. With `dry_run` they are only counted.
         */
        post: operations["createReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/replays/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Replay
         * @description One replay with its progress.
         */
        get: operations["getReplay"];
        put?: never;
        post?: never;
        /**
         * Cancel Replay
         * @description Ends a replay: nothing more is queued. What it has queued is still sent. One that has ended stays as it is.
         */
        delete: operations["cancelReplay"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/events/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test Webhook
         * @description Sends a sample event to the webhook of the calling application, over a new connection, signed like a delivery and marked by the header `Onair-Test: true`, and answers with the whole exchange. It belongs to no subscription and is not repeated. At most 10 a minute for an application; with the tokens of users 3 for each and 10 for all of them.
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/application/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Subscriptions
         * @description The subscriptions of your application in pages, each with the names of broadcaster and channel. Get Event Subscriptions gives all of them at once, without names.
         */
        get: operations["listSubscriptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/application": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Application
         * @description The application of the token, with the state of its endpoint, its limits, and its secrets by prefix and age. Needs a token of the application itself (`client_credentials`), of any scope.
         */
        get: operations["getOwnApplication"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change Application
         * @description Changes the fields that the body names, for every delivery that starts after the answer. Another webhook URL is another endpoint: it is enabled, and what waits is sent to it. What the platform has locked is 403 `locked`. Needs a token of the application itself with all of its scopes. At most 30 changes a minute.
         */
        patch: operations["changeOwnApplication"];
        trace?: never;
    };
    "/public/v1/application/webhook-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate Webhook Secret
         * @description Makes a new signing secret, which is shown only now. While the overlap lasts, every delivery is signed with both. Needs a token of the application itself with all of its scopes.
         */
        post: operations["rotateOwnWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/application/endpoint/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable Endpoint
         * @description Sends to a disabled or failing endpoint again, slowly at first, and makes what waits for it due now. One that is well stays so. Needs a token of the application itself with all of its scopes.
         */
        post: operations["enableOwnEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/application/notices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Notices
         * @description What was noticed about the endpoint of your application: that it fails, was disabled, has recovered. The newest hundred of the last 30 days. The event stream has the same notices as events of their `type`, under the same ids.
         */
        get: operations["getNotices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/application/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Statistics
         * @description What became of the deliveries of your application, by minute or hour, some ten seconds behind. A crash of the server may leave out its last seconds; Get Deliveries is exact.
         */
        get: operations["getOwnStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/v1/application/outcomes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch Deliveries
         * @description What becomes of the deliveries of your application, as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), while it happens, for people who look on. `data` of an event `outcomes` has `outcomes`, each with the state of the delivery (`pending`: it is tried again), and `left_out`: how many more there were. At most 20 come at once, five times a second, and a reader that is slow is left out more. Nothing is kept for later: what happened before the connection was made is in the list of deliveries.
         */
        get: operations["watchOwnDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "chat.message.sent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * chat.message.sent
         * @description Somebody sent a message to a channel's chat.
         */
        post: operations["chatMessageSent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "channel.followed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * channel.followed
         * @description Somebody started to follow a channel.
         */
        post: operations["channelFollowed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "channel.subscription.new": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * channel.subscription.new
         * @description Somebody subscribed to a channel for the first time.
         */
        post: operations["channelSubscriptionNew"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "channel.subscription.renewal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * channel.subscription.renewal
         * @description Somebody's subscription to a channel was renewed.
         */
        post: operations["channelSubscriptionRenewal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "channel.subscription.gifts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * channel.subscription.gifts
         * @description Somebody, who may stay anonymous, gave subscriptions to a channel to others.
         */
        post: operations["channelSubscriptionGifts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "channel.reward.redemption.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * channel.reward.redemption.updated
         * @description A channel reward was redeemed, or its redemption was accepted or rejected.
         */
        post: operations["channelRewardRedemptionUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "livestream.status.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * livestream.status.updated
         * @description A channel's livestream started or ended.
         */
        post: operations["livestreamStatusUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "livestream.metadata.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * livestream.metadata.updated
         * @description The title, language, category or maturity of a channel's livestream changed.
         */
        post: operations["livestreamMetadataUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "moderation.banned": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * moderation.banned
         * @description Somebody was banned from a channel, for a time or for good.
         */
        post: operations["moderationBanned"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "kicks.gifted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * kicks.gifted
         * @description Somebody gave Kicks to a channel.
         */
        post: operations["kicksGifted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description RFC 6749, section 5.1. */
        AccessToken: {
            /** @description Send it as `Authorization: Bearer <access_token>`. */
            access_token: string;
            /**
             * @description How it is sent.
             * @constant
             */
            token_type: "Bearer";
            /** @description Seconds for which it is good. */
            expires_in: number;
            /** @description Only with the token of a user: exchange it for new tokens within 30 days. */
            refresh_token?: string;
            /** @description Its scopes, separated by spaces, as they were named when they were asked for. */
            scope: string;
        };
        /** @description Deliveries of an application over time. */
        ApplicationStatistics: {
            /** @description As it was asked for. */
            range: string;
            /**
             * Format: date-time
             * @description When the first step began.
             */
            from: string;
            /**
             * Format: date-time
             * @description When the last step ends; it is still going on.
             */
            to: string;
            /** @description How long a step is. */
            step_seconds: number;
            /** @description The oldest step first. */
            deliveries: components["schemas"]["DeliveryStep"][];
            totals: components["schemas"]["DeliveryCounts"];
        };
        /** @description One attempt to deliver. */
        Attempt: {
            /**
             * Format: date-time
             * @description When it began.
             */
            at: string;
            /** @description How it ended: `ok`, `status` (an answer other than 2xx), or the stage that failed, like `dns`, `tls` or `timeout`. */
            outcome: string;
            /** @description The HTTP status; null where none arrived. */
            status: number | null;
            /** @description How long it took, in milliseconds. */
            duration_ms: number;
            timings: components["schemas"]["Timings"];
            /** @description Why it was no success, in one sentence. */
            error: string | null;
            /** @description The first KiB of the answer's body. */
            response: string;
        };
        /** @description For tokens of a user who has just consented. */
        AuthorizationCodeForm: {
            /**
             * @description What is exchanged for a token.
             * @constant
             */
            grant_type: "authorization_code";
            /** @description As it came to the redirect URI. */
            code: string;
            /** @description Of which the authorization request had the challenge (RFC 7636). */
            code_verifier: string;
            /** @description If given, that of the authorization request. */
            redirect_uri?: string;
            /** @description Unless you use HTTP Basic. */
            client_id?: string;
            /** @description Unless you use HTTP Basic, or are a public client. */
            client_secret?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description RFC 8414, section 2. */
        AuthorizationServerMetadata: {
            /**
             * Format: uri
             * @description This server, as `iss` names it.
             */
            issuer: string;
            /**
             * Format: uri
             * @description Where users log in, if the platform has set that up.
             */
            authorization_endpoint?: string;
            /**
             * Format: uri
             * @description Where tokens come from.
             */
            token_endpoint: string;
            /**
             * Format: uri
             * @description Where tokens end.
             */
            revocation_endpoint: string;
            /**
             * Format: uri
             * @description Where tokens are looked at.
             */
            introspection_endpoint: string;
            /** @description All scopes. */
            scopes_supported: string[];
            /** @description Values of `response_type`. */
            response_types_supported: string[];
            /** @description How answers come to the redirect URI. */
            response_modes_supported: string[];
            /** @description Values of `grant_type`. */
            grant_types_supported: string[];
            /** @description How applications authenticate for tokens. */
            token_endpoint_auth_methods_supported: string[];
            /** @description … to revoke tokens. */
            revocation_endpoint_auth_methods_supported: string[];
            /** @description … to look at tokens. */
            introspection_endpoint_auth_methods_supported: string[];
            /** @description Values of `code_challenge_method`. */
            code_challenge_methods_supported: string[];
            /** @description RFC 9207. */
            authorization_response_iss_parameter_supported: boolean;
            /**
             * Format: uri
             * @description This reference.
             */
            service_documentation: string;
        };
        /** @description A category as a list shows it. */
        Category: {
            /** @description Id of the category. */
            id: number;
            /** @description Its name. */
            name: string;
            /** @description Its name as a part of an address. */
            slug: string;
            /**
             * Format: uri
             * @description A small picture; where there is none, one of this server.
             */
            icon: string;
            /**
             * Format: uri
             * @description A wide picture; where there is none, one of this server.
             */
            banner: string;
            /** @description Viewers of all its live channels, at most 2 seconds behind what the platform reported. */
            viewers: number;
            /** @description Its tags; empty where it has none. */
            tags: components["schemas"]["Tag"][];
        };
        /** @description The category. */
        CategoryAnswer: {
            category: components["schemas"]["CategoryDetail"];
        };
        /** @description A category with its channels. */
        CategoryDetail: {
            /** @description Id of the category. */
            id: number;
            /** @description Its name. */
            name: string;
            /** @description Its name as a part of an address. */
            slug: string;
            /**
             * Format: uri
             * @description A small picture; where there is none, one of this server.
             */
            icon: string;
            /**
             * Format: uri
             * @description A wide picture; where there is none, one of this server.
             */
            banner: string;
            /** @description Viewers of all its live channels, at most 2 seconds behind what the platform reported. */
            viewers: number;
            /** @description Its tags; empty where it has none. */
            tags: components["schemas"]["Tag"][];
            /** @description Empty ("") where there is none. */
            description: string;
            /** @description The live channels with the most viewers. */
            top_channels: components["schemas"]["TopChannel"][];
        };
        /** @description A page of categories. */
        CategoryPage: {
            /** @description The most watched first. */
            categories: components["schemas"]["Category"][];
            pagination: components["schemas"]["Pagination"];
        };
        /** @description For a token of the application itself. */
        ClientCredentialsForm: {
            /**
             * @description What is exchanged for a token.
             * @constant
             */
            grant_type: "client_credentials";
            /** @description Scopes separated by spaces: `users:read` and `events:subscribe`. All that the application may have, if left out. */
            scope?: string;
            /** @description Unless you use HTTP Basic. */
            client_id?: string;
            /** @description Unless you use HTTP Basic, or are a public client. */
            client_secret?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description What became of an event for one subscription. */
        Delivery: {
            /** @description The `webhook-id`, the same on every attempt. */
            id: string;
            /** @description The subscription that it is for. */
            subscription_id: string;
            /** @description The event, the same for all that subscribe to it. */
            event_id: string;
            /** @description Type of the event. */
            type: string;
            /** @description Version of the event. */
            version: number;
            /** @description Counts the deliveries of the subscription. */
            sequence: number;
            status: components["schemas"]["DeliveryStatus"];
            /**
             * Format: date-time
             * @description When its event was published.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it is tried again; null: it is under way or about to be, or nothing follows.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description It is not sent any more from then on.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it came to its final state.
             */
            finished_at: string | null;
            /** @description The first one first. */
            attempts: components["schemas"]["Attempt"][];
        };
        /** @description It is about to be sent. */
        DeliveryAnswer: {
            data: components["schemas"]["Delivery"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description What became of deliveries. */
        DeliveryCounts: {
            /** @description Deliveries that arrived. */
            delivered: number;
            /** @description Attempts that failed and are made again. */
            retried: number;
            /** @description Deliveries that failed for good. */
            failed: number;
            /** @description Deliveries that were not worth sending any more. */
            expired: number;
            /** @description Deliveries that were canceled when their turn came. */
            canceled: number;
            /** @description Deliveries that can be read on the event stream. */
            streamed: number;
            /** @description Milliseconds from publishing to arrival at the first attempt, for half of those that arrived so. null: none. */
            arrival_p50_ms: number | null;
            /** @description The same for 99 of 100. null: none. */
            arrival_p99_ms: number | null;
        };
        /** @description A page of deliveries. */
        DeliveryPage: {
            /** @description The newest first. */
            data: components["schemas"]["Delivery"][];
            pagination: components["schemas"]["Pagination"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /**
         * @description The state of a delivery; all but `pending` are final.
         * @enum {string}
         */
        DeliveryStatus: "pending" | "delivered" | "failed" | "expired" | "canceled";
        /** @description What became of deliveries in a step of time. */
        DeliveryStep: {
            /**
             * Format: date-time
             * @description When the step began.
             */
            at: string;
            /** @description Deliveries that arrived. */
            delivered: number;
            /** @description Attempts that failed and are made again. */
            retried: number;
            /** @description Deliveries that failed for good. */
            failed: number;
            /** @description Deliveries that were not worth sending any more. */
            expired: number;
            /** @description Deliveries that were canceled when their turn came. */
            canceled: number;
            /** @description Deliveries that can be read on the event stream. */
            streamed: number;
            /** @description Milliseconds from publishing to arrival at the first attempt, for half of those that arrived so. null: none. */
            arrival_p50_ms: number | null;
            /** @description The same for 99 of 100. null: none. */
            arrival_p99_ms: number | null;
        };
        /**
         * @description It answered 410, failed everything for 24 hours, or the application has no webhook URL.
         * @enum {string}
         */
        DisabledReason: "gone" | "failing" | "no_webhook_url";
        /** @description The state of an endpoint at a time. */
        EndpointNoticeData: {
            /** @description What happened, in one sentence. Its words may change. */
            summary: string;
            /** @description What to do next; null where nothing is to do. Its words may change. */
            advice: string | null;
            /** @description The application whose endpoint it is. */
            application_id: string;
            /**
             * @description The state of the endpoint then.
             * @enum {string}
             */
            status: "enabled" | "failing" | "disabled";
            /** @description null where it was not disabled. */
            disabled_reason: ("gone" | "failing") | null;
            /**
             * Format: date-time
             * @description When it began to fail or was disabled.
             */
            since: string | null;
            /** @description Failed attempts since the last success. */
            failures: number;
            /** @description null where it had not failed. */
            last_failure: components["schemas"]["LastFailure"] | null;
        };
        /** @description The receiver behind the webhook URL. */
        EndpointState: {
            /**
             * @description `failing`: nothing succeeded since a failure. `disabled`: nothing is sent.
             * @enum {string}
             */
            status: "enabled" | "failing" | "disabled";
            /** @description null where it is not disabled. */
            disabled_reason: components["schemas"]["DisabledReason"] | null;
            /**
             * Format: date-time
             * @description When it began to fail or was disabled; null while it is well.
             */
            since: string | null;
            /** @description Failed attempts since the last success. */
            failures: number;
            /**
             * Format: date-time
             * @description When it last took a delivery; exact to 5 seconds.
             */
            last_success_at: string | null;
            /** @description null where it has not failed. */
            last_failure: components["schemas"]["LastFailure"] | null;
            /** @description The state in one sentence. Its words may change. */
            summary: string;
            /** @description What to do next; null where nothing is to do. Its words may change. */
            advice: string | null;
        };
        /** @description Every error of every path has this shape. */
        Error: {
            /** @description What went wrong, for people to read. Its words may change. */
            message: string;
            /**
             * @description What went wrong, for programs to act on.
             * @enum {string}
             */
            code: "invalid_parameter" | "invalid_json" | "invalid_cursor" | "subscription_failed" | "missing_token" | "invalid_token" | "insufficient_scope" | "stream_disabled" | "locked" | "user_not_found" | "category_not_found" | "not_found" | "method_not_allowed" | "conflict" | "body_too_large" | "unsupported_media_type" | "rate_limited" | "unavailable" | "internal_error";
            /** @description The fields that are wrong; empty for most errors. */
            errors: components["schemas"]["FieldProblem"][];
            /** @description The same as in the header `X-Request-Id`. */
            request_id: string;
            /** @description Only with `subscription_failed`: the result for each requested event. */
            data?: components["schemas"]["SubscriptionResult"][];
        };
        /** @description An event that can be subscribed to. */
        EventType: {
            /**
             * @description Name of the event.
             * @example channel.followed
             */
            name: string;
            /** @description Its version. */
            version: number;
            /** @description When it happens. */
            description: string;
            /** @description JSON Schema of the payload (`data`). */
            schema: {
                [key: string]: unknown;
            };
            /** @description A payload. */
            example: {
                [key: string]: unknown;
            };
        };
        /** @description All event types. */
        EventTypeList: {
            /** @description All of them. */
            data: components["schemas"]["EventType"][];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description A field that is wrong. */
        FieldProblem: {
            /**
             * @description Where the field is.
             * @enum {string}
             */
            in: "body" | "query" | "path" | "header";
            /** @description Name or path of the field. */
            field: string;
            /** @description What is wrong with it. */
            message: string;
        };
        /** @description RFC 7662, section 2.2. */
        Introspection: {
            /** @description Whether it is a good token of the application that asks. */
            active: boolean;
            /** @description Those of its scopes that the application still has; left out where it has none. */
            scope?: string;
            /** @description The application. */
            client_id?: string;
            /**
             * @description Only of an access token.
             * @constant
             */
            token_type?: "Bearer";
            /** @description When it ends, in seconds since 1970. */
            exp?: number;
            /** @description The id of the user; none with the token of an application. */
            sub?: string;
            /** @description This server. */
            iss?: string;
        };
        /** @description When and how an endpoint last failed. */
        LastFailure: {
            /**
             * Format: date-time
             * @description When it was.
             */
            at: string;
            /** @description The HTTP status; null where none arrived. */
            status: number | null;
            /** @description Why it was no success, in one sentence. */
            error: string | null;
        };
        /** @description A subscription with whose channel it is of, for people. */
        NamedSubscription: {
            /** @description Id of the subscription, by which it can be deleted. */
            id: string;
            /** @description The application that it belongs to. */
            app_id: string;
            /** @description Whose channel the events are of; null where they belong to none. */
            broadcaster_user_id: number | null;
            /**
             * @description Name of the event.
             * @example channel.followed
             */
            event: string;
            /** @description Version of the event. */
            version: number;
            /**
             * @description Delivery method.
             * @constant
             */
            method: "webhook";
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /** @description Of the broadcaster; null where there is none. */
            username: string | null;
            /** @description Of the broadcaster's channel; null: it has none. */
            channel_slug: string | null;
            /** @description Of the broadcaster's channel; null: it has none. */
            channel_name: string | null;
        };
        /** @description A page of subscriptions. */
        NamedSubscriptionPage: {
            /** @description The oldest first. */
            data: components["schemas"]["NamedSubscription"][];
            pagination: components["schemas"]["Pagination"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description A new signing secret. */
        NewWebhookSecret: {
            /** @description Shown only here. */
            webhook_secret: string;
            /**
             * Format: date-time
             * @description Until then older secrets are good, too; null: they are not.
             */
            overlap_until: string | null;
        };
        /** @description The new secret. */
        NewWebhookSecretAnswer: {
            data: components["schemas"]["NewWebhookSecret"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description A notice about the endpoint of the application. */
        Notice: {
            /** @description Its `webhook-id` on the event stream. */
            id: string;
            /**
             * @description Whether the endpoint fails for half an hour, was disabled, or has recovered from either.
             * @enum {string}
             */
            type: "endpoint.failing" | "endpoint.disabled" | "endpoint.recovered";
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            data: components["schemas"]["EndpointNoticeData"];
        };
        /** @description A page of notices. */
        NoticePage: {
            /** @description The newest first. */
            data: components["schemas"]["Notice"][];
            pagination: components["schemas"]["Pagination"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description The fields of RFC 6749, section 5.2, beside those of every error. */
        OAuthError: {
            /**
             * @description What went wrong, for OAuth libraries.
             * @enum {string}
             */
            error: "invalid_request" | "invalid_client" | "invalid_grant" | "unauthorized_client" | "unsupported_grant_type" | "invalid_scope" | "temporarily_unavailable" | "server_error";
            /** @description What went wrong, for people to read. */
            error_description: string;
            /** @description The same. */
            message: string;
            /**
             * @description What went wrong, for programs to act on; for an error of RFC 6749 the same as `error`.
             * @enum {string}
             */
            code: "invalid_request" | "invalid_client" | "invalid_grant" | "unauthorized_client" | "unsupported_grant_type" | "invalid_scope" | "method_not_allowed" | "body_too_large" | "unsupported_media_type" | "rate_limited" | "internal_error" | "unavailable";
            /** @description Always empty here. */
            errors: components["schemas"]["FieldProblem"][];
            /** @description The same as in the header `X-Request-Id`. */
            request_id: string;
        };
        /** @description The application of the token. */
        OwnApplication: {
            /** @description A ULID. */
            id: string;
            /** @description The same as `id`. */
            client_id: string;
            /** @description What users see when they consent. */
            name: string;
            /**
             * @description A `public` one has no client secret.
             * @enum {string}
             */
            client_type: "confidential" | "public";
            /** @description What its tokens may do at most. */
            scopes: string[];
            /** @description Where its events are sent; null: nowhere, and what is pending is canceled. */
            webhook_url: string | null;
            /**
             * @description How it gets its events: sent to its webhook URL, on the event stream, or both. With `stream` nothing is sent to its URL any more, and what is pending can be read from the stream.
             * @enum {string}
             */
            delivery: "webhook" | "stream" | "both";
            /** @description Where its users may be sent back to. */
            redirect_uris: string[];
            /** @description What only the platform can change. */
            locked: ("webhook_url" | "delivery" | "redirect_uris")[];
            /** @description The user to whom it belongs; null: none is known. */
            owner_user_id: number | null;
            rate_limit: components["schemas"]["RateLimit"];
            subscriptions: components["schemas"]["SubscriptionBudget"];
            endpoint: components["schemas"]["EndpointState"];
            /** @description The newest five notices about the endpoint; Get Notices has more. */
            notices: components["schemas"]["Notice"][];
            /** @description The newest of each kind first. */
            secrets: components["schemas"]["SecretInForce"][];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description The application as it is now. */
        OwnApplicationAnswer: {
            data: components["schemas"]["OwnApplication"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description What is to change. Other fields are ignored. */
        OwnApplicationChanges: {
            /** @description Where its events are sent; null: nowhere, and what is pending is canceled. */
            webhook_url?: string | null;
            /**
             * @description How it gets its events: sent to its webhook URL, on the event stream, or both. With `stream` nothing is sent to its URL any more, and what is pending can be read from the stream.
             * @enum {string}
             */
            delivery?: "webhook" | "stream" | "both";
            /** @description Where its users may be sent back to. */
            redirect_uris?: string[];
        } & {
            [key: string]: unknown;
        };
        /** @description Where a page ends. */
        Pagination: {
            /** @description Pass it as `cursor` for the next page. It is `""` on the last one. */
            cursor: string;
            /** @description Whether there is a next page. */
            has_more: boolean;
        };
        /** @description The key that verifies `v1a` signatures. */
        PublicKey: {
            /** @description The Ed25519 key in PEM. */
            public_key: string;
        };
        /** @description The key. */
        PublicKeyAnswer: {
            data: components["schemas"]["PublicKey"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description The rate limit and what is left of it. */
        RateLimit: {
            /** @description Requests a minute; 0: unlimited. */
            limit: number;
            /** @description Requests that may follow at once; null: unlimited. */
            remaining: number | null;
        };
        /** @description For new tokens of a user. */
        RefreshTokenForm: {
            /**
             * @description What is exchanged for a token.
             * @constant
             */
            grant_type: "refresh_token";
            /** @description The newest that you have. */
            refresh_token: string;
            /** @description Scopes separated by spaces: `users:read` and `events:subscribe`. All that the user granted, if left out. */
            scope?: string;
            /** @description Unless you use HTTP Basic. */
            client_id?: string;
            /** @description Unless you use HTTP Basic, or are a public client. */
            client_secret?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description An event that could not be subscribed to. */
        RefusedEvent: {
            /** @description Name of the event that was asked for. */
            name: string;
            /** @description Version of the event that was asked for. */
            version: number;
            /** @description Why there is no subscription. */
            error: string;
        };
        /** @description A job that sends a range of deliveries again. */
        Replay: {
            /** @description Id of the replay. */
            id: string;
            /**
             * @description Whether it has ended, and how.
             * @enum {string}
             */
            state: "running" | "completed" | "canceled";
            /** @description Whether it only counts. */
            dry_run: boolean;
            /** @description Only deliveries of this subscription. */
            subscription_id: string | null;
            /** @description Only deliveries that were in this state. */
            status: components["schemas"]["DeliveryStatus"] | null;
            /** @description Only events of this type. */
            type: string | null;
            /**
             * Format: date-time
             * @description Events published then or later.
             */
            from: string;
            /**
             * Format: date-time
             * @description Events published earlier than that.
             */
            to: string;
            /** @description The part of the range that is done. */
            progress: number;
            /** @description Deliveries of the range that were asked for, so far. */
            matched: number;
            /** @description Those that are sent again; with `dry_run`, that would be. */
            queued: number;
            skipped: components["schemas"]["SkippedDeliveries"];
            /**
             * Format: date-time
             * @description When it was asked for.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ended; null while it runs.
             */
            finished_at: string | null;
        };
        /** @description The replay as far as it has come. */
        ReplayAnswer: {
            data: components["schemas"]["Replay"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description What to send again. */
        ReplayInput: {
            /** @description Only deliveries of this subscription. */
            subscription_id?: string;
            status?: components["schemas"]["DeliveryStatus"];
            /** @description Only events of this type. */
            type?: string;
            /** @description Events published then or later … */
            from: string;
            /** @description … and earlier than that; at most 31 days after `from`. */
            to: string;
            /**
             * @description Only counts what would be sent.
             * @default false
             */
            dry_run?: boolean;
        } & {
            [key: string]: unknown;
        };
        /** @description The replays. */
        ReplayList: {
            /** @description The newest first. */
            data: components["schemas"]["Replay"][];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description How long the older secrets stay good. */
        RotationInput: {
            /**
             * @description For how long every older secret stays good, at most; 0: it ends at once.
             * @default 86400
             */
            overlap_seconds?: number;
        } & {
            [key: string]: unknown;
        };
        /** @description A secret that is good now, without itself. */
        SecretInForce: {
            /**
             * @description Which of the two it is.
             * @enum {string}
             */
            kind: "client_secret" | "webhook_secret";
            /** @description Its first characters; null for a client secret of an earlier version. */
            prefix: string | null;
            /**
             * Format: date-time
             * @description null for a secret of an earlier version.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description When a replaced one ends; null for the newest of its kind.
             */
            expires_at: string | null;
        };
        /** @description A delivery with what was sent. */
        SentDelivery: {
            /** @description The `webhook-id`, the same on every attempt. */
            id: string;
            /** @description The subscription that it is for. */
            subscription_id: string;
            /** @description The event, the same for all that subscribe to it. */
            event_id: string;
            /** @description Type of the event. */
            type: string;
            /** @description Version of the event. */
            version: number;
            /** @description Counts the deliveries of the subscription. */
            sequence: number;
            status: components["schemas"]["DeliveryStatus"];
            /**
             * Format: date-time
             * @description When its event was published.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it is tried again; null: it is under way or about to be, or nothing follows.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description It is not sent any more from then on.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it came to its final state.
             */
            finished_at: string | null;
            /** @description The first one first. */
            attempts: components["schemas"]["Attempt"][];
            /** @description What the last attempt sent; null before the first. */
            request: components["schemas"]["SentRequest"] | null;
        };
        /** @description The delivery. */
        SentDeliveryAnswer: {
            data: components["schemas"]["SentDelivery"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description A request to a webhook. */
        SentRequest: {
            /**
             * @description The HTTP method.
             * @constant
             */
            method: "POST";
            /** @description Those of the last attempt, without its signature. */
            headers: {
                [key: string]: string;
            };
            /** @description The very text; null when it is no longer kept. */
            body: string | null;
        };
        /** @description Those that cannot be sent again, by reason. */
        SkippedDeliveries: {
            /** @description The body of their event is no longer kept. */
            body_not_kept: number;
            /** @description Their subscription was deleted. */
            subscription_deleted: number;
            /** @description They were attempted as often as a delivery may be. */
            attempts_used_up: number;
        };
        /** @description The same key for libraries of Standard Webhooks. */
        StandardWebhooksKey: {
            /** @description The Ed25519 key as `whpk_` and base64. */
            public_key: string;
        };
        /** @description The key. */
        StandardWebhooksKeyAnswer: {
            data: components["schemas"]["StandardWebhooksKey"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description What became of deliveries over time. */
        StatisticsAnswer: {
            data: components["schemas"]["ApplicationStatistics"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description An event that is subscribed to. */
        SubscribedEvent: {
            /** @description Name of the event that was asked for. */
            name: string;
            /** @description Version of the event that was asked for. */
            version: number;
            /** @description Id of the subscription. */
            subscription_id: string;
        };
        /** @description An event type of a broadcaster that an application gets. */
        Subscription: {
            /** @description Id of the subscription, by which it can be deleted. */
            id: string;
            /** @description The application that it belongs to. */
            app_id: string;
            /** @description Whose channel the events are of; null where they belong to none. */
            broadcaster_user_id: number | null;
            /**
             * @description Name of the event.
             * @example channel.followed
             */
            event: string;
            /** @description Version of the event. */
            version: number;
            /**
             * @description Delivery method.
             * @constant
             */
            method: "webhook";
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description At least one of the events is subscribed to. */
        SubscriptionAnswer: {
            /** @description One for each event, in order. */
            data: components["schemas"]["SubscriptionResult"][];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description The budget of subscriptions. */
        SubscriptionBudget: {
            /** @description Subscriptions that there are. */
            used: number;
            /** @description Subscriptions that there may be. */
            limit: number;
        };
        /** @description A subscription with its health. */
        SubscriptionHealth: {
            /** @description Id of the subscription, by which it can be deleted. */
            id: string;
            /** @description The application that it belongs to. */
            app_id: string;
            /** @description Whose channel the events are of; null where they belong to none. */
            broadcaster_user_id: number | null;
            /**
             * @description Name of the event.
             * @example channel.followed
             */
            event: string;
            /** @description Version of the event. */
            version: number;
            /**
             * @description Delivery method.
             * @constant
             */
            method: "webhook";
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /**
             * @description Of the endpoint: `failing` since a failure that no success followed, `disabled` when nothing is sent to it any more.
             * @enum {string}
             */
            status: "enabled" | "failing" | "disabled";
            /** @description null where it is not disabled. */
            disabled_reason: components["schemas"]["DisabledReason"] | null;
            /** @description Deliveries that wait to be sent, counted up to 5000. */
            pending: number;
            /**
             * Format: date-time
             * @description When the oldest of them was published.
             */
            oldest_pending_at: string | null;
            /**
             * Format: date-time
             * @description When the endpoint last took a delivery, of any subscription; exact to 5 seconds.
             */
            last_success_at: string | null;
            /** @description The last failure of the endpoint, of any subscription. */
            last_failure: components["schemas"]["LastFailure"] | null;
            /** @description The last `Onair-Sequence`: how many deliveries were made for it. */
            sequence: number;
        };
        /** @description The subscription. */
        SubscriptionHealthAnswer: {
            data: components["schemas"]["SubscriptionHealth"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description What to subscribe to. */
        SubscriptionInput: {
            /** @description The events to subscribe to. */
            events: components["schemas"]["WantedEvent"][];
            /**
             * @description Delivery method.
             * @default webhook
             * @constant
             */
            method?: "webhook";
            /** @description User id of the broadcaster: required for channel events; with a user token it is that user. */
            broadcaster_user_id?: number | null;
        } & {
            [key: string]: unknown;
        };
        /** @description The subscriptions. */
        SubscriptionList: {
            /** @description All of them. */
            data: components["schemas"]["Subscription"][];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description What became of one requested event. */
        SubscriptionResult: components["schemas"]["SubscribedEvent"] | components["schemas"]["RefusedEvent"];
        /** @description A tag of a category. */
        Tag: {
            /** @description Id of the tag. */
            id: number;
            /** @description Its name. */
            name: string;
        };
        /** @description What was sent, and what came back. */
        TestAnswer: {
            data: components["schemas"]["TestExchange"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description A sample, and what became of it. */
        TestExchange: {
            /** @description Whether a delivery would have succeeded. */
            delivered: boolean;
            /** @description What the receiver did wrong, for people; null when it did all right. */
            problem: string | null;
            request: components["schemas"]["TestRequest"];
            /** @description null where no answer arrived. */
            response: components["schemas"]["TestResponse"] | null;
            /** @description As of an attempt. */
            outcome: string;
            /** @description Why it was no success, in one sentence. */
            error: string | null;
            /** @description How long it took, in milliseconds. */
            duration_ms: number;
            timings: components["schemas"]["Timings"];
        };
        /** @description Which sample to send. */
        TestInput: {
            /**
             * @description Type of the sample.
             * @default channel.followed
             */
            event?: string;
            /**
             * @description Version of the event.
             * @default 1
             */
            version?: number;
            /** @description The payload, in place of the example of the type. */
            data?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description What was sent. */
        TestRequest: {
            /**
             * @description The HTTP method.
             * @constant
             */
            method: "POST";
            /**
             * Format: uri
             * @description The webhook URL.
             */
            url: string;
            /** @description Without the signature. */
            headers: {
                [key: string]: string;
            };
            /** @description The very text. */
            body: string;
        };
        /** @description What came back. */
        TestResponse: {
            /** @description Its status. */
            status: number;
            /** @description By name in lower case: the first 40, each value up to 500 characters. Without cookies, and without what an egress proxy may have added. */
            headers: {
                [key: string]: string;
            };
            /** @description Its first KiB. */
            body: string;
        };
        /** @description How long the stages of a request took. */
        Timings: {
            /** @description Milliseconds; null where the stage was not needed or not reached. */
            dns_ms: number | null;
            /** @description Milliseconds; null where the stage was not needed or not reached. */
            connect_ms: number | null;
            /** @description Milliseconds; null where the stage was not needed or not reached. */
            tls_ms: number | null;
            /** @description Milliseconds; null where the stage was not needed or not reached. */
            first_byte_ms: number | null;
        };
        /** @description A form by `grant_type`. */
        TokenForm: {
            [key: string]: unknown;
        } | components["schemas"]["ClientCredentialsForm"] | components["schemas"]["AuthorizationCodeForm"] | components["schemas"]["RefreshTokenForm"];
        /** @description A form that names a token. */
        TokenToLookAt: {
            /** @description An access token or a refresh token. */
            token: string;
            /** @description Not needed: tokens are recognised. */
            token_type_hint?: string;
            /** @description Unless you use HTTP Basic. */
            client_id?: string;
            /** @description Unless you use HTTP Basic, or are a public client. */
            client_secret?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A live channel of a category. */
        TopChannel: {
            /** @description Id of the channel. */
            id: number;
            /** @description Its name. */
            name: string;
            /** @description Its name as a part of an address. */
            slug: string;
            /**
             * Format: uri
             * @description Its picture; where there is none, one of this server.
             */
            profile_image: string;
            /** @description How many watch it now. */
            viewers: number;
        };
        /** @description The public profile of a user. */
        User: {
            /** @description Id of the user. */
            id: number;
            /** @description The lookup key, as the platform spells it. */
            username: string;
            /** @description The name to show. */
            display_name: string;
            /**
             * Format: uri
             * @description The picture; where the user has none, one of this server.
             */
            profile_picture: string;
            /** @description Whether the platform has verified the user. */
            is_verified: boolean;
            /** @description Empty ("") where there is none. */
            bio: string;
            /** @description How many follow the user. */
            followers_count: number;
            /** @description How many the user follows. */
            following_count: number;
            /**
             * Format: date-time
             * @description When the account was made.
             */
            created_at: string;
        };
        /** @description The user. */
        UserAnswer: {
            user: components["schemas"]["User"];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description The users found; nothing found is an empty list. */
        UserSearchAnswer: {
            /** @description The best first. */
            data: components["schemas"]["UserSummary"][];
            /**
             * @description A human-readable status.
             * @example OK
             */
            message: string;
        };
        /** @description A user as a search finds it. */
        UserSummary: {
            /** @description Id of the user. */
            id: number;
            /** @description The lookup key, as the platform spells it. */
            username: string;
            /** @description The name to show. */
            display_name: string;
            /**
             * Format: uri
             * @description The picture; where the user has none, one of this server.
             */
            profile_picture: string;
            /** @description Whether the platform has verified the user. */
            is_verified: boolean;
        };
        /** @description An event to subscribe to. */
        WantedEvent: {
            /**
             * @description Name of the event.
             * @example channel.followed
             */
            name: string;
            /**
             * @description Version of the event.
             * @example 1
             */
            version: number;
        } & {
            [key: string]: unknown;
        };
    };
    responses: {
        /** @description The body is larger than 64 KiB. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It does not exist. */
        CategoryNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It contradicts the state of things; the message says how. */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The token lacks the scope of this operation or is one of a user, or the application may not use it. */
        InsufficientScope: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The token lacks the scope of this operation or is one of a user, or the application may not use it. */
        InsufficientScopeOrLocked: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The token lacks the scope of this operation or is one of a user, or the application may not use it. */
        InsufficientScopeOrStreamDisabled: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something went wrong on our side; the request id helps to find out what. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something in the request is wrong. All wrong fields are listed at once. */
        InvalidParameter: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something in the request is wrong. All wrong fields are listed at once. */
        InvalidParameterOrInvalidCursor: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something in the request is wrong. All wrong fields are listed at once. */
        InvalidParameterOrInvalidJson: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something in the request is wrong. All wrong fields are listed at once. */
        InvalidParameterOrInvalidJsonOrSubscriptionFailed: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "Onair-Subscriptions-Used": components["headers"]["Onair-Subscriptions-Used"];
                "Onair-Subscriptions-Limit": components["headers"]["Onair-Subscriptions-Limit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no access token, or it is unknown, revoked or expired. */
        MissingTokenOrInvalidToken: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It does not exist. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Nothing changed since the answer whose `ETag` you sent. */
        NotModified: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                ETag: components["headers"]["ETag"];
                "Cache-Control": components["headers"]["Cache-Control"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The rate limit is used up. `Retry-After` says when the next request is allowed. */
        RateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service cannot answer just now, for example because it is shutting down. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body has another media type. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It does not exist. */
        UserNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The `ETag` of an answer that you have: you get 304 without a body as long as nothing changed. */
        "If-None-Match": string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description For how many seconds the answer may be kept.
         * @example public, max-age=1
         */
        "Cache-Control": string;
        /**
         * @description Names this state of the answer; send it back as `If-None-Match`.
         * @example "2ke8x0q1v7fmz"
         */
        ETag: string;
        /**
         * @description `false` where the search was cut off: other users may match, also some that would come first.
         * @example true
         */
        "Onair-Search-Complete": boolean;
        /**
         * @description How many subscriptions the application may have.
         * @example 10000
         */
        "Onair-Subscriptions-Limit": number;
        /**
         * @description How many subscriptions the application has.
         * @example 1
         */
        "Onair-Subscriptions-Used": number;
        /**
         * @description Requests that you may make in a minute.
         * @example 800
         */
        "RateLimit-Limit": number;
        /**
         * @description Requests that you may make right now.
         * @example 799
         */
        "RateLimit-Remaining": number;
        /**
         * @description Seconds until the whole limit is available again.
         * @example 1
         */
        "RateLimit-Reset": number;
        /**
         * @description Seconds to wait before the next request.
         * @example 3
         */
        "Retry-After": number;
        /**
         * @description What the request lacked (RFC 6750, section 3).
         * @example Bearer realm="onair", error="invalid_token", error_description="The access token is unknown, revoked or expired"
         */
        "WWW-Authenticate": string;
        /**
         * @description Names this request in our logs: the value that the request carried in the same header, else a new one.
         * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
         */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getCategories: {
        parameters: {
            query?: {
                /**
                 * @description How many categories to return.
                 * @example 25
                 */
                limit?: number;
                /** @description `pagination.cursor` of the previous page; empty for the first page. */
                cursor?: string;
                /** @description Only categories whose name contains this, regardless of case and diacritics. */
                name?: string;
                /** @description Another word for `name`, which wins. */
                q?: string;
            };
            header?: {
                /** @description The `ETag` of an answer that you have: you get 304 without a body as long as nothing changed. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of categories. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "categories": [
                     *         {
                     *           "id": 2,
                     *           "name": "Deepwinter",
                     *           "slug": "deepwinter",
                     *           "icon": "https://api.example.com/assets/category-icon.png",
                     *           "banner": "https://api.example.com/assets/category-banner.png",
                     *           "tags": [
                     *             {
                     *               "id": 3,
                     *               "name": "Survival"
                     *             },
                     *             {
                     *               "id": 4,
                     *               "name": "Open World"
                     *             }
                     *           ],
                     *           "viewers": 184213
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "cursor": "",
                     *         "has_more": false
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["CategoryPage"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["InvalidParameterOrInvalidCursor"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCategory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an answer that you have: you get 304 without a body as long as nothing changed. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /**
                 * @description Id of the category.
                 * @example 2
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The category. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "category": {
                     *         "id": 2,
                     *         "name": "Deepwinter",
                     *         "slug": "deepwinter",
                     *         "icon": "https://api.example.com/assets/category-icon.png",
                     *         "banner": "https://api.example.com/assets/category-banner.png",
                     *         "tags": [
                     *           {
                     *             "id": 3,
                     *             "name": "Survival"
                     *           },
                     *           {
                     *             "id": 4,
                     *             "name": "Open World"
                     *           }
                     *         ],
                     *         "viewers": 184213,
                     *         "description": "Keep a village alive through a winter that will not end.",
                     *         "top_channels": [
                     *           {
                     *             "id": 5001,
                     *             "name": "Luna Bytes",
                     *             "slug": "lunabytes",
                     *             "profile_image": "https://api.example.com/assets/profile-picture.png",
                     *             "viewers": 27716
                     *           }
                     *         ]
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["CategoryAnswer"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["InvalidParameter"];
            404: components["responses"]["CategoryNotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getEventTypes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All event types. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "name": "channel.followed",
                     *           "version": 1,
                     *           "description": "Somebody started to follow a channel.",
                     *           "schema": {
                     *             "additionalProperties": false,
                     *             "type": "object",
                     *             "required": [
                     *               "broadcaster",
                     *               "follower"
                     *             ],
                     *             "properties": {
                     *               "broadcaster": {
                     *                 "additionalProperties": false,
                     *                 "type": "object",
                     *                 "required": [
                     *                   "is_anonymous",
                     *                   "user_id",
                     *                   "username",
                     *                   "is_verified",
                     *                   "profile_picture",
                     *                   "channel_slug",
                     *                   "identity"
                     *                 ],
                     *                 "properties": {
                     *                   "is_anonymous": {
                     *                     "description": "That the person is named.",
                     *                     "const": false,
                     *                     "type": "boolean"
                     *                   },
                     *                   "user_id": {
                     *                     "minimum": 1,
                     *                     "maximum": 9007199254740991,
                     *                     "type": "integer",
                     *                     "description": "Id of the user."
                     *                   },
                     *                   "username": {
                     *                     "pattern": "^[A-Za-z0-9_-]{1,64}$",
                     *                     "description": "The username.",
                     *                     "type": "string"
                     *                   },
                     *                   "is_verified": {
                     *                     "description": "Whether the platform has verified the user.",
                     *                     "type": "boolean"
                     *                   },
                     *                   "profile_picture": {
                     *                     "maxLength": 2048,
                     *                     "type": "string",
                     *                     "description": "Address of the picture; \"\" where there is none."
                     *                   },
                     *                   "channel_slug": {
                     *                     "description": "The name of the user's channel as a part of an address.",
                     *                     "maxLength": 100,
                     *                     "type": "string"
                     *                   },
                     *                   "identity": {
                     *                     "description": "null outside of chat.",
                     *                     "anyOf": [
                     *                       {
                     *                         "description": "How the person appears in this channel's chat.",
                     *                         "additionalProperties": false,
                     *                         "type": "object",
                     *                         "required": [
                     *                           "username_color",
                     *                           "badges"
                     *                         ],
                     *                         "properties": {
                     *                           "username_color": {
                     *                             "pattern": "^#[0-9A-Fa-f]{6}$",
                     *                             "description": "The colour of the name.",
                     *                             "type": "string"
                     *                           },
                     *                           "badges": {
                     *                             "maxItems": 50,
                     *                             "description": "What stands before the name.",
                     *                             "type": "array",
                     *                             "items": {
                     *                               "additionalProperties": false,
                     *                               "type": "object",
                     *                               "required": [
                     *                                 "text",
                     *                                 "type"
                     *                               ],
                     *                               "properties": {
                     *                                 "text": {
                     *                                   "description": "What the badge says.",
                     *                                   "maxLength": 100,
                     *                                   "type": "string"
                     *                                 },
                     *                                 "type": {
                     *                                   "minLength": 1,
                     *                                   "maxLength": 50,
                     *                                   "description": "What it is for, like `moderator`.",
                     *                                   "type": "string"
                     *                                 },
                     *                                 "count": {
                     *                                   "minimum": 0,
                     *                                   "maximum": 9007199254740991,
                     *                                   "type": "integer",
                     *                                   "description": "How many, for example months of a subscription."
                     *                                 }
                     *                               }
                     *                             }
                     *                           }
                     *                         }
                     *                       },
                     *                       {
                     *                         "type": "null"
                     *                       }
                     *                     ]
                     *                   }
                     *                 },
                     *                 "description": "Whose channel it is."
                     *               },
                     *               "follower": {
                     *                 "additionalProperties": false,
                     *                 "type": "object",
                     *                 "required": [
                     *                   "is_anonymous",
                     *                   "user_id",
                     *                   "username",
                     *                   "is_verified",
                     *                   "profile_picture",
                     *                   "channel_slug",
                     *                   "identity"
                     *                 ],
                     *                 "properties": {
                     *                   "is_anonymous": {
                     *                     "description": "That the person is named.",
                     *                     "const": false,
                     *                     "type": "boolean"
                     *                   },
                     *                   "user_id": {
                     *                     "minimum": 1,
                     *                     "maximum": 9007199254740991,
                     *                     "type": "integer",
                     *                     "description": "Id of the user."
                     *                   },
                     *                   "username": {
                     *                     "pattern": "^[A-Za-z0-9_-]{1,64}$",
                     *                     "description": "The username.",
                     *                     "type": "string"
                     *                   },
                     *                   "is_verified": {
                     *                     "description": "Whether the platform has verified the user.",
                     *                     "type": "boolean"
                     *                   },
                     *                   "profile_picture": {
                     *                     "maxLength": 2048,
                     *                     "type": "string",
                     *                     "description": "Address of the picture; \"\" where there is none."
                     *                   },
                     *                   "channel_slug": {
                     *                     "description": "The name of the user's channel as a part of an address.",
                     *                     "maxLength": 100,
                     *                     "type": "string"
                     *                   },
                     *                   "identity": {
                     *                     "description": "null outside of chat.",
                     *                     "anyOf": [
                     *                       {
                     *                         "description": "How the person appears in this channel's chat.",
                     *                         "additionalProperties": false,
                     *                         "type": "object",
                     *                         "required": [
                     *                           "username_color",
                     *                           "badges"
                     *                         ],
                     *                         "properties": {
                     *                           "username_color": {
                     *                             "pattern": "^#[0-9A-Fa-f]{6}$",
                     *                             "description": "The colour of the name.",
                     *                             "type": "string"
                     *                           },
                     *                           "badges": {
                     *                             "maxItems": 50,
                     *                             "description": "What stands before the name.",
                     *                             "type": "array",
                     *                             "items": {
                     *                               "additionalProperties": false,
                     *                               "type": "object",
                     *                               "required": [
                     *                                 "text",
                     *                                 "type"
                     *                               ],
                     *                               "properties": {
                     *                                 "text": {
                     *                                   "description": "What the badge says.",
                     *                                   "maxLength": 100,
                     *                                   "type": "string"
                     *                                 },
                     *                                 "type": {
                     *                                   "minLength": 1,
                     *                                   "maxLength": 50,
                     *                                   "description": "What it is for, like `moderator`.",
                     *                                   "type": "string"
                     *                                 },
                     *                                 "count": {
                     *                                   "minimum": 0,
                     *                                   "maximum": 9007199254740991,
                     *                                   "type": "integer",
                     *                                   "description": "How many, for example months of a subscription."
                     *                                 }
                     *                               }
                     *                             }
                     *                           }
                     *                         }
                     *                       },
                     *                       {
                     *                         "type": "null"
                     *                       }
                     *                     ]
                     *                   }
                     *                 },
                     *                 "description": "Who follows it."
                     *               }
                     *             }
                     *           },
                     *           "example": {
                     *             "broadcaster": {
                     *               "is_anonymous": false,
                     *               "user_id": 1001,
                     *               "username": "LunaBytes",
                     *               "is_verified": true,
                     *               "profile_picture": "https://images.example.com/users/1001/picture.webp",
                     *               "channel_slug": "lunabytes",
                     *               "identity": null
                     *             },
                     *             "follower": {
                     *               "is_anonymous": false,
                     *               "user_id": 1195,
                     *               "username": "ninja_fox",
                     *               "is_verified": true,
                     *               "profile_picture": "https://images.example.com/users/1195/picture.webp",
                     *               "channel_slug": "ninja-fox",
                     *               "identity": null
                     *             }
                     *           }
                     *         }
                     *       ],
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["EventTypeList"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getPublicKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "public_key": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["PublicKeyAnswer"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getStandardWebhooksKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "public_key": "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["StandardWebhooksKeyAnswer"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "grant_type": "authorization_code",
                 *       "code": "onair_ac_p4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6w",
                 *       "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
                 *       "redirect_uri": "https://app.example/callback",
                 *       "client_id": "01KATHZX5M9S3E6R8B2D4F7G1H"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["TokenForm"];
            };
        };
        responses: {
            /** @description The token of an application is good for 60 days, and so are earlier ones, of which the newest 1,000 are kept; that of a user is good for 2 hours. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "access_token": "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M",
                     *       "token_type": "Bearer",
                     *       "expires_in": 7200,
                     *       "refresh_token": "onair_rt_R5yW2nH6pL4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1v",
                     *       "scope": "users:read events:subscribe"
                     *     }
                     */
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
            /** @description Something in the request is wrong. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The application could not be authenticated. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    /**
                     * @description How an application authenticates.
                     * @example Basic realm="onair"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The body is larger than 64 KiB. */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The body has another media type. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The rate limit is used up. `Retry-After` says when the next request is allowed. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description Something went wrong on our side; the request id helps to find out what. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The service cannot answer just now, for example because it is shutting down. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "onair_rt_R5yW2nH6pL4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1v",
                 *       "client_id": "01KATHZX5M9S3E6R8B2D4F7G1H"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["TokenToLookAt"];
            };
        };
        responses: {
            /** @description The token is good for nothing (any more). */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Something in the request is wrong. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The application could not be authenticated. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    /**
                     * @description How an application authenticates.
                     * @example Basic realm="onair"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The body is larger than 64 KiB. */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The body has another media type. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The rate limit is used up. `Retry-After` says when the next request is allowed. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description Something went wrong on our side; the request id helps to find out what. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The service cannot answer just now, for example because it is shutting down. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
        };
    };
    introspectToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["TokenToLookAt"];
            };
        };
        responses: {
            /** @description What the token is good for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "active": true,
                     *       "scope": "users:read events:subscribe",
                     *       "client_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *       "token_type": "Bearer",
                     *       "exp": 1768414086,
                     *       "sub": "1001",
                     *       "iss": "https://api.example.com"
                     *     }
                     */
                    "application/json": components["schemas"]["Introspection"];
                };
            };
            /** @description Something in the request is wrong. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The application could not be authenticated. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    /**
                     * @description How an application authenticates.
                     * @example Basic realm="onair"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The body is larger than 64 KiB. */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The body has another media type. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The rate limit is used up. `Retry-After` says when the next request is allowed. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description Something went wrong on our side; the request id helps to find out what. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The service cannot answer just now, for example because it is shutting down. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
        };
    };
    authorize: {
        parameters: {
            query: {
                /**
                 * @description The only one there is.
                 * @example code
                 */
                response_type: "code";
                /**
                 * @description The application.
                 * @example 01KATHZX5M9S3E6R8B2D4F7G1H
                 */
                client_id: string;
                /**
                 * @description One that the application has registered; it may be left out where there is only one.
                 * @example https://app.example/callback
                 */
                redirect_uri?: string;
                /** @description Scopes separated by spaces: `users:read` and `events:subscribe`. All that the application may have, if left out. */
                scope?: string;
                /** @description Comes back to the redirect URI as it is. Make it unguessable. */
                state?: string;
                /**
                 * @description The SHA-256 of the code verifier, in base64url (RFC 7636).
                 * @example E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM
                 */
                code_challenge: string;
                /**
                 * @description The only one there is.
                 * @example S256
                 */
                code_challenge_method: "S256";
                /** @description The only one there is. */
                response_mode?: "query";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The browser goes on. */
            303: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    /**
                     * @description The login of the platform, or the redirect URI of the application.
                     * @example https://app.example/callback?error=access_denied&state=xyz
                     */
                    Location?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Something in the request is wrong. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                    "text/html": string;
                };
            };
            /** @description The rate limit is used up. `Retry-After` says when the next request is allowed. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description Something went wrong on our side; the request id helps to find out what. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            /** @description The service cannot answer just now, for example because it is shutting down. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
        };
    };
    getAuthorizationServerMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "issuer": "https://api.example.com",
                     *       "authorization_endpoint": "https://api.example.com/oauth/authorize",
                     *       "token_endpoint": "https://api.example.com/oauth/token",
                     *       "revocation_endpoint": "https://api.example.com/oauth/revoke",
                     *       "introspection_endpoint": "https://api.example.com/oauth/introspect",
                     *       "scopes_supported": [
                     *         "users:read",
                     *         "events:subscribe"
                     *       ],
                     *       "response_types_supported": [
                     *         "code"
                     *       ],
                     *       "response_modes_supported": [
                     *         "query"
                     *       ],
                     *       "grant_types_supported": [
                     *         "authorization_code",
                     *         "client_credentials",
                     *         "refresh_token"
                     *       ],
                     *       "token_endpoint_auth_methods_supported": [
                     *         "client_secret_basic",
                     *         "client_secret_post",
                     *         "none"
                     *       ],
                     *       "revocation_endpoint_auth_methods_supported": [
                     *         "client_secret_basic",
                     *         "client_secret_post",
                     *         "none"
                     *       ],
                     *       "introspection_endpoint_auth_methods_supported": [
                     *         "client_secret_basic",
                     *         "client_secret_post"
                     *       ],
                     *       "code_challenge_methods_supported": [
                     *         "S256"
                     *       ],
                     *       "authorization_response_iss_parameter_supported": true,
                     *       "service_documentation": "https://api.example.com/docs"
                     *     }
                     */
                    "application/json": components["schemas"]["AuthorizationServerMetadata"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    searchUsers: {
        parameters: {
            query: {
                /**
                 * @description Any part of a username or display name, regardless of case and diacritics.
                 * @example luna
                 */
                query: string;
                /**
                 * @description How many users to return.
                 * @example 25
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The users found; nothing found is an empty list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Onair-Search-Complete": components["headers"]["Onair-Search-Complete"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": 1001,
                     *           "username": "LunaBytes",
                     *           "display_name": "Luna Bytes",
                     *           "profile_picture": "https://api.example.com/assets/profile-picture.png",
                     *           "is_verified": true
                     *         }
                     *       ],
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["UserSearchAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Looked up without regard to ASCII case.
                 * @example LunaBytes
                 */
                username: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user": {
                     *         "id": 1001,
                     *         "username": "LunaBytes",
                     *         "display_name": "Luna Bytes",
                     *         "bio": "Writes games, plays games, breaks games. Live most evenings.",
                     *         "profile_picture": "https://api.example.com/assets/profile-picture.png",
                     *         "followers_count": 2644350,
                     *         "following_count": 129,
                     *         "is_verified": true,
                     *         "created_at": "2016-02-29T20:45:39.000Z"
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["UserAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["UserNotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSubscriptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscriptions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Onair-Subscriptions-Used": components["headers"]["Onair-Subscriptions-Used"];
                    "Onair-Subscriptions-Limit": components["headers"]["Onair-Subscriptions-Limit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *           "app_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *           "broadcaster_user_id": 1001,
                     *           "event": "channel.followed",
                     *           "version": 1,
                     *           "method": "webhook",
                     *           "created_at": "2026-01-14T16:08:06.123Z",
                     *           "updated_at": "2026-01-14T16:08:06.123Z"
                     *         }
                     *       ],
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["SubscriptionList"];
                };
            };
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSubscriptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "events": [
                 *         {
                 *           "name": "channel.followed",
                 *           "version": 1
                 *         }
                 *       ],
                 *       "method": "webhook",
                 *       "broadcaster_user_id": 1001
                 *     }
                 */
                "application/json": components["schemas"]["SubscriptionInput"];
            };
        };
        responses: {
            /** @description At least one of the events is subscribed to. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Onair-Subscriptions-Used": components["headers"]["Onair-Subscriptions-Used"];
                    "Onair-Subscriptions-Limit": components["headers"]["Onair-Subscriptions-Limit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "name": "channel.followed",
                     *           "version": 1,
                     *           "subscription_id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C"
                     *         }
                     *       ],
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidJsonOrSubscriptionFailed"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSubscriptions: {
        parameters: {
            query: {
                /**
                 * @description Ids of subscriptions: repeated, or separated by commas.
                 * @example [
                 *       "01KATJ1V2GQ5Z8N1F4T7Y0XW3C"
                 *     ]
                 */
                id: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscriptions do not exist (any more). */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the subscription.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *         "app_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "broadcaster_user_id": 1001,
                     *         "event": "channel.followed",
                     *         "version": 1,
                     *         "method": "webhook",
                     *         "created_at": "2026-01-14T16:08:06.123Z",
                     *         "updated_at": "2026-01-14T16:08:06.123Z",
                     *         "status": "failing",
                     *         "disabled_reason": null,
                     *         "pending": 3,
                     *         "oldest_pending_at": "2026-01-14T16:08:06.123Z",
                     *         "last_success_at": "2026-01-14T16:01:12.000Z",
                     *         "last_failure": {
                     *           "at": "2026-01-14T16:08:11.402Z",
                     *           "status": 503,
                     *           "error": "The answer was 503."
                     *         },
                     *         "sequence": 42
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["SubscriptionHealthAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /**
                 * @description Without `Last-Event-ID` the stream begins with what was published then or later. Without either it begins now.
                 * @example 2026-01-14T16:00:00Z
                 */
                after?: string;
            };
            header?: {
                /**
                 * @description The last `id` that you got: the stream goes on behind it.
                 * @example mHqk5s2Wb8cZtQ3fYx0oJ1Kd0zq3GmVt8w1LrXy5uNsAeK0qS7vXo2dT4iPzR9cBnLw6jYhUaF1gM3kE8rVtDpQxCyZ5bWsJ
                 */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example retry: 1000
                     *     id: mHqk5s2Wb8cZtQ3fYx0oJ1Kd0zq3GmVt8w1LrXy5uNsAeK0qS7vXo2dT4iPzR9cBnLw6jYhUaF1gM3kE8rVtDpQxCyZ5bWsJ
                     *     event: channel.followed
                     *     data: {"headers":{"webhook-id":"01KEYN2Q9HAVJ4W6C0B9RZ5T1M","webhook-timestamp":"1768406886","webhook-signature":"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=","onair-event-type":"channel.followed","onair-event-version":"1","onair-event-id":"01KEYN2Q9GZ4T7RFDX6M8V3BHC","onair-subscription-id":"01KATJ1V2GQ5Z8N1F4T7Y0XW3C","onair-sequence":"42","onair-attempt":"1"},"body":"{\"type\":\"channel.followed\",\"version\":1,\"timestamp\":\"2026-01-14T16:08:06.123Z\",\"data\":{\"broadcaster\":{\"is_anonymous\":false,\"user_id\":1001,\"username\":\"LunaBytes\",\"is_verified\":true,\"profile_picture\":\"https://images.example.com/users/1001/picture.webp\",\"channel_slug\":\"lunabytes\",\"identity\":null},\"follower\":{\"is_anonymous\":false,\"user_id\":1195,\"username\":\"ninja_fox\",\"is_verified\":true,\"profile_picture\":\"https://images.example.com/users/1195/picture.webp\",\"channel_slug\":\"ninja-fox\",\"identity\":null}}}"}
                     */
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidCursor"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScopeOrStreamDisabled"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDeliveries: {
        parameters: {
            query?: {
                /** @description Only of this subscription. */
                subscription_id?: string;
                /**
                 * @description Only in this state: pending, delivered, failed, expired, canceled.
                 * @example failed
                 */
                status?: "pending" | "delivered" | "failed" | "expired" | "canceled";
                /**
                 * @description Only of this event type.
                 * @example channel.followed
                 */
                type?: string;
                /**
                 * @description Only of events published then or later.
                 * @example 2026-01-14T16:00:00Z
                 */
                after?: string;
                /**
                 * @description Only of events published earlier than that.
                 * @example 2026-01-14T17:00:00Z
                 */
                before?: string;
                /**
                 * @description How many deliveries to return.
                 * @example 25
                 */
                limit?: number;
                /** @description `pagination.cursor` of the previous page; empty for the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
                     *           "subscription_id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *           "event_id": "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
                     *           "type": "channel.followed",
                     *           "version": 1,
                     *           "sequence": 42,
                     *           "status": "failed",
                     *           "created_at": "2026-01-14T16:08:06.123Z",
                     *           "next_attempt_at": null,
                     *           "expires_at": null,
                     *           "finished_at": "2026-01-14T16:08:06.301Z",
                     *           "attempts": [
                     *             {
                     *               "at": "2026-01-14T16:08:06.125Z",
                     *               "outcome": "status",
                     *               "status": 410,
                     *               "duration_ms": 176,
                     *               "timings": {
                     *                 "dns_ms": 11.2,
                     *                 "connect_ms": 24.7,
                     *                 "tls_ms": 51.3,
                     *                 "first_byte_ms": 88.1
                     *               },
                     *               "error": "The answer was 410.",
                     *               "response": "gone"
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "cursor": "",
                     *         "has_more": false
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidCursor"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the delivery: its `webhook-id`.
                 * @example 01KEYN3T9V5Z8N1F4T7Y0XW3CA
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
                     *         "subscription_id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *         "event_id": "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
                     *         "type": "channel.followed",
                     *         "version": 1,
                     *         "sequence": 42,
                     *         "status": "failed",
                     *         "created_at": "2026-01-14T16:08:06.123Z",
                     *         "next_attempt_at": null,
                     *         "expires_at": null,
                     *         "finished_at": "2026-01-14T16:08:06.301Z",
                     *         "attempts": [
                     *           {
                     *             "at": "2026-01-14T16:08:06.125Z",
                     *             "outcome": "status",
                     *             "status": 410,
                     *             "duration_ms": 176,
                     *             "timings": {
                     *               "dns_ms": 11.2,
                     *               "connect_ms": 24.7,
                     *               "tls_ms": 51.3,
                     *               "first_byte_ms": 88.1
                     *             },
                     *             "error": "The answer was 410.",
                     *             "response": "gone"
                     *           }
                     *         ],
                     *         "request": {
                     *           "method": "POST",
                     *           "headers": {
                     *             "content-type": "application/json",
                     *             "webhook-id": "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
                     *             "webhook-timestamp": "1768406886",
                     *             "onair-event-type": "channel.followed",
                     *             "onair-event-version": "1",
                     *             "onair-event-id": "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
                     *             "onair-subscription-id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *             "onair-sequence": "42",
                     *             "onair-attempt": "1"
                     *           },
                     *           "body": "{\"type\":\"channel.followed\",\"version\":1,\"timestamp\":\"2026-01-14T16:08:06.123Z\",\"data\":{}}"
                     *         }
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["SentDeliveryAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the delivery: its `webhook-id`.
                 * @example 01KEYN3T9V5Z8N1F4T7Y0XW3CA
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is about to be sent. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
                     *         "subscription_id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *         "event_id": "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
                     *         "type": "channel.followed",
                     *         "version": 1,
                     *         "sequence": 42,
                     *         "status": "pending",
                     *         "created_at": "2026-01-14T16:08:06.123Z",
                     *         "next_attempt_at": null,
                     *         "expires_at": null,
                     *         "finished_at": null,
                     *         "attempts": [
                     *           {
                     *             "at": "2026-01-14T16:08:06.125Z",
                     *             "outcome": "status",
                     *             "status": 410,
                     *             "duration_ms": 176,
                     *             "timings": {
                     *               "dns_ms": 11.2,
                     *               "connect_ms": 24.7,
                     *               "tls_ms": 51.3,
                     *               "first_byte_ms": 88.1
                     *             },
                     *             "error": "The answer was 410.",
                     *             "response": "gone"
                     *           }
                     *         ]
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["DeliveryAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getReplays: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The replays. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
                     *           "state": "running",
                     *           "dry_run": false,
                     *           "subscription_id": null,
                     *           "status": "failed",
                     *           "type": null,
                     *           "from": "2026-01-14T16:00:00.000Z",
                     *           "to": "2026-01-14T17:00:00.000Z",
                     *           "progress": 0.412,
                     *           "matched": 318,
                     *           "queued": 316,
                     *           "skipped": {
                     *             "body_not_kept": 0,
                     *             "subscription_deleted": 2,
                     *             "attempts_used_up": 0
                     *           },
                     *           "created_at": "2026-01-14T17:20:41.000Z",
                     *           "finished_at": null
                     *         }
                     *       ],
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["ReplayList"];
                };
            };
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createReplay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "failed",
                 *       "from": "2026-01-14T16:00:00Z",
                 *       "to": "2026-01-14T17:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["ReplayInput"];
            };
        };
        responses: {
            /** @description The replay as far as it has come. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
                     *         "state": "running",
                     *         "dry_run": false,
                     *         "subscription_id": null,
                     *         "status": "failed",
                     *         "type": null,
                     *         "from": "2026-01-14T16:00:00.000Z",
                     *         "to": "2026-01-14T17:00:00.000Z",
                     *         "progress": 0.412,
                     *         "matched": 318,
                     *         "queued": 316,
                     *         "skipped": {
                     *           "body_not_kept": 0,
                     *           "subscription_deleted": 2,
                     *           "attempts_used_up": 0
                     *         },
                     *         "created_at": "2026-01-14T17:20:41.000Z",
                     *         "finished_at": null
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["ReplayAnswer"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidJson"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getReplay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the replay.
                 * @example 01KEYN5Z9V5Z8N1F4T7Y0XW3CD
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The replay as far as it has come. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
                     *         "state": "running",
                     *         "dry_run": false,
                     *         "subscription_id": null,
                     *         "status": "failed",
                     *         "type": null,
                     *         "from": "2026-01-14T16:00:00.000Z",
                     *         "to": "2026-01-14T17:00:00.000Z",
                     *         "progress": 0.412,
                     *         "matched": 318,
                     *         "queued": 316,
                     *         "skipped": {
                     *           "body_not_kept": 0,
                     *           "subscription_deleted": 2,
                     *           "attempts_used_up": 0
                     *         },
                     *         "created_at": "2026-01-14T17:20:41.000Z",
                     *         "finished_at": null
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["ReplayAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelReplay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the replay.
                 * @example 01KEYN5Z9V5Z8N1F4T7Y0XW3CD
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does not run (any more). */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "event": "channel.followed"
                 *     }
                 */
                "application/json": components["schemas"]["TestInput"];
            };
        };
        responses: {
            /** @description What was sent, and what came back. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "delivered": false,
                     *         "problem": "It answered 302, a redirect to https://bot.example/login, which is not followed. Set the webhook URL to where the receiver itself is.",
                     *         "request": {
                     *           "method": "POST",
                     *           "url": "https://bot.example/webhook",
                     *           "headers": {
                     *             "content-type": "application/json",
                     *             "webhook-id": "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
                     *             "webhook-timestamp": "1768406886",
                     *             "onair-event-type": "channel.followed",
                     *             "onair-event-version": "1",
                     *             "onair-event-id": "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
                     *             "onair-subscription-id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *             "onair-sequence": "42",
                     *             "onair-attempt": "1",
                     *             "onair-test": "true"
                     *           },
                     *           "body": "{\"type\":\"channel.followed\",\"version\":1,\"timestamp\":\"2026-01-14T16:08:06.123Z\",\"data\":{}}"
                     *         },
                     *         "response": {
                     *           "status": 302,
                     *           "headers": {
                     *             "location": "/login",
                     *             "content-length": "0"
                     *           },
                     *           "body": ""
                     *         },
                     *         "outcome": "status",
                     *         "error": "The answer was 302. Redirects are not followed.",
                     *         "duration_ms": 143,
                     *         "timings": {
                     *           "dns_ms": 11.2,
                     *           "connect_ms": 24.7,
                     *           "tls_ms": 51.3,
                     *           "first_byte_ms": 55.1
                     *         }
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["TestAnswer"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidJson"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                /**
                 * @description Id of the broadcaster.
                 * @example 1001
                 */
                broadcaster_user_id?: number;
                /**
                 * @description Of the broadcaster whose channel has this slug.
                 * @example lunabytes
                 */
                channel?: string;
                /**
                 * @description To this event.
                 * @example channel.followed
                 */
                event?: string;
                /**
                 * @description How many subscriptions to return.
                 * @example 25
                 */
                limit?: number;
                /** @description `pagination.cursor` of the previous page; empty for the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of subscriptions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
                     *           "app_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *           "broadcaster_user_id": 1001,
                     *           "event": "channel.followed",
                     *           "version": 1,
                     *           "method": "webhook",
                     *           "created_at": "2026-01-14T16:08:06.123Z",
                     *           "updated_at": "2026-01-14T16:08:06.123Z",
                     *           "username": "LunaBytes",
                     *           "channel_slug": "lunabytes",
                     *           "channel_name": "Luna Bytes"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "cursor": "",
                     *         "has_more": false
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["NamedSubscriptionPage"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidCursor"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOwnApplication: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The application as it is now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "client_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "name": "My bot",
                     *         "client_type": "confidential",
                     *         "scopes": [
                     *           "users:read",
                     *           "events:subscribe"
                     *         ],
                     *         "webhook_url": "https://bot.example/webhook",
                     *         "delivery": "webhook",
                     *         "redirect_uris": [],
                     *         "locked": [],
                     *         "owner_user_id": 1001,
                     *         "rate_limit": {
                     *           "limit": 800,
                     *           "remaining": 799
                     *         },
                     *         "subscriptions": {
                     *           "used": 12,
                     *           "limit": 10000
                     *         },
                     *         "endpoint": {
                     *           "status": "failing",
                     *           "disabled_reason": null,
                     *           "since": "2026-01-14T16:08:11.402Z",
                     *           "failures": 3,
                     *           "last_success_at": "2026-01-14T16:01:12.000Z",
                     *           "last_failure": {
                     *             "at": "2026-01-14T16:13:12.117Z",
                     *             "status": 404,
                     *             "error": "The answer was 404."
                     *           },
                     *           "summary": "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
                     *           "advice": "It answered 404: is the path of the webhook URL right? Send a test; retries go on by themselves."
                     *         },
                     *         "notices": [],
                     *         "secrets": [
                     *           {
                     *             "kind": "client_secret",
                     *             "prefix": "onair_cs_4fQx",
                     *             "created_at": "2026-01-14T16:08:06.123Z",
                     *             "expires_at": null
                     *           },
                     *           {
                     *             "kind": "webhook_secret",
                     *             "prefix": "whsec_Zm9v",
                     *             "created_at": "2026-01-14T16:08:06.123Z",
                     *             "expires_at": null
                     *           }
                     *         ],
                     *         "created_at": "2026-01-14T16:08:06.123Z",
                     *         "updated_at": "2026-01-14T16:08:06.123Z"
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["OwnApplicationAnswer"];
                };
            };
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeOwnApplication: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "webhook_url": "https://bot.example/webhook"
                 *     }
                 */
                "application/json": components["schemas"]["OwnApplicationChanges"];
            };
        };
        responses: {
            /** @description The application as it is now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "client_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "name": "My bot",
                     *         "client_type": "confidential",
                     *         "scopes": [
                     *           "users:read",
                     *           "events:subscribe"
                     *         ],
                     *         "webhook_url": "https://bot.example/webhook",
                     *         "delivery": "webhook",
                     *         "redirect_uris": [],
                     *         "locked": [],
                     *         "owner_user_id": 1001,
                     *         "rate_limit": {
                     *           "limit": 800,
                     *           "remaining": 799
                     *         },
                     *         "subscriptions": {
                     *           "used": 12,
                     *           "limit": 10000
                     *         },
                     *         "endpoint": {
                     *           "status": "failing",
                     *           "disabled_reason": null,
                     *           "since": "2026-01-14T16:08:11.402Z",
                     *           "failures": 3,
                     *           "last_success_at": "2026-01-14T16:01:12.000Z",
                     *           "last_failure": {
                     *             "at": "2026-01-14T16:13:12.117Z",
                     *             "status": 404,
                     *             "error": "The answer was 404."
                     *           },
                     *           "summary": "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
                     *           "advice": "It answered 404: is the path of the webhook URL right? Send a test; retries go on by themselves."
                     *         },
                     *         "notices": [],
                     *         "secrets": [
                     *           {
                     *             "kind": "client_secret",
                     *             "prefix": "onair_cs_4fQx",
                     *             "created_at": "2026-01-14T16:08:06.123Z",
                     *             "expires_at": null
                     *           },
                     *           {
                     *             "kind": "webhook_secret",
                     *             "prefix": "whsec_Zm9v",
                     *             "created_at": "2026-01-14T16:08:06.123Z",
                     *             "expires_at": null
                     *           }
                     *         ],
                     *         "created_at": "2026-01-14T16:08:06.123Z",
                     *         "updated_at": "2026-01-14T16:08:06.123Z"
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["OwnApplicationAnswer"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidJson"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScopeOrLocked"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateOwnWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_seconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["RotationInput"];
            };
        };
        responses: {
            /** @description The new secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "webhook_secret": "whsec_…",
                     *         "overlap_until": "2026-01-14T17:08:06.123Z"
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["NewWebhookSecretAnswer"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidJson"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    enableOwnEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The application as it is now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "client_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *         "name": "My bot",
                     *         "client_type": "confidential",
                     *         "scopes": [
                     *           "users:read",
                     *           "events:subscribe"
                     *         ],
                     *         "webhook_url": "https://bot.example/webhook",
                     *         "delivery": "webhook",
                     *         "redirect_uris": [],
                     *         "locked": [],
                     *         "owner_user_id": 1001,
                     *         "rate_limit": {
                     *           "limit": 800,
                     *           "remaining": 799
                     *         },
                     *         "subscriptions": {
                     *           "used": 12,
                     *           "limit": 10000
                     *         },
                     *         "endpoint": {
                     *           "status": "failing",
                     *           "disabled_reason": null,
                     *           "since": "2026-01-14T16:08:11.402Z",
                     *           "failures": 3,
                     *           "last_success_at": "2026-01-14T16:01:12.000Z",
                     *           "last_failure": {
                     *             "at": "2026-01-14T16:13:12.117Z",
                     *             "status": 404,
                     *             "error": "The answer was 404."
                     *           },
                     *           "summary": "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
                     *           "advice": "It answered 404: is the path of the webhook URL right? Send a test; retries go on by themselves."
                     *         },
                     *         "notices": [],
                     *         "secrets": [
                     *           {
                     *             "kind": "client_secret",
                     *             "prefix": "onair_cs_4fQx",
                     *             "created_at": "2026-01-14T16:08:06.123Z",
                     *             "expires_at": null
                     *           },
                     *           {
                     *             "kind": "webhook_secret",
                     *             "prefix": "whsec_Zm9v",
                     *             "created_at": "2026-01-14T16:08:06.123Z",
                     *             "expires_at": null
                     *           }
                     *         ],
                     *         "created_at": "2026-01-14T16:08:06.123Z",
                     *         "updated_at": "2026-01-14T16:08:06.123Z"
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["OwnApplicationAnswer"];
                };
            };
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getNotices: {
        parameters: {
            query?: {
                /**
                 * @description How many notices to return.
                 * @example 25
                 */
                limit?: number;
                /** @description `pagination.cursor` of the previous page; empty for the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of notices. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
                     *           "type": "endpoint.failing",
                     *           "created_at": "2026-01-14T16:43:12.117Z",
                     *           "data": {
                     *             "summary": "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
                     *             "advice": "It answered 404: is the path of the webhook URL right? Send a test; retries go on by themselves.",
                     *             "application_id": "01KATHZX5M9S3E6R8B2D4F7G1H",
                     *             "status": "failing",
                     *             "disabled_reason": null,
                     *             "since": "2026-01-14T16:08:11.402Z",
                     *             "failures": 3,
                     *             "last_failure": {
                     *               "at": "2026-01-14T16:43:12.117Z",
                     *               "status": 404,
                     *               "error": "The answer was 404."
                     *             }
                     *           }
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "cursor": "",
                     *         "has_more": false
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["NoticePage"];
                };
            };
            400: components["responses"]["InvalidParameterOrInvalidCursor"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOwnStatistics: {
        parameters: {
            query?: {
                /**
                 * @description `hour`: the last 60 minutes. `day`: the last 24 hours. `week`: the last 168 hours.
                 * @example hour
                 */
                range?: "hour" | "day" | "week";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What became of deliveries over time. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "range": "hour",
                     *         "from": "2026-01-14T15:09:00.000Z",
                     *         "to": "2026-01-14T16:09:00.000Z",
                     *         "step_seconds": 60,
                     *         "deliveries": [
                     *           {
                     *             "at": "2026-01-14T15:09:00.000Z",
                     *             "delivered": 411,
                     *             "retried": 3,
                     *             "failed": 1,
                     *             "expired": 0,
                     *             "canceled": 0,
                     *             "streamed": 0,
                     *             "arrival_p50_ms": 12.4,
                     *             "arrival_p99_ms": 87.5
                     *           }
                     *         ],
                     *         "totals": {
                     *           "delivered": 411,
                     *           "retried": 3,
                     *           "failed": 1,
                     *           "expired": 0,
                     *           "canceled": 0,
                     *           "streamed": 0,
                     *           "arrival_p50_ms": 12.4,
                     *           "arrival_p99_ms": 87.5
                     *         }
                     *       },
                     *       "message": "OK"
                     *     }
                     */
                    "application/json": components["schemas"]["StatisticsAnswer"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    watchOwnDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example retry: 1000
                     *     event: outcomes
                     *     data: {"outcomes":[{"delivery_id":"01KEYN2Q9HAVJ4W6C0B9RZ5T1M","subscription_id":"01KATJ1V2GQ5Z8N1F4T7Y0XW3C","application_id":"01KATHZX5M9S3E6R8B2D4F7G1H","type":"channel.followed","at":"2026-01-14T16:08:06.312Z","status":"delivered","attempt":1,"outcome":"ok","http_status":204,"duration_ms":38,"error":null}],"left_out":0}
                     */
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["MissingTokenOrInvalidToken"];
            403: components["responses"]["InsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    chatMessageSent: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "chat.message.sent",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "message_id": "7c2f1a90-3d84-4b0e-9a57-1f6f0f5b8e21",
                 *         "replies_to": {
                 *           "message_id": "0b9e6d53-52a1-4c5e-8f1d-6a1d3c7f4b10",
                 *           "content": "Did she beat the boss yet?",
                 *           "sender": {
                 *             "is_anonymous": false,
                 *             "user_id": 1098,
                 *             "username": "haneul",
                 *             "is_verified": true,
                 *             "profile_picture": "https://images.example.com/users/1098/picture.webp",
                 *             "channel_slug": "haneul",
                 *             "identity": null
                 *           }
                 *         },
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "sender": {
                 *           "is_anonymous": false,
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox",
                 *           "identity": {
                 *             "username_color": "#3FA7D6",
                 *             "badges": [
                 *               {
                 *                 "text": "Moderator",
                 *                 "type": "moderator"
                 *               },
                 *               {
                 *                 "text": "Subscriber",
                 *                 "type": "subscriber",
                 *                 "count": 7
                 *               }
                 *             ]
                 *           }
                 *         },
                 *         "content": "Third try [emote:30817:gg] and a new record [emote:30817:gg]",
                 *         "emotes": [
                 *           {
                 *             "emote_id": "30817",
                 *             "positions": [
                 *               {
                 *                 "s": 10,
                 *                 "e": 25
                 *               },
                 *               {
                 *                 "s": 44,
                 *                 "e": 59
                 *               }
                 *             ]
                 *           }
                 *         ],
                 *         "created_at": "2026-01-14T16:08:06Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "chat.message.sent";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Id of the message. */
                        message_id: string;
                        /** @description The message that this one answers; null or absent if it answers none. */
                        replies_to?: {
                            /** @description Id of that message. */
                            message_id: string;
                            /** @description What was written. */
                            content: string;
                            /** @description Who wrote it. */
                            sender: {
                                /**
                                 * @description That the person is named.
                                 * @constant
                                 */
                                is_anonymous: false;
                                /** @description Id of the user. */
                                user_id: number;
                                /** @description The username. */
                                username: string;
                                /** @description Whether the platform has verified the user. */
                                is_verified: boolean;
                                /** @description Address of the picture; "" where there is none. */
                                profile_picture: string;
                                /** @description The name of the user's channel as a part of an address. */
                                channel_slug: string;
                                /** @description null outside of chat. */
                                identity: {
                                    /** @description The colour of the name. */
                                    username_color: string;
                                    /** @description What stands before the name. */
                                    badges: {
                                        /** @description What the badge says. */
                                        text: string;
                                        /** @description What it is for, like `moderator`. */
                                        type: string;
                                        /** @description How many, for example months of a subscription. */
                                        count?: number;
                                    }[];
                                } | null;
                            };
                        } | null;
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who wrote it. */
                        sender: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description What was written. */
                        content: string;
                        /** @description The emotes in it. */
                        emotes: {
                            /** @description Id of the emote. */
                            emote_id: string;
                            /** @description Where it stands. */
                            positions: {
                                /** @description The first character. */
                                s: number;
                                /** @description The last character. */
                                e: number;
                            }[];
                        }[];
                        /** @description When it was sent. */
                        created_at: string;
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    channelFollowed: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "channel.followed",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "follower": {
                 *           "is_anonymous": false,
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox",
                 *           "identity": null
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "channel.followed";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who follows it. */
                        follower: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    channelSubscriptionNew: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "channel.subscription.new",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "subscriber": {
                 *           "is_anonymous": false,
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox",
                 *           "identity": null
                 *         },
                 *         "duration": 1,
                 *         "created_at": "2026-01-14T16:08:06Z",
                 *         "expires_at": "2026-02-14T16:08:06Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "channel.subscription.new";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who subscribes to it. */
                        subscriber: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description For how many months the subscriber has subscribed. */
                        duration: number;
                        /** @description When this period began. */
                        created_at: string;
                        /** @description When it ends. */
                        expires_at: string;
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    channelSubscriptionRenewal: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "channel.subscription.renewal",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "subscriber": {
                 *           "is_anonymous": false,
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox",
                 *           "identity": null
                 *         },
                 *         "duration": 7,
                 *         "created_at": "2026-01-14T16:08:06Z",
                 *         "expires_at": "2026-02-14T16:08:06Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "channel.subscription.renewal";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who subscribes to it. */
                        subscriber: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description For how many months the subscriber has subscribed. */
                        duration: number;
                        /** @description When this period began. */
                        created_at: string;
                        /** @description When it ends. */
                        expires_at: string;
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    channelSubscriptionGifts: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "channel.subscription.gifts",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "gifter": {
                 *           "is_anonymous": false,
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox",
                 *           "identity": null
                 *         },
                 *         "giftees": [
                 *           {
                 *             "is_anonymous": false,
                 *             "user_id": 1098,
                 *             "username": "haneul",
                 *             "is_verified": true,
                 *             "profile_picture": "https://images.example.com/users/1098/picture.webp",
                 *             "channel_slug": "haneul",
                 *             "identity": null
                 *           }
                 *         ],
                 *         "created_at": "2026-01-14T16:08:06Z",
                 *         "expires_at": "2026-02-14T16:08:06Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "channel.subscription.gifts";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who gave the subscriptions. */
                        gifter: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        } | {
                            /**
                             * @description That the person is not named.
                             * @constant
                             */
                            is_anonymous: true;
                            /** @description Not told. */
                            user_id: null;
                            /** @description Not told. */
                            username: null;
                            /** @description Not told. */
                            is_verified: null;
                            /** @description Not told. */
                            profile_picture: null;
                            /** @description Not told. */
                            channel_slug: null;
                            /** @description Not told. */
                            identity: null;
                        };
                        /** @description Who got one. */
                        giftees: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        }[];
                        /** @description When they were given. */
                        created_at: string;
                        /** @description When they end. */
                        expires_at: string;
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    channelRewardRedemptionUpdated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "channel.reward.redemption.updated",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "id": "01KEYN2Q9GZ4T7RFDX6M8V3BHC",
                 *         "user_input": "The one with the trumpet, please",
                 *         "status": "accepted",
                 *         "redeemed_at": "2026-01-14T16:08:06.412Z",
                 *         "reward": {
                 *           "id": "01KEYMZ5W1C8PNA2J4S0YQ7TKE",
                 *           "title": "Choose the next song",
                 *           "cost": 1500,
                 *           "description": "Name a song and it plays after this round."
                 *         },
                 *         "redeemer": {
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox"
                 *         },
                 *         "broadcaster": {
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "channel.reward.redemption.updated";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Id of the redemption. */
                        id: string;
                        /** @description What the redeemer wrote; "" where nothing was asked. */
                        user_input: string;
                        /**
                         * @description What became of it.
                         * @enum {string}
                         */
                        status: "pending" | "accepted" | "rejected";
                        /** @description When it was redeemed. */
                        redeemed_at: string;
                        /** @description What was redeemed. */
                        reward: {
                            /** @description Id of the reward. */
                            id: string;
                            /** @description What it is called. */
                            title: string;
                            /** @description What it costs, in points of the channel. */
                            cost: number;
                            /** @description What one gets. */
                            description: string;
                        };
                        /** @description Who redeemed it. */
                        redeemer: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous?: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity?: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous?: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity?: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    livestreamStatusUpdated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "livestream.status.updated",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "is_live": true,
                 *         "title": "Hardcore run, day 12",
                 *         "started_at": "2026-01-14T16:08:06Z",
                 *         "ended_at": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "livestream.status.updated";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Whether it is live now. */
                        is_live: boolean;
                        /** @description The title of the stream. */
                        title: string;
                        /** @description When it began. */
                        started_at: string;
                        /** @description Null while the stream is live. */
                        ended_at: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    livestreamMetadataUpdated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "livestream.metadata.updated",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "metadata": {
                 *           "title": "Hardcore run, day 12: the frozen caves",
                 *           "language": "en",
                 *           "has_mature_content": false,
                 *           "category": {
                 *             "id": 2,
                 *             "name": "Deepwinter",
                 *             "thumbnail": "https://images.example.com/categories/2/thumbnail.webp"
                 *           }
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "livestream.metadata.updated";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description What is told of the stream from now on. */
                        metadata: {
                            /** @description The title of the stream. */
                            title: string;
                            /** @description What is spoken in it. */
                            language: string;
                            /** @description Whether it is for adults. */
                            has_mature_content: boolean;
                            /** @description What is streamed. */
                            category: {
                                /** @description Id of the category. */
                                id: number;
                                /** @description Its name. */
                                name: string;
                                /** @description Address of its picture; "" where there is none. */
                                thumbnail: string;
                            };
                        };
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    moderationBanned: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "moderation.banned",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "is_anonymous": false,
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes",
                 *           "identity": null
                 *         },
                 *         "moderator": {
                 *           "is_anonymous": false,
                 *           "user_id": 1098,
                 *           "username": "haneul",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1098/picture.webp",
                 *           "channel_slug": "haneul",
                 *           "identity": null
                 *         },
                 *         "banned_user": {
                 *           "is_anonymous": false,
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox",
                 *           "identity": null
                 *         },
                 *         "metadata": {
                 *           "reason": "Posting the same link again and again",
                 *           "created_at": "2026-01-14T16:08:06Z",
                 *           "expires_at": "2026-01-14T16:18:06Z"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "moderation.banned";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who banned. */
                        moderator: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who was banned. */
                        banned_user: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description What is told of the ban. */
                        metadata: {
                            /** @description Why. */
                            reason: string;
                            /** @description When it was. */
                            created_at: string;
                            /** @description Null if the ban does not end. */
                            expires_at: string | null;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    kicksGifted: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Names the delivery, the same on every attempt. Remember it to do nothing twice.
                 * @example 01KEYN2Q9HAVJ4W6C0B9RZ5T1M
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in Unix seconds.
                 * @example 1768406886
                 */
                "webhook-timestamp": number;
                /**
                 * @description Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
                /**
                 * @description The same as `type` in the body.
                 * @example channel.followed
                 */
                "Onair-Event-Type": string;
                /**
                 * @description The same as `version` in the body.
                 * @example 1
                 */
                "Onair-Event-Version": number;
                /**
                 * @description Names the event, for all that subscribe to it.
                 * @example 01KEYN2Q9GZ4T7RFDX6M8V3BHC
                 */
                "Onair-Event-Id": string;
                /**
                 * @description The subscription that this is sent for.
                 * @example 01KATJ1V2GQ5Z8N1F4T7Y0XW3C
                 */
                "Onair-Subscription-Id": string;
                /**
                 * @description Counts the deliveries of the subscription, so that a gap shows what is still missing.
                 * @example 42
                 */
                "Onair-Sequence": number;
                /**
                 * @description Counts the attempts of this delivery.
                 * @example 1
                 */
                "Onair-Attempt": number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "kicks.gifted",
                 *       "version": 1,
                 *       "timestamp": "2026-01-14T16:08:06.123Z",
                 *       "data": {
                 *         "broadcaster": {
                 *           "user_id": 1001,
                 *           "username": "LunaBytes",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1001/picture.webp",
                 *           "channel_slug": "lunabytes"
                 *         },
                 *         "sender": {
                 *           "user_id": 1195,
                 *           "username": "ninja_fox",
                 *           "is_verified": true,
                 *           "profile_picture": "https://images.example.com/users/1195/picture.webp",
                 *           "channel_slug": "ninja-fox"
                 *         },
                 *         "gift": {
                 *           "amount": 500,
                 *           "name": "Confetti Storm",
                 *           "type": "LEVEL_UP",
                 *           "tier": "MID",
                 *           "message": "What a finish!",
                 *           "pinned_time_seconds": 600
                 *         },
                 *         "created_at": "2026-01-14T16:08:06.634Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @constant
                     */
                    type: "kicks.gifted";
                    /**
                     * @description Version of the event.
                     * @constant
                     */
                    version: 1;
                    /** @description When it was published. */
                    timestamp: string;
                    /** @description The payload. */
                    data: {
                        /** @description Whose channel it is. */
                        broadcaster: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous?: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity?: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description Who gives. */
                        sender: {
                            /**
                             * @description That the person is named.
                             * @constant
                             */
                            is_anonymous?: false;
                            /** @description Id of the user. */
                            user_id: number;
                            /** @description The username. */
                            username: string;
                            /** @description Whether the platform has verified the user. */
                            is_verified: boolean;
                            /** @description Address of the picture; "" where there is none. */
                            profile_picture: string;
                            /** @description The name of the user's channel as a part of an address. */
                            channel_slug: string;
                            /** @description null outside of chat. */
                            identity?: {
                                /** @description The colour of the name. */
                                username_color: string;
                                /** @description What stands before the name. */
                                badges: {
                                    /** @description What the badge says. */
                                    text: string;
                                    /** @description What it is for, like `moderator`. */
                                    type: string;
                                    /** @description How many, for example months of a subscription. */
                                    count?: number;
                                }[];
                            } | null;
                        };
                        /** @description What is given. */
                        gift: {
                            /** @description How many kicks. */
                            amount: number;
                            /** @description What the gift is called. */
                            name: string;
                            /** @description Its kind. */
                            type: string;
                            /** @description Its tier. */
                            tier: string;
                            /** @description What was written with it. */
                            message: string;
                            /** @description How long the message stays pinned in the chat; null or absent if it is not pinned. */
                            pinned_time_seconds?: number | null;
                        };
                        /** @description When it was given. */
                        created_at: string;
                    };
                };
            };
        };
        responses: {
            /** @description You want nothing more: the whole endpoint is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You are sent less, and this again after `Retry-After`; so with 502, 503 and 504. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description You have it. Answer within 15 seconds, and do slow work afterwards. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It failed and is sent again later. Redirects are not followed and count as failure. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
