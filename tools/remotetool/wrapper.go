package remotetool

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// How large payloads are wrapped.
//
// Source: remote tool spec, section 7.
const (
	wrapperMarker   = "$ansightEncoding"
	wrapperEncoding = "gzip-base64-json"
	wrapperType     = "application/json"
	wrapThreshold   = 32768

	// DefaultInflatedBytes is how large a wrapped payload may become unless told
	// otherwise.
	DefaultInflatedBytes = 32 << 20
)

// wrap returns a large answer's payload wrapped when that makes it smaller, else the
// payload itself.
//
// Source: remote tool spec, section 7.
func wrap(payload []byte) []byte {
	if len(payload) < wrapThreshold {
		return payload
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(payload)
	if err = errors.Join(err, w.Close()); err != nil {
		return payload // a buffer takes everything
	}
	wrapped := appendWrapper(payload, zipped.Bytes())
	if len(wrapped) >= len(payload) {
		return payload
	}
	return wrapped
}

func appendWrapper(payload, zipped []byte) []byte {
	dst := make([]byte, 0, base64.StdEncoding.EncodedLen(len(zipped))+200)
	dst = appendText(append(dst, '{'), wrapperMarker, wrapperEncoding)
	dst = appendText(dst, "contentType", wrapperType)
	dst = strconv.AppendInt(appendName(dst, "originalByteCount"), int64(len(payload)), 10)
	dst = strconv.AppendInt(appendName(dst, "compressedByteCount"), int64(len(zipped)), 10)
	dst = append(appendName(dst, "data"), '"')
	dst = base64.StdEncoding.AppendEncode(dst, zipped)
	return append(dst, '"', '}')
}

// errInflated is for a wrapped payload that is larger than it may be.
var errInflated = errors.New("the wrapped payload is too large")

// unwrap returns a payload in plain form, which may be payload itself. A payload that
// was wrapped is judged like any text of a peer's, and is not unwrapped again. The error
// is an [*Error] of [CodeProtocol].
//
// Source: remote tool spec, section 7.
func unwrap(payload json.RawMessage, limit int) (json.RawMessage, error) {
	m, err := membersOf(payload)
	if err != nil || present(m[wrapperMarker]) == nil {
		return payload, nil
	}
	plain, err := inflate(m, limit)
	if err == nil {
		err = jcs.Check(plain, maxDepth)
	}
	if err == nil && wrapped(plain) {
		err = errors.New("it is wrapped twice")
	}
	if err != nil {
		return nil, errorf(CodeProtocol, "the payload cannot be unwrapped: %w", err)
	}
	return plain, nil
}

func wrapped(payload json.RawMessage) bool {
	m, err := membersOf(payload)
	return err == nil && present(m[wrapperMarker]) != nil
}

// inflate decodes the data of a wrapper. Counts that are stated have to be true, and
// none of them is believed beforehand.
func inflate(m members, limit int) ([]byte, error) {
	if encoding, _ := textOf(m[wrapperMarker]); encoding != wrapperEncoding {
		return nil, errors.New("unknown encoding")
	}
	if kind, ok := textOf(m["contentType"]); present(m["contentType"]) != nil && (!ok || kind != wrapperType) {
		return nil, errors.New("unknown content type")
	}
	data, ok := textOf(m["data"])
	if !ok {
		return nil, errors.New("no data")
	}
	zipped, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil {
		return nil, err
	}
	plain, err := gunzip(zipped, limit)
	if err != nil {
		return nil, err
	}
	return plain, errors.Join(
		checkCount(m["originalByteCount"], len(plain)), checkCount(m["compressedByteCount"], len(zipped)))
}

// gunzip inflates exactly one gzip member.
func gunzip(zipped []byte, limit int) ([]byte, error) {
	source := bytes.NewReader(zipped)
	r, err := gzip.NewReader(source)
	if err != nil {
		return nil, err
	}
	r.Multistream(false)
	limit = min(limit, math.MaxInt-1) // one more byte is asked for
	plain, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case len(plain) > limit:
		return nil, errInflated
	case source.Len() > 0:
		return nil, errors.New("bytes after the gzip data")
	}
	return plain, nil
}

func checkCount(raw json.RawMessage, n int) error {
	if present(raw) == nil {
		return nil
	}
	if stated, err := strconv.Atoi(string(raw)); err != nil || stated != n {
		return errors.New("a byte count is wrong")
	}
	return nil
}
