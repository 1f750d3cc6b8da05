package onair

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Config has the platform, the credentials for it, and how long to wait.
//
// The credentials are those of an application, the Session of a user who signed in to it, or a Token
// from elsewhere, which is not renewed. Without any of them, only public data can be read.
type Config struct {
	// URL is that of the platform's public listener, like https://api.example.com.
	URL          string
	ClientID     string
	ClientSecret string
	// Scopes to request; by default all scopes of the application.
	Scopes []string
	// Token is an existing access token, which is not renewed.
	Token string
	// Session has tokens of an earlier run. Those with a refresh token are renewed for their user.
	Session *Session
	// SaveSession is called with new tokens before they are used, and again if it failed. It must not
	// use the client.
	SaveSession func(context.Context, Session) error

	// HTTPClient sends the requests; by default a client like http.DefaultClient. Redirects are not followed.
	HTTPClient *http.Client
	// Timeout is that of a request and its answer; 30 seconds by default. Streams have none.
	Timeout time.Duration
	// MaxRetries is the most repetitions of a request; 5 by default, negative for none.
	MaxRetries int
	// MaxWait is the longest wait before a repetition; a minute by default. A request for which the
	// server asks for a longer wait is not repeated.
	MaxWait time.Duration
}

// Client is the public API, typed by its OpenAPI document. It is safe for concurrent use.
//
// It fetches tokens when they are needed, renews them, and repeats requests after 429 and Retry-After.
// Every call returns an *Error for an error answer, and errors of the network as they are.
type Client struct {
	transport transport
	tokens    tokenSource
}

// New returns a client. It sends nothing.
func New(config Config) (*Client, error) {
	transport, err := newTransport(config)
	if err != nil {
		return nil, err
	}
	tokens, err := newTokenSource(config, transport)
	if err != nil {
		return nil, err
	}
	return &Client{transport, tokens}, nil
}

// maxAnswerBytes is the longest answer that is read.
const maxAnswerBytes = 64 << 20

// mostRenewals ends repetition when the server refuses every token.
const mostRenewals = 2

// Do sends a request to a path of the API, with the token, and decodes the JSON of the answer into
// answer, which may be nil. It is for calls that the client has no method for.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	if !strings.HasPrefix(path, "/") {
		// Otherwise the token could go to another host, as with "@evil.example/".
		return fmt.Errorf("onair: the path %q does not begin with a slash", path)
	}
	address := c.transport.url + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return c.transport.patiently(ctx, method, path, func() error {
		response, err := c.authorized(ctx, c.transport.client, func() (*http.Request, error) {
			request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
			if err != nil {
				return nil, err
			}
			request.Header.Set("Accept", "application/json")
			if content != nil {
				request.Header.Set("Content-Type", "application/json")
			}
			return request, nil
		})
		if err != nil {
			return err
		}
		return read(response, answer)
	})
}

func call[Answer any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (*Answer, error) {
	answer := new(Answer)
	if err := c.Do(ctx, method, path, query, body, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

func send(ctx context.Context, c *Client, method, path string, query url.Values, body any) error {
	return c.Do(ctx, method, path, query, body, nil)
}

// authorized sends the request that prepare returns, with a token that is renewed when refused.
func (c *Client) authorized(ctx context.Context, client *http.Client, prepare func() (*http.Request, error)) (*http.Response, error) {
	token, err := c.tokens.current(ctx)
	if err != nil {
		return nil, err
	}
	for renewals := 0; ; renewals++ {
		request, err := prepare()
		if err != nil {
			return nil, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := do(client, request)
		if err != nil || response.StatusCode != http.StatusUnauthorized || token == "" || renewals == mostRenewals {
			return response, err
		}
		next, err := c.tokens.after(ctx, token)
		if err != nil {
			response.Body.Close()
			return nil, err
		}
		if next == "" {
			return response, nil
		}
		response.Body.Close()
		token = next
	}
}

// read decodes an answer and closes its body. It returns an *Error for an error answer.
func read(response *http.Response, answer any) error {
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return errorOf(response)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return err
	}
	if len(content) > maxAnswerBytes {
		return errors.New("onair: the answer is too long")
	}
	if answer == nil || len(content) == 0 {
		return nil
	}
	return json.Unmarshal(content, answer)
}

// allPages returns the items of all pages from the one that cursor names.
func allPages[Item any](cursor string, get func(cursor string) ([]Item, Pagination, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var none Item
		for cursor := cursor; ; {
			items, pagination, err := get(cursor)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if !pagination.HasMore {
				return
			}
			if pagination.Cursor == "" || pagination.Cursor == cursor {
				yield(none, errors.New("onair: the server has more pages, but no cursor for them"))
				return
			}
			cursor = pagination.Cursor
		}
	}
}

func formatInt(number int64) string { return strconv.FormatInt(number, 10) }

func setTime(query url.Values, name string, at time.Time) {
	if !at.IsZero() {
		query.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

// transport sends requests to one server.
type transport struct {
	url string
	// client has a time limit, streaming has none.
	client     *http.Client
	streaming  *http.Client
	maxRetries int
	maxWait    time.Duration
}

func newTransport(config Config) (transport, error) {
	parsed, err := url.Parse(config.URL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return transport{}, fmt.Errorf("onair: URL must be that of the platform, like https://api.example.com, not %q", config.URL)
	}
	client := http.Client{}
	if config.HTTPClient != nil {
		client = *config.HTTPClient
	}
	// A redirect would take the token to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	streaming := client
	streaming.Timeout = 0
	client.Timeout = config.Timeout
	if client.Timeout == 0 {
		client.Timeout = 30 * time.Second
	}
	t := transport{strings.TrimRight(config.URL, "/"), &client, &streaming, config.MaxRetries, config.MaxWait}
	if t.maxRetries == 0 {
		t.maxRetries = 5
	}
	if t.maxWait == 0 {
		t.maxWait = time.Minute
	}
	return t, nil
}

func do(client *http.Client, request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", "onair-go")
	return client.Do(request)
}

// patiently repeats a request that the server refuses temporarily: after Retry-After, or after a delay
// that grows.
func (t transport) patiently(ctx context.Context, method, path string, try func() error) error {
	for tries := 0; ; tries++ {
		err := try()
		var refusal *Error
		if !errors.As(err, &refusal) || !isForNow(refusal.Status, method, path) || tries >= t.maxRetries {
			return err
		}
		wait, isLeast := refusal.RetryAfter, true
		if wait < 0 {
			wait, isLeast = time.Second<<min(tries, 30), false
		}
		if wait > t.maxWait {
			return err
		}
		if ended := sleep(ctx, withJitter(wait, isLeast, rand.Float64())); ended != nil {
			return ended
		}
	}
}

// isForNow says whether a request may be repeated. 429 means that nothing was done; after 502 to 504, the
// request may have been executed.
func isForNow(status int, method, path string) bool {
	// These POST requests have the same effect when they are executed twice.
	isRepeatable := method != http.MethodPost || path == tokenPath || path == "/public/v1/events/subscriptions"
	return status == 429 || (status >= 502 && status <= 504 && isRepeatable)
}

// withJitter spreads a wait, so that not all clients come back at once: up to 10 % more, or any part of
// it. part is from 0 to 1.
func withJitter(wait time.Duration, isLeast bool, part float64) time.Duration {
	if isLeast {
		return wait + time.Duration(part*float64(wait)/10)
	}
	return time.Duration(part * float64(wait))
}

// sleep waits, and returns the error of the context when it ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
