package onair

import (
	"bufio"
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
	"regexp"
	"strconv"
	"strings"
	"time"
)

// StreamOptions say where a stream starts, and what it reports. The zero value starts now.
type StreamOptions struct {
	// Position is that of an earlier event, after which the stream starts.
	Position string
	// After is the time of publishing to start at, without a Position.
	After time.Time
	// Shard is one of up to 64 parts of the stream, like "2/8". Positions are valid for their shard.
	Shard string
	// Connected is called at each connection.
	Connected func()
	// Interrupted is called when the connection breaks, with the time until the next attempt.
	Interrupted func(reason error, wait time.Duration)
}

const (
	// longestSilence is that after which a connection counts as dead: three heartbeats of the server.
	longestSilence = 45 * time.Second
	firstWait      = time.Second
	longestWait    = 30 * time.Second
	// longestAsked is the longest wait that a server can ask for. A date in its Retry-After could be
	// thousands of years ahead.
	longestAsked = time.Hour
	// longestFrame is the longest accepted frame, in bytes.
	longestFrame = 8 << 20
)

// Stream returns the events of the application, or of the user whose token the client has, as they
// happen. It reconnects after an interruption and goes on at its position. Besides events it has gaps,
// and notices about the endpoint. It ends after its one error: an *Error when the server refuses for
// good, or that of the context.
func (c *Client) Stream(ctx context.Context, options StreamOptions) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		place := options
		wait, failures := firstWait, 0
		for {
			goOn := true
			err := c.connection(ctx, &place, func(f frame) bool {
				failures = 0
				if f.retry >= 0 {
					wait = f.retry
				}
				event, err := f.event(place.Position)
				if event == nil && err == nil {
					return true
				}
				goOn = yield(event, err) && err == nil
				return goOn
			})
			if !goOn {
				return
			}
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			delay, isLeast := min(wait<<failures, longestWait), false
			var refusal *Error
			if errors.As(err, &refusal) {
				if refusal.Status != 429 && refusal.Status < 500 {
					yield(nil, err)
					return
				}
				if refusal.RetryAfter >= 0 {
					delay, isLeast = min(refusal.RetryAfter, longestAsked), true
				}
			}
			delay = withJitter(delay, isLeast, rand.Float64())
			failures = min(failures+1, 10)
			if place.Interrupted != nil {
				place.Interrupted(err, delay)
			}
			if err := sleep(ctx, delay); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// connection reads one connection from its place, until it ends or handle returns false.
func (c *Client) connection(ctx context.Context, place *StreamOptions, handle func(frame) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(longestSilence, func() {
		cancel(fmt.Errorf("onair: the server sent nothing for %v", longestSilence))
	})
	defer silence.Stop()
	response, err := c.authorized(ctx, c.transport.streaming, func() (*http.Request, error) { return c.streamRequest(ctx, place) })
	if err != nil {
		return causeOr(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return errorOf(response)
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil && place.After.IsZero() {
		// Before the first event, the time of the first connection is the place.
		place.After = date
	}
	if place.Connected != nil {
		place.Connected()
	}
	lines := bufio.NewReaderSize(response.Body, 64<<10)
	for {
		frame, err := readFrame(lines, func() { silence.Reset(longestSilence) })
		if err != nil {
			return causeOr(ctx, err)
		}
		if frame.id != "" {
			place.Position = frame.id
		}
		// The time that the program takes for an event is no silence.
		silence.Stop()
		if !handle(frame) {
			return nil
		}
		silence.Reset(longestSilence)
	}
}

func (c *Client) streamRequest(ctx context.Context, place *StreamOptions) (*http.Request, error) {
	query := url.Values{}
	if place.Shard != "" {
		query.Set("shard", place.Shard)
	}
	if place.Position == "" {
		setTime(query, "after", place.After)
	}
	address := c.transport.url + "/public/v1/events/stream?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	if place.Position != "" {
		request.Header.Set("Last-Event-ID", place.Position)
	}
	return request, nil
}

func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// frame is one of server-sent events.
type frame struct {
	kind string
	// id is "" for a frame without one.
	id string
	// data is nil for a frame without data, which is not an event, but may carry an id.
	data []byte
	// retry is the time to wait before connecting again; negative for none.
	retry time.Duration
}

var milliseconds = regexp.MustCompile(`^[0-9]{1,9}$`)

// readFrame reads a frame, in lines that end with LF or CRLF, and calls notice for each line.
func readFrame(lines *bufio.Reader, notice func()) (frame, error) {
	result := frame{retry: -1}
	var data [][]byte
	size := 0
	for {
		line, err := readLine(lines, longestFrame-size)
		if err != nil {
			return frame{}, err
		}
		notice()
		size += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if size <= 2 {
				size = 0
				continue
			}
			if data != nil {
				// Empty data is data, too: bytes.Join would return nil for it.
				result.data = append([]byte{}, bytes.Join(data, []byte("\n"))...)
			}
			return result, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			data = append(data, value)
		case "event":
			result.kind = string(value)
		case "id":
			if !bytes.Contains(value, []byte{0}) {
				result.id = string(value)
			}
		case "retry":
			if milliseconds.Match(value) {
				number, _ := strconv.Atoi(string(value))
				result.retry = time.Duration(number) * time.Millisecond
			}
		}
	}
}

// readLine reads a line of at most this many bytes.
func readLine(lines *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return nil, errors.New("onair: the stream sent a frame that is too long")
		}
		if err == nil {
			return line, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("onair: the stream ended")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// event returns the event of a frame; nil for a frame without one.
func (f frame) event(position string) (*Event, error) {
	if f.data == nil {
		return nil, nil
	}
	if f.kind == TypeGap {
		gap := new(Gap)
		if err := json.Unmarshal(f.data, gap); err != nil {
			return nil, err
		}
		return &Event{Type: TypeGap, Data: gap, Raw: f.data, Position: position}, nil
	}
	var sent struct {
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	if err := json.Unmarshal(f.data, &sent); err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range sent.Headers {
		header.Set(name, value)
	}
	return eventOf([]byte(sent.Body), header.Get, position)
}
