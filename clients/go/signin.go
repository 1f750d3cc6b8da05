package onair

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// SignIn is the sign-in of a user: authorization code with PKCE (RFC 6749, RFC 7636, RFC 9207).
//
// Send the browser to AuthorizationURL, keep State and Verifier in the user's own session, for example in
// a cookie that only your server can read, and call Finish with the query of the request to the redirect
// URI. If that is another request, make a SignIn with the kept State and Verifier.
type SignIn struct {
	// Config has the URL, the ClientID and, unless the client is public, the ClientSecret. Without
	// Scopes, all of the application are requested.
	Config      Config
	RedirectURI string
	// State and Verifier are random; NewSignIn makes them.
	State    string
	Verifier string
}

// NewSignIn begins a sign-in with a new State and Verifier. It sends nothing.
func NewSignIn(config Config, redirectURI string) *SignIn {
	return &SignIn{config, redirectURI, rand.Text() + rand.Text(), rand.Text() + rand.Text()}
}

// AuthorizationURL is where to send the browser.
func (s *SignIn) AuthorizationURL() string {
	digest := sha256.Sum256([]byte(s.Verifier))
	query := url.Values{
		"response_type":         {"code"},
		"client_id":             {s.Config.ClientID},
		"redirect_uri":          {s.RedirectURI},
		"state":                 {s.State},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(digest[:])},
		"code_challenge_method": {"S256"},
	}
	if s.Config.Scopes != nil {
		query.Set("scope", strings.Join(s.Config.Scopes, " "))
	}
	return strings.TrimRight(s.Config.URL, "/") + "/oauth/authorize?" + query.Encode()
}

// Finish exchanges the code that the redirect URI got. It returns an *Error with the code access_denied if
// the user refused, and with invalid_state or invalid_issuer for an answer to another sign-in.
func (s *SignIn) Finish(ctx context.Context, query url.Values) (*Session, error) {
	transport, err := newTransport(s.Config)
	if err != nil {
		return nil, err
	}
	if s.State == "" || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(s.State)) != 1 {
		return nil, &Error{Code: "invalid_state", Message: "the state is not that of this sign-in", RetryAfter: -1}
	}
	if issuer := strings.TrimRight(query.Get("iss"), "/"); issuer != transport.url {
		message := fmt.Sprintf("the answer is from %q, not from %q", issuer, transport.url)
		return nil, &Error{Code: "invalid_issuer", Message: message, RetryAfter: -1}
	}
	if !query.Has("code") {
		code := first(query.Get("error"), "invalid_request")
		return nil, &Error{Code: code, Message: first(query.Get("error_description"), code), RetryAfter: -1}
	}
	form := url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {query.Get("code")},
		"code_verifier": {s.Verifier},
		"redirect_uri":  {s.RedirectURI},
		"client_id":     {s.Config.ClientID},
	}
	if s.Config.ClientSecret != "" {
		form.Set("client_secret", s.Config.ClientSecret)
	}
	return requestToken(ctx, transport, form)
}
