package onair

import (
	"container/list"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrNotGenuine is returned for a delivery whose signature or time is not valid.
var ErrNotGenuine = errors.New("onair: the delivery is not genuine")

// ErrNotAnEvent is returned for a genuine delivery whose body is not an event.
var ErrNotAnEvent = errors.New("onair: the body is not an event")

// tolerance is how far the time of a delivery may differ from the clock.
const tolerance = 5 * time.Minute

// Verifier verifies deliveries (Standard Webhooks, "v1"). It is safe for concurrent use.
type Verifier struct {
	keys [][]byte
	now  func() time.Time
}

// NewVerifier returns a verifier for a webhook secret, whsec_…, or for several in a rotation.
func NewVerifier(secrets ...string) (*Verifier, error) {
	verifier := &Verifier{now: time.Now}
	for _, secret := range secrets {
		encoded, isSecret := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !isSecret || err != nil || len(key) == 0 {
			return nil, errors.New("onair: a webhook secret is whsec_… with base64")
		}
		verifier.keys = append(verifier.keys, key)
	}
	if len(verifier.keys) == 0 {
		return nil, errors.New("onair: a verifier needs a webhook secret")
	}
	return verifier, nil
}

var timestamp = regexp.MustCompile(`^[0-9]{1,12}$`)

// Verify returns the event of a genuine delivery; body has the bytes that were received. It returns
// ErrNotGenuine or ErrNotAnEvent for any other. It does not know duplicates: remember event.Delivery.ID.
func (v *Verifier) Verify(header http.Header, body []byte) (*Event, error) {
	sentAt, id := header.Get("Webhook-Timestamp"), header.Get("Webhook-Id")
	if !timestamp.MatchString(sentAt) || id == "" {
		return nil, ErrNotGenuine
	}
	seconds, _ := strconv.ParseInt(sentAt, 10, 64)
	if v.now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return nil, ErrNotGenuine
	}
	given := strings.Fields(header.Get("Webhook-Signature"))
	isGenuine := false
	for _, key := range v.keys {
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, id+"."+sentAt+".")
		mac.Write(body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, one := range given {
			isGenuine = hmac.Equal([]byte(one), []byte(expected)) || isGenuine
		}
	}
	if !isGenuine {
		return nil, ErrNotGenuine
	}
	event, err := eventOf(body, header.Get, "")
	if err != nil {
		return nil, ErrNotAnEvent
	}
	return event, nil
}

// ReceiverConfig has the secrets that verify deliveries, and the handler of their events.
type ReceiverConfig struct {
	// Secrets are the application's webhook secret, whsec_…, or several in a rotation.
	Secrets []string
	// Handle is called once for each delivery. The receiver answers the platform when Handle is done; the
	// platform waits 15 seconds. After an error, the platform sends the event again. The context is that
	// of the request, but does not end when the platform stops waiting.
	Handle func(ctx context.Context, event *Event) error
	// AcceptTests passes samples to Handle, too. By default they are refused, because every user of the
	// application can request one.
	AcceptTests bool
	// Remember is the number of delivery ids that are kept in memory, to ignore repetitions; 10,000 by default.
	Remember int
	// Logger gets the errors of Handle; slog.Default() by default.
	Logger *slog.Logger
}

// Receiver is an http.Handler for webhooks.
//
// It answers 204 when Handle has succeeded, now or before for the same delivery; 401 to an invalid
// signature or time; 403 to a sample; 500 when Handle failed, so that the platform sends the event again;
// and 400, 405 or 413 to what is not an event, not a POST, or longer than a megabyte.
type Receiver struct {
	config   ReceiverConfig
	verifier *Verifier

	mutex   sync.Mutex
	handled map[string]*handling
	order   *list.List
}

// handling is the work for one delivery, for which its repetitions wait.
type handling struct {
	done    chan struct{}
	isDone  bool
	element *list.Element
}

// NewReceiver returns a receiver. It returns an error for an invalid secret.
func NewReceiver(config ReceiverConfig) (*Receiver, error) {
	verifier, err := NewVerifier(config.Secrets...)
	if err != nil {
		return nil, err
	}
	if config.Handle == nil {
		return nil, errors.New("onair: a receiver needs Handle")
	}
	if config.Remember <= 0 {
		config.Remember = 10_000
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	return &Receiver{config: config, verifier: verifier, handled: map[string]*handling{}, order: list.New()}, nil
}

const maxBodyBytes = 1 << 20

// sampleRefused is the reason for refusing a sample. The platform recognises this answer by "test_".
const sampleRefused = "The signature is valid, but this is a sample (test_), and this receiver has not set AcceptTests"

// ServeHTTP receives a webhook.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	status, text := r.receive(w, request)
	if text == "" {
		w.WriteHeader(status)
		return
	}
	http.Error(w, text, status)
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) (int, string) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, "Webhooks are sent with POST"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBodyBytes))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return http.StatusRequestEntityTooLarge, "The body is too large"
	} else if err != nil {
		return http.StatusBadRequest, "The body broke off"
	}
	event, err := r.verifier.Verify(request.Header, body)
	switch {
	case errors.Is(err, ErrNotAnEvent):
		return http.StatusBadRequest, "The body is not an event"
	case err != nil:
		return http.StatusUnauthorized, "The signature or the time is not valid"
	case isSample(event.Delivery.ID) && !r.config.AcceptTests:
		return http.StatusForbidden, sampleRefused
	case r.once(context.WithoutCancel(request.Context()), event):
		return http.StatusNoContent, ""
	}
	return http.StatusInternalServerError, "The event could not be handled"
}

// once handles each delivery once. A repetition gets the same result, or is handled after a failure.
func (r *Receiver) once(ctx context.Context, event *Event) bool {
	id := event.Delivery.ID
	r.mutex.Lock()
	known, isKnown := r.handled[id]
	if isKnown {
		r.mutex.Unlock()
		<-known.done
		return known.isDone
	}
	mine := &handling{done: make(chan struct{}), element: r.order.PushBack(id)}
	r.handled[id] = mine
	for r.order.Len() > r.config.Remember {
		oldest := r.order.Front()
		delete(r.handled, r.order.Remove(oldest).(string))
	}
	r.mutex.Unlock()

	// Also after a panic of Handle, so that its repetitions do not wait for ever.
	defer func() {
		if !mine.isDone {
			r.mutex.Lock()
			if r.handled[id] == mine {
				delete(r.handled, id)
				r.order.Remove(mine.element)
			}
			r.mutex.Unlock()
		}
		close(mine.done)
	}()
	if err := r.config.Handle(ctx, event); err != nil {
		r.config.Logger.ErrorContext(ctx, "an event could not be handled", "delivery", id, "error", err)
		return false
	}
	mine.isDone = true
	return true
}
