package onair

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Event is an event, by webhook or by stream. Data has its payload: a pointer to the type of its event
// type, such as *ChannelFollowed, for a type switch; a json.RawMessage for a type that the platform
// registered, and for a payload that this version cannot read.
type Event struct {
	Type    string
	Version int
	// Timestamp is the time of publication.
	Timestamp time.Time
	Data      any
	// Raw is the payload as it was sent.
	Raw      json.RawMessage
	Delivery Delivered
	// Position is that in the event stream; a later stream can start after it. "" for a webhook.
	Position string
}

// Gap is the Data of an event of the type "gap", which only the stream has: a range of time whose events
// are no longer kept.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// TypeGap is the type of a gap of the event stream.
const TypeGap = "gap"

// Delivered is the delivery by which an event was received. A notice has only the ID.
type Delivered struct {
	// ID is the id of the delivery, by webhook and by stream. Remember ids to handle each delivery once.
	ID             string
	EventID        string
	SubscriptionID string
	// Sequence is the number of the delivery within its subscription; a gap shows a missing delivery.
	Sequence int64
	// Attempt is the number of the attempt, from 1.
	Attempt int
	// IsTest says whether the event is a sample, of POST /public/v1/events/test or "onair trigger".
	IsTest bool
}

// isSample says whether a delivery is a sample, by its id, which is signed, unlike the header Onair-Test.
func isSample(id string) bool { return strings.HasPrefix(id, "test_") }

// eventOf reads an event whose sender is verified.
func eventOf(body []byte, header func(name string) string, position string) (*Event, error) {
	var envelope struct {
		Type      *string         `json:"type"`
		Version   int             `json:"version"`
		Timestamp Time            `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, err
	}
	if envelope.Type == nil {
		return nil, errors.New("the body is not an event")
	}
	id := header("Webhook-Id")
	sequence, _ := strconv.ParseInt(header("Onair-Sequence"), 10, 64)
	attempt, _ := strconv.Atoi(header("Onair-Attempt"))
	return &Event{
		Type:      *envelope.Type,
		Version:   envelope.Version,
		Timestamp: envelope.Timestamp.Time,
		Data:      decoded(*envelope.Type, envelope.Data),
		Raw:       envelope.Data,
		Delivery: Delivered{
			ID:             id,
			EventID:        header("Onair-Event-Id"),
			SubscriptionID: header("Onair-Subscription-Id"),
			Sequence:       sequence,
			Attempt:        attempt,
			IsTest:         isSample(id) || header("Onair-Test") == "true",
		},
		Position: position,
	}, nil
}

func decoded(eventType string, data json.RawMessage) any {
	payload := payloadOf(eventType)
	if payload == nil || json.Unmarshal(data, payload) != nil {
		return data
	}
	return payload
}

// Time is a time of the platform, which may have an offset, and small letters between its parts.
type Time struct{ time.Time }

// UnmarshalJSON reads a time of RFC 3339.
func (t *Time) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	parsed, err := time.Parse(time.RFC3339Nano, strings.ToUpper(value))
	t.Time = parsed
	return err
}

// Nullable is a field of a change: its zero value leaves the field as it is, Null removes its value, and
// Set sets it.
type Nullable[T any] struct {
	value *T
	isSet bool
}

// Set is a new value of a field.
func Set[T any](value T) Nullable[T] { return Nullable[T]{&value, true} }

// Null is a field without a value.
func Null[T any]() Nullable[T] { return Nullable[T]{nil, true} }

// IsZero says whether the field is left out.
func (n Nullable[T]) IsZero() bool { return !n.isSet }

// MarshalJSON writes the value, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// Ptr returns a pointer to a value, for fields that may be left out.
func Ptr[T any](value T) *T { return &value }
