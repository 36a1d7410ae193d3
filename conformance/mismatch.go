package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spoke-peer/spoke-go/conformance/internal/diff"
	"github.com/spoke-peer/spoke-go/connect"
)

// mismatch is a difference between what a vector says and what happens.
type mismatch struct{ expected, got string }

func (m *mismatch) Error() string { return "expected " + m.expected + ", got " + m.got }

func failureOf(vector string, err error) Failure {
	if m, ok := errors.AsType[*mismatch](err); ok {
		return Failure{vector, m.expected, m.got}
	}
	return Failure{vector, "no error", err.Error()}
}

// within says where in a case an error came up. A mismatch stays one.
func within(err error, format string, args ...any) error {
	where := fmt.Sprintf(format, args...)
	if m, ok := errors.AsType[*mismatch](err); ok {
		return &mismatch{m.expected, m.got + " (" + where + ")"}
	}
	return fmt.Errorf("%s: %w", where, err)
}

// same compares two values of one kind.
func same[T comparable](what string, want, got T) error {
	if want == got {
		return nil
	}
	return &mismatch{fmt.Sprintf("%s %v", what, want), fmt.Sprintf("%s %v", what, got)}
}

// sameText compares two texts and shows where they part.
func sameText(what, want, got string) error {
	if want == got {
		return nil
	}
	n := diff.First(want, got)
	return &mismatch{
		fmt.Sprintf("%s %s", what, excerpt(want, n)),
		fmt.Sprintf("%s %s (first difference at byte %d)", what, excerpt(got, n), n),
	}
}

// excerpt quotes the part of a text around byte n.
func excerpt(text string, n int) string {
	const before, after, whole = 40, 80, 160
	if len(text) <= whole {
		return strconv.Quote(text)
	}
	start, end := max(0, n-before), min(len(text), n+after)
	quoted := strconv.Quote(text[min(start, end):end])
	if start > 0 {
		quoted = "…" + quoted
	}
	if end < len(text) {
		quoted += "…"
	}
	return quoted
}

// sameJSON compares the canonical forms of two values.
func sameJSON(what string, want, got any) error {
	wantText, err := canonicalOf(want)
	if err != nil {
		return err
	}
	gotText, err := canonicalOf(got)
	if err != nil {
		return err
	}
	return sameText(what, wantText, gotText)
}

func canonicalOf(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	canonical, err := connect.Canonicalize(text)
	return string(canonical), err
}

// unexpected is an error where a vector expects that there is none.
func unexpected(expected string, err error) error {
	if err == nil {
		return nil
	}
	return &mismatch{expected, err.Error()}
}

// hexBytes is bytes that a file holds in hex.
type hexBytes []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}
