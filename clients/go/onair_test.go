package onair

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server answers requests for tokens, and passes all others to handle.
func server(t *testing.T, handle http.HandlerFunc) (config Config, tokens *atomic.Int64) {
	t.Helper()
	tokens = new(atomic.Int64)
	mux := http.NewServeMux()
	mux.HandleFunc("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":3600,"token_type":"Bearer"}`, tokens.Add(1))
	})
	mux.HandleFunc("/", handle)
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	return Config{URL: listener.URL, ClientID: "id", ClientSecret: "secret"}, tokens
}

func client(t *testing.T, config Config) *Client {
	t.Helper()
	client, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestOneRenewalForAllRequests(t *testing.T) {
	var refused atomic.Int64
	config, tokens := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer token-1" {
			refused.Add(1)
			w.WriteHeader(401)
			return
		}
		io.WriteString(w, `{"user":{"id":1},"message":"OK"}`)
	})
	c := client(t, config)
	var group sync.WaitGroup
	for range 20 {
		group.Add(1)
		go func() {
			defer group.Done()
			if _, err := c.GetUser(t.Context(), "maya"); err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	if tokens.Load() != 2 || refused.Load() == 0 {
		t.Errorf("%d tokens were fetched, %d requests refused", tokens.Load(), refused.Load())
	}
}

func TestACallerThatStopsWaitingDoesNotEndTheRenewal(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 2)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			asked <- struct{}{}
			<-release
			io.WriteString(w, `{"access_token":"a","expires_in":3600}`)
			return
		}
		io.WriteString(w, `{"user":{"id":1}}`)
	}))
	defer listener.Close()
	c := client(t, Config{URL: listener.URL, ClientID: "id", ClientSecret: "secret"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.GetUser(ctx, "maya")
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(release)
	if _, err := c.GetUser(t.Context(), "maya"); err != nil || len(asked) != 0 {
		t.Error(err, len(asked))
	}
}

func TestTokensAreSavedBeforeTheyAreUsed(t *testing.T) {
	var forms []string
	var saved []Session
	config, _ := server(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{}`) })
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		forms = append(forms, r.Form.Get("grant_type")+" "+r.Form.Get("refresh_token"))
		io.WriteString(w, `{"access_token":"new","expires_in":3600,"refresh_token":"second"}`)
	}))
	defer listener.Close()
	config.URL = listener.URL
	config.Session = &Session{"old", time.Now().Add(-time.Hour), "first"}
	fail := errors.New("the disk is full")
	config.SaveSession = func(_ context.Context, session Session) error {
		saved = append(saved, session)
		if len(saved) == 1 {
			return fail
		}
		return nil
	}
	c := client(t, config)
	if _, err := c.tokens.current(t.Context()); !errors.Is(err, fail) {
		t.Error(err)
	}
	token, err := c.tokens.current(t.Context())
	if err != nil || token != "new" {
		t.Error(token, err)
	}
	// The first refresh token was used once: again it would have ended the sign-in.
	if len(forms) != 1 || forms[0] != "refresh_token first" || len(saved) != 2 || saved[1].RefreshToken != "second" {
		t.Error(forms, len(saved))
	}
	if text := fmt.Sprintf("%v %+v %#v %s", saved[0], saved[0], saved[0], saved[0]); strings.Contains(text, "second") {
		t.Error(text)
	}
}

func TestRetries(t *testing.T) {
	for _, one := range []struct {
		name, method, path string
		status             int
		retryAfter         string
		tries              int
	}{
		{"429 to a GET", "GET", "/public/v1/x", 429, "0", 3},
		{"429 to a POST", "POST", "/public/v1/x", 429, "0", 3},
		{"503 to a GET", "GET", "/public/v1/x", 503, "0", 3},
		{"503 to a POST, which may have been executed", "POST", "/public/v1/x", 503, "0", 1},
		{"503 to a POST that may be executed twice", "POST", "/public/v1/events/subscriptions", 503, "0", 3},
		{"500", "GET", "/public/v1/x", 500, "0", 1},
		{"a wait that is too long", "GET", "/public/v1/x", 503, "3600", 1},
		{"a date in the past", "GET", "/public/v1/x", 503, "Thu, 01 Jan 1970 00:00:00 GMT", 3},
	} {
		t.Run(one.name, func(t *testing.T) {
			tries := 0
			config, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
				tries++
				w.Header().Set("Retry-After", one.retryAfter)
				w.WriteHeader(one.status)
				io.WriteString(w, `{"message":"busy","code":"some_code","errors":[],"request_id":"r1"}`)
			})
			config.MaxRetries = 2
			err := client(t, config).Do(t.Context(), one.method, one.path, nil, nil, nil)
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Status != one.status || refusal.Code != "some_code" || refusal.RequestID != "r1" {
				t.Error(err)
			}
			if tries != one.tries {
				t.Errorf("%d tries", tries)
			}
		})
	}
}

func TestWaitsAreSpread(t *testing.T) {
	for _, one := range []struct {
		isLeast bool
		part    float64
		want    time.Duration
	}{
		{false, 0, 0},
		{false, 0.5, 5 * time.Second},
		{false, 1, 10 * time.Second},
		{true, 0, 10 * time.Second},
		{true, 1, 11 * time.Second},
	} {
		if wait := withJitter(10*time.Second, one.isLeast, one.part); wait != one.want {
			t.Errorf("%v: %v", one, wait)
		}
	}
}

func TestAnswersOfProxies(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"HTML":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); io.WriteString(w, "<html>") },
		"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://evil.example/", 302) },
		"a number":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400); io.WriteString(w, "7") },
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := server(t, handle)
			_, err := client(t, config).GetUser(t.Context(), "a/../b?c")
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Error(err)
			}
		})
	}
	if err := client(t, Config{URL: "http://a.example"}).Do(t.Context(), "GET", "@evil.example/", nil, nil, nil); err == nil {
		t.Error("a path without a slash was accepted")
	}
	for _, config := range []Config{{URL: "api.example.com"}, {URL: "https://a", ClientSecret: "s"}, {URL: "https://a", ClientID: "i"}} {
		if _, err := New(config); err == nil {
			t.Error(config.URL)
		}
	}
}

func TestPagesDoNotSkip(t *testing.T) {
	pages := map[string]string{
		"":  `{"categories":[{"id":1},{"id":2}],"pagination":{"cursor":"a","has_more":true}}`,
		"a": `{"categories":[],"pagination":{"cursor":"b","has_more":true}}`,
		"b": `{"categories":[{"id":3}],"pagination":{"cursor":"","has_more":false}}`,
	}
	failures := 1
	config, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("name") != "x" {
			t.Error(r.URL)
		}
		cursor := r.URL.Query().Get("cursor")
		if cursor == "b" && failures > 0 {
			failures--
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
			return
		}
		io.WriteString(w, pages[cursor])
	})
	c := client(t, config)
	ids := func() (ids []int64, last error) {
		for category, err := range c.AllCategories(t.Context(), GetCategoriesParams{Name: "x"}) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, category.ID)
		}
		return ids, nil
	}
	if found, err := ids(); err != nil || fmt.Sprint(found) != "[1 2 3]" {
		t.Error(found, err)
	}
	pages["a"] = `{"categories":[],"pagination":{"cursor":"a","has_more":true}}`
	if found, err := ids(); err == nil || fmt.Sprint(found) != "[1 2]" {
		t.Error("a list without an end has ended:", found, err)
	}
	pages["a"] = `{"categories":[`
	if found, err := ids(); err == nil {
		t.Error("a page that was cut off has ended the list:", found)
	}
}

func TestChanges(t *testing.T) {
	for want, changes := range map[string]OwnApplicationChanges{
		`{}`:                          {},
		`{"webhook_url":null}`:        {WebhookURL: Null[string]()},
		`{"webhook_url":"https://a"}`: {WebhookURL: Set("https://a")},
		`{"redirect_uris":[]}`:        {RedirectURIs: []string{}},
		`{"filters":{"a":{"b":"c"}}}`: {Filters: Set(map[string]any{"a": map[string]string{"b": "c"}})},
	} {
		if text, err := json.Marshal(changes); err != nil || string(text) != want {
			t.Error(string(text), err)
		}
	}
}

func TestSignIn(t *testing.T) {
	var form url.Values
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		form = r.Form
		io.WriteString(w, `{"access_token":"a","expires_in":7200,"refresh_token":"r"}`)
	}))
	defer listener.Close()
	signIn := NewSignIn(Config{URL: listener.URL + "/", ClientID: "id"}, "https://app.example/callback")
	back := func(changes ...string) url.Values {
		query := url.Values{"state": {signIn.State}, "iss": {listener.URL}, "code": {"c"}}
		for i := 0; i < len(changes); i += 2 {
			query.Set(changes[i], changes[i+1])
		}
		return query
	}
	denied := back("error", "access_denied")
	denied.Del("code")
	for code, query := range map[string]url.Values{
		"invalid_state":  back("state", "other"),
		"invalid_issuer": back("iss", "https://evil.example"),
		"access_denied":  denied,
	} {
		var refusal *Error
		if _, err := signIn.Finish(t.Context(), query); !errors.As(err, &refusal) || refusal.Code != code {
			t.Error(code, err)
		}
	}
	if form != nil {
		t.Error("a wrong answer was used:", form)
	}
	session, err := signIn.Finish(t.Context(), back())
	if err != nil || session.RefreshToken != "r" || form.Get("code_verifier") != signIn.Verifier || form.Has("client_secret") {
		t.Error(session, err, form)
	}
}

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
const oldSecret = "whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4"

func signed(id string, at time.Time, body string, secrets ...string) http.Header {
	sentAt := fmt.Sprint(at.Unix())
	var signatures []string
	for _, secret := range secrets {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, id+"."+sentAt+"."+body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	header := http.Header{}
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", sentAt)
	header.Set("Webhook-Signature", strings.Join(append([]string{"v1a,c2ln"}, signatures...), " "))
	header.Set("Onair-Sequence", "7")
	return header
}

const followed = `{"type":"channel.followed","version":1,"timestamp":"2026-01-14T16:08:06.123Z","data":{"follower":{"username":"fox"}}}`

func TestVerifier(t *testing.T) {
	now := time.Unix(1_768_406_886, 0)
	verify := func(header http.Header, body string, secrets ...string) (*Event, error) {
		verifier, err := NewVerifier(secrets...)
		if err != nil {
			t.Fatal(err)
		}
		verifier.now = func() time.Time { return now }
		return verifier.Verify(header, []byte(body))
	}
	good := func() http.Header { return signed("id", now, followed, secret) }
	event, err := verify(good(), followed, secret)
	if err != nil || event.Data.(*ChannelFollowed).Follower.Username != "fox" || event.Delivery.Sequence != 7 {
		t.Fatal(event, err)
	}
	if event.Timestamp.Format(time.RFC3339Nano) != "2026-01-14T16:08:06.123Z" {
		t.Error(event.Timestamp)
	}
	// In a rotation the platform signs with both secrets, and a receiver may know both.
	for _, known := range [][]string{{secret}, {oldSecret}, {oldSecret, secret}} {
		if _, err := verify(signed("id", now, followed, secret, oldSecret), followed, known...); err != nil {
			t.Error(known, err)
		}
	}
	if _, err := verify(good(), followed, oldSecret, secret); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(http.Header){
		"no id":              func(h http.Header) { h.Del("Webhook-Id") },
		"another id":         func(h http.Header) { h.Set("Webhook-Id", "other") },
		"no time":            func(h http.Header) { h.Del("Webhook-Timestamp") },
		"a word as the time": func(h http.Header) { h.Set("Webhook-Timestamp", "soon") },
		"a long time":        func(h http.Header) { h.Set("Webhook-Timestamp", strings.Repeat("9", 5000)) },
		"a signed time":      func(h http.Header) { h.Set("Webhook-Timestamp", "+1768406886") },
		"an exponent":        func(h http.Header) { h.Set("Webhook-Timestamp", "1e9") },
		"no signature":       func(h http.Header) { h.Del("Webhook-Signature") },
		"only v1a":           func(h http.Header) { h.Set("Webhook-Signature", "v1a,c2ln") },
		"not ASCII":          func(h http.Header) { h.Set("Webhook-Signature", "v1,\u00e9 v1") },
	} {
		header := good()
		change(header)
		if _, err := verify(header, followed, secret); !errors.Is(err, ErrNotGenuine) {
			t.Error(name, err)
		}
	}
	for _, at := range []time.Time{now.Add(-6 * time.Minute), now.Add(6 * time.Minute)} {
		if _, err := verify(signed("id", at, followed, secret), followed, secret); !errors.Is(err, ErrNotGenuine) {
			t.Error(at, err)
		}
	}
	if _, err := verify(good(), followed+" ", secret); !errors.Is(err, ErrNotGenuine) {
		t.Error("another body", err)
	}
	for _, body := range []string{"null", "{}", "[]", "7", "", `{"type":7}`, "\xff"} {
		if _, err := verify(signed("id", now, body, secret), body, secret); !errors.Is(err, ErrNotAnEvent) {
			t.Error(body, err)
		}
	}
	for _, wrong := range []string{"", "secret", "whsec_", "whsec_%%%"} {
		if _, err := NewVerifier(wrong); err == nil || strings.Contains(err.Error(), "%%%") {
			t.Error(wrong, err)
		}
	}
}

func TestReceiver(t *testing.T) {
	var mutex sync.Mutex
	counts := map[string]int{}
	receiver, err := NewReceiver(ReceiverConfig{Secrets: []string{secret}, Remember: 3, Handle: func(_ context.Context, event *Event) error {
		time.Sleep(20 * time.Millisecond)
		mutex.Lock()
		defer mutex.Unlock()
		id := event.Delivery.ID
		counts[id]++
		switch {
		case id == "fails" && counts[id] == 1:
			return errors.New("no")
		case id == "panics" && counts[id] == 1:
			panic("no")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method string, header http.Header, body string) (status int) {
		request := httptest.NewRequest(method, "/webhook", strings.NewReader(body))
		request.Header = header
		recorder := httptest.NewRecorder()
		defer func() {
			if recover() != nil {
				status = 599
			}
		}()
		receiver.ServeHTTP(recorder, request)
		return recorder.Code
	}
	genuine := func(id string) int { return send("POST", signed(id, time.Now(), followed, secret), followed) }
	var group sync.WaitGroup
	for range 5 {
		group.Add(1)
		go func() {
			defer group.Done()
			if status := genuine("twice"); status != 204 {
				t.Error(status)
			}
		}()
	}
	group.Wait()
	if counts["twice"] != 1 {
		t.Errorf("it was handled %d times", counts["twice"])
	}
	for _, one := range [][3]any{{"fails", 500, 204}, {"panics", 599, 204}, {"test_1", 403, 403}} {
		if first, second := genuine(one[0].(string)), genuine(one[0].(string)); first != one[1] || second != one[2] {
			t.Error(one, first, second)
		}
	}
	if counts["test_1"] != 0 || len(receiver.handled) > 3 || receiver.order.Len() != len(receiver.handled) {
		t.Error(counts, len(receiver.handled), receiver.order.Len())
	}
	if status := send("GET", http.Header{}, ""); status != 405 {
		t.Error(status)
	}
	if status := send("POST", http.Header{}, strings.Repeat("x", 2<<20)); status != 413 {
		t.Error(status)
	}
	if status := send("POST", signed("a", time.Now(), "null", secret), "null"); status != 400 {
		t.Error(status)
	}
}

func TestFrames(t *testing.T) {
	for text, want := range map[string]string{
		"data: a\n\n":                               "[|a|-1ns]",
		"data: a\r\n\r\ndata: b\n\n":                "[|a|-1ns |b|-1ns]",
		"data: a\ndata: b\n\n":                      "[|a\nb|-1ns]",
		"event: x\nid: 7\ndata:  a\nretry: 250\n\n": "[x7| a|250ms]",
		": hello\n\n\n\ndata\n\n":                   "[|nil|-1ns ||-1ns]",
		"id: a\x00b\ndata: a\nretry: soon\n\n":      "[|a|-1ns]",
		"data: a\n\ndata: b\n":                      "[|a|-1ns]",
	} {
		lines := bufio.NewReaderSize(strings.NewReader(text), 16)
		found := []string{}
		for {
			f, err := readFrame(lines, func() {})
			if err != nil {
				break
			}
			data := string(f.data)
			if f.data == nil {
				data = "nil"
			}
			found = append(found, fmt.Sprintf("%s%s|%s|%v", f.kind, f.id, data, f.retry))
		}
		if fmt.Sprint(found) != want {
			t.Errorf("%q: %v", text, found)
		}
	}
	endless := io.MultiReader(bytes.NewReader([]byte("data: ")), bytes.NewReader(make([]byte, longestFrame+1)))
	if _, err := readFrame(bufio.NewReader(endless), func() {}); err == nil {
		t.Error("an endless frame was read")
	}
}

func TestStream(t *testing.T) {
	frame := func(id, kind, name string) string {
		body, _ := json.Marshal(strings.ReplaceAll(followed, "fox", name))
		return fmt.Sprintf("id: %s\nevent: %s\ndata: {\"headers\":{\"webhook-id\":\"d-%s\"},\"body\":%s}\n\n", id, kind, id, body)
	}
	type connection struct {
		status int
		header string
		body   string
	}
	connections := []connection{
		{200, "", "retry: 1\n\n"},
		{503, "0", ""},
		{200, "", frame("1", "channel.followed", "one") + frame("2", "channel.followed", "two") + "id: 3\nevent: chan"},
		{429, "0", ""},
		{200, "", "id: 4\nevent: gap\ndata: {\"from\":\"2026-01-01T00:00:00.000Z\",\"to\":\"2026-01-02T00:00:00.000Z\"}\n\n"},
		{403, "", `{"message":"no","code":"stream_disabled"}`},
	}
	var asked []string
	config, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		next := connections[min(len(asked), len(connections)-1)]
		asked = append(asked, r.Header.Get("Last-Event-ID")+" "+fmt.Sprint(r.URL.Query().Has("after"))+" "+r.URL.Query().Get("shard"))
		w.Header().Set("Date", "Wed, 14 Jan 2026 16:08:06 GMT")
		if next.status == 200 {
			w.Header().Set("Content-Type", "text/event-stream")
		} else if next.header != "" {
			w.Header().Set("Retry-After", next.header)
		}
		w.WriteHeader(next.status)
		io.WriteString(w, next.body)
	})
	var found []string
	var last error
	interruptions := 0
	options := StreamOptions{Shard: "1/2", Interrupted: func(error, time.Duration) { interruptions++ }}
	for event, err := range client(t, config).Stream(t.Context(), options) {
		if err != nil {
			last = err
			break
		}
		switch data := event.Data.(type) {
		case *ChannelFollowed:
			found = append(found, event.Position+data.Follower.Username+event.Delivery.ID)
		case *Gap:
			found = append(found, event.Position+data.To.Format(time.DateOnly))
		}
	}
	if fmt.Sprint(found) != "[1oned-1 2twod-2 42026-01-02]" {
		t.Error(found)
	}
	want := []string{" false 1/2", " true 1/2", " true 1/2", "2 false 1/2", "2 false 1/2", "4 false 1/2"}
	if fmt.Sprint(asked) != fmt.Sprint(want) || interruptions != 5 {
		t.Errorf("%q %d", asked, interruptions)
	}
	var refusal *Error
	if !errors.As(last, &refusal) || refusal.Code != "stream_disabled" {
		t.Error(last)
	}
}

func TestAServerCannotAskForAWaitWithoutEnd(t *testing.T) {
	config, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
		w.WriteHeader(503)
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waits []time.Duration
	options := StreamOptions{Interrupted: func(_ error, wait time.Duration) {
		waits = append(waits, wait)
		cancel()
	}}
	for range client(t, config).Stream(ctx, options) {
	}
	if len(waits) != 1 || waits[0] < time.Hour || waits[0] > 70*time.Minute {
		t.Error(waits)
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	config, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	var errs []error
	for _, err := range client(t, config).Stream(ctx, StreamOptions{Connected: cancel}) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Error(errs)
	}
}

func TestUnknownPayloadsAreKept(t *testing.T) {
	header := func(string) string { return "" }
	for body, isRaw := range map[string]bool{
		`{"type":"raffle.won","data":{"a":1}}`:                                                   true,
		`{"type":"channel.followed","data":7}`:                                                   true,
		`{"type":"channel.followed","data":{"new":1}}`:                                           false,
		`{"type":"livestream.status.updated","data":{"started_at":"2026-01-14t16:08:06+09:00"}}`: false,
	} {
		event, err := eventOf([]byte(body), header, "")
		if err != nil {
			t.Fatal(body, err)
		}
		if _, raw := event.Data.(json.RawMessage); raw != isRaw || len(event.Raw) == 0 {
			t.Error(body, event.Data)
		}
	}
}
