package onair

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Session has tokens, which a program can save, for example as JSON, and use again later.
type Session struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at"`
	// RefreshToken is that of a user who signed in; each renewal gives a new one.
	RefreshToken string `json:"refresh_token,omitempty"`
}

// String hides the tokens, so that they are not printed by mistake.
func (s Session) String() string {
	return "onair.Session, valid until " + s.ExpiresAt.Format(time.RFC3339)
}

// GoString hides the tokens, so that they are not printed by mistake.
func (s Session) GoString() string { return s.String() }

// early is the time before its expiry at which a token is renewed; a tenth of its lifetime if that is less.
const early = time.Minute

// tokenTimeout bounds a renewal with its repetitions, for which all requests wait.
const tokenTimeout = 5 * time.Minute

// tokenSource has the access token of a client. Without a refresh it returns one that is fixed; "" for none.
type tokenSource interface {
	current(ctx context.Context) (string, error)
	// after returns the next token after the server refused this one; "" when it cannot be renewed.
	after(ctx context.Context, refused string) (string, error)
}

func newTokenSource(config Config, transport transport) (tokenSource, error) {
	switch {
	case config.Token != "":
		return fixedToken(config.Token), nil
	case config.ClientID == "" && config.ClientSecret != "":
		return nil, errors.New("onair: a client secret needs the client id")
	case config.ClientID == "":
		return fixedToken(""), nil
	case config.ClientSecret == "" && (config.Session == nil || config.Session.RefreshToken == ""):
		return nil, errors.New("onair: a client id needs a client secret, or the session of a user")
	}
	source := &renewedToken{config: config, transport: transport}
	if config.Session != nil {
		source.session = *config.Session
		source.renewAt = config.Session.ExpiresAt.Add(-early)
	}
	return source, nil
}

type fixedToken string

func (t fixedToken) current(context.Context) (string, error)       { return string(t), nil }
func (t fixedToken) after(context.Context, string) (string, error) { return "", nil }

// renewedToken fetches a token when it is first needed, and renews it before it expires.
type renewedToken struct {
	config    Config
	transport transport

	mutex   sync.Mutex
	session Session
	renewAt time.Time
	// renewal is the one in progress, which all requests share.
	renewal *renewal
	// unsaved are tokens that are not saved yet. Using the previous refresh token again would revoke them.
	unsaved *Session
}

type renewal struct {
	done  chan struct{}
	token string
	err   error
}

func (t *renewedToken) current(ctx context.Context) (string, error) {
	return t.valid(ctx, func(Session) bool { return time.Now().Before(t.renewAt) })
}

func (t *renewedToken) after(ctx context.Context, refused string) (string, error) {
	return t.valid(ctx, func(session Session) bool { return session.AccessToken != refused })
}

// valid returns the token if it is good, or the next one. A caller that stops waiting does not end the renewal.
func (t *renewedToken) valid(ctx context.Context, isGood func(Session) bool) (string, error) {
	t.mutex.Lock()
	if t.session.AccessToken != "" && isGood(t.session) {
		defer t.mutex.Unlock()
		return t.session.AccessToken, nil
	}
	shared := t.renewal
	if shared == nil {
		shared = &renewal{done: make(chan struct{})}
		t.renewal = shared
		go t.renew(context.WithoutCancel(ctx), shared)
	}
	t.mutex.Unlock()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-shared.done:
		return shared.token, shared.err
	}
}

func (t *renewedToken) renew(ctx context.Context, shared *renewal) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	session, err := t.fetch(ctx)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if err == nil {
		t.session = *session
		t.renewAt = session.ExpiresAt.Add(-min(early, time.Until(session.ExpiresAt)/10))
		shared.token = session.AccessToken
	}
	shared.err = err
	t.renewal = nil
	close(shared.done)
}

// fetch is called by one renewal at a time.
func (t *renewedToken) fetch(ctx context.Context) (*Session, error) {
	if t.unsaved == nil {
		session, err := requestToken(ctx, t.transport, t.form())
		if err != nil {
			return nil, err
		}
		t.unsaved = session
	}
	session := t.unsaved
	if t.config.SaveSession != nil {
		if err := t.config.SaveSession(ctx, *session); err != nil {
			return nil, err
		}
	}
	t.unsaved = nil
	return session, nil
}

func (t *renewedToken) form() url.Values {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	form := url.Values{"client_id": {t.config.ClientID}}
	if t.config.ClientSecret != "" {
		form.Set("client_secret", t.config.ClientSecret)
	}
	if t.session.RefreshToken != "" {
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", t.session.RefreshToken)
		return form
	}
	form.Set("grant_type", "client_credentials")
	if t.config.Scopes != nil {
		form.Set("scope", strings.Join(t.config.Scopes, " "))
	}
	return form
}

const tokenPath = "/oauth/token"

// requestToken requests tokens. It returns an *Error when the server refuses.
func requestToken(ctx context.Context, transport transport, form url.Values) (*Session, error) {
	var answer struct {
		AccessToken  string `json:"access_token"`
		ExpiresIn    int64  `json:"expires_in"`
		RefreshToken string `json:"refresh_token"`
	}
	var askedAt time.Time
	err := transport.patiently(ctx, http.MethodPost, tokenPath, func() error {
		askedAt = time.Now()
		body := strings.NewReader(form.Encode())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, transport.url+tokenPath, body)
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Accept", "application/json")
		response, err := do(transport.client, request)
		if err != nil {
			return err
		}
		return read(response, &answer)
	})
	if err != nil {
		return nil, err
	}
	expiresAt := askedAt.Add(time.Duration(answer.ExpiresIn) * time.Second)
	return &Session{answer.AccessToken, expiresAt, answer.RefreshToken}, nil
}
