package onair

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Error is an error answer of the API, after all repetitions have failed. Use errors.As to get it.
type Error struct {
	// Status is the HTTP status; 0 for an error of a sign-in that the browser brought.
	Status int
	// Code is like invalid_parameter, or invalid_client of the token endpoint; "" for none.
	Code string
	// Message is for people. Its wording may change.
	Message string
	// Fields are all wrong fields of the request.
	Fields []WrongField
	// RequestID is the id under which the server logged the request; "" for none.
	RequestID string
	// RetryAfter is the wait that the server asks for; negative for none.
	RetryAfter time.Duration
	// Location is the target of a redirect, which is not followed.
	Location string
	// Body is the body of the answer.
	Body []byte
}

// WrongField is a wrong field of a request.
type WrongField struct {
	// In is the part of the request: body, query, path or header.
	In      string `json:"in"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("onair: %s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("onair: %s (%d %s)", e.Message, e.Status, e.Code)
}

// maxErrorBytes is the longest error answer that is read.
const maxErrorBytes = 1 << 20

// errorOf reads an error answer, of the API or of a proxy in front of it.
func errorOf(response *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	var fields struct {
		Message, Code, Error string
		Description          string       `json:"error_description"`
		RequestID            string       `json:"request_id"`
		Errors               []WrongField `json:"errors"`
	}
	// A proxy may answer with something else.
	_ = json.Unmarshal(body, &fields)
	return &Error{
		Status:     response.StatusCode,
		Code:       first(fields.Error, fields.Code),
		Message:    first(fields.Message, fields.Description, fmt.Sprintf("the answer was %d", response.StatusCode)),
		Fields:     fields.Errors,
		RequestID:  first(fields.RequestID, response.Header.Get("X-Request-Id")),
		RetryAfter: retryAfter(response.Header),
		Location:   response.Header.Get("Location"),
		Body:       body,
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

var seconds = regexp.MustCompile(`^[0-9]{1,9}$`)

// retryAfter returns the wait in Retry-After, which has seconds or a date; negative for none.
func retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds.MatchString(text) {
		number, _ := strconv.Atoi(text)
		return time.Duration(number) * time.Second
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return -1
	}
	return max(0, time.Until(date))
}
