// Package onair is a client for the developer API of On Air: tokens, typed calls, a receiver of
// webhooks, and the event stream. It needs nothing but the standard library.
//
//	client, err := onair.New(onair.Config{URL: url, ClientID: id, ClientSecret: secret})
//	answer, err := client.GetUser(ctx, "LunaBytes")
//	for event, err := range client.Stream(ctx, onair.StreamOptions{}) { … }
package onair
