package remotetool

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// DefaultFileBytes is how large a received file may be unless told otherwise.
const DefaultFileBytes = 4 << 30

// ReceiveOptions adjust the receiving of a file. The zero value is right for most.
type ReceiveOptions struct {
	// MaxBytes is how large the file may be. Zero means [DefaultFileBytes].
	MaxBytes int64
	// Progress, if not nil, is told after each frame how much was received.
	Progress func(received, size int64)
}

// AnnouncementOf finds the announcement in a tool's result: the result itself or one of
// its members, the first by name, false when there is none. The error is an [*Error] of [CodeStream] for
// one that cannot be right.
//
// Source: remote tool spec, section 9.
func AnnouncementOf(result json.RawMessage) (Announcement, bool, error) {
	m, err := membersOf(result)
	if err != nil {
		return Announcement{}, false, nil
	}
	if found := announced(m); found {
		a, err := readAnnouncement(result)
		return a, err == nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if inner, err := membersOf(value); err == nil && announced(inner) {
			a, err := readAnnouncement(value)
			return a, err == nil, err
		}
	}
	return Announcement{}, false, nil
}

func announced(m members) bool {
	protocol, _ := textOf(m["wireProtocol"])
	return protocol == WireProtocol
}

func readAnnouncement(raw json.RawMessage) (Announcement, error) {
	var a Announcement
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, errorf(CodeStream, "the announcement cannot be read: %w", err)
	}
	if a.ChunkBytes == 0 {
		a.ChunkBytes = maxChunkBytes
	}
	switch {
	case a.DeliveryMode != DeliveryMode:
		return a, errorf(CodeStream, "unknown delivery mode %q", clip(a.DeliveryMode))
	case !isTransferID(a.TransferID):
		return a, errorf(CodeStream, "the transfer id is not %d lower-case hex digits", idLength)
	case a.SizeBytes < 0:
		return a, errorf(CodeStream, "the size is negative")
	case a.ChunkBytes < minChunkBytes || a.ChunkBytes > maxChunkBytes:
		return a, errorf(CodeStream, "chunks of %d bytes", a.ChunkBytes)
	}
	return a, nil
}

// receiver follows one transfer and writes what arrives. It is used by one goroutine at
// a time.
type receiver struct {
	announcement Announcement
	sink         io.Writer
	progress     func(received, size int64)
	sequence     int32
	offset       int64
}

func newReceiver(a Announcement, sink io.Writer, options *ReceiveOptions) (*receiver, error) {
	r := &receiver{announcement: a, sink: sink}
	limit := int64(DefaultFileBytes)
	if options != nil {
		r.progress = options.Progress
		if options.MaxBytes > 0 {
			limit = options.MaxBytes
		}
	}
	if a.SizeBytes > limit {
		return nil, errorf(CodeStream, "the file has %d bytes, at most %d are taken", a.SizeBytes, limit)
	}
	return r, nil
}

// accept takes the next frame of the transfer and reports whether it was the last.
//
// Source: remote tool spec, section 9.
func (r *receiver) accept(f frame) (last bool, err error) {
	if f.kind == frameFailed {
		text := strings.ToValidUTF8(clip(string(f.payload)), "�")
		return true, &Error{Code: CodeStream, Message: "the sender gave up: " + text, remote: true}
	}
	if err := r.judge(f); err != nil {
		return true, err
	}
	if f.kind == frameComplete {
		return true, nil
	}
	if _, err := r.sink.Write(f.payload); err != nil {
		return true, errorf(CodeStream, "the file cannot be written: %w", err)
	}
	r.sequence++
	r.offset += int64(len(f.payload))
	if r.progress != nil {
		r.progress(r.offset, r.announcement.SizeBytes)
	}
	return false, nil
}

func (r *receiver) judge(f frame) error {
	size := r.announcement.SizeBytes
	var wrong string
	switch {
	case f.sequence != r.sequence:
		wrong = fmt.Sprintf("frame %d came where %d was due", f.sequence, r.sequence)
	case f.offset != r.offset:
		wrong = fmt.Sprintf("a frame of offset %d came at %d", f.offset, r.offset)
	case f.kind == frameComplete && len(f.payload) > 0:
		wrong = "the last frame has a payload"
	case f.kind == frameComplete && r.offset != size:
		wrong = fmt.Sprintf("%d bytes came and %d were announced", r.offset, size)
	case f.kind == frameChunk && len(f.payload) == 0:
		wrong = "a chunk is empty"
	case f.kind == frameChunk && len(f.payload) > r.announcement.ChunkBytes:
		wrong = fmt.Sprintf("a chunk has %d bytes", len(f.payload))
	case r.offset+int64(len(f.payload)) > size:
		wrong = fmt.Sprintf("more than the announced %d bytes came", size)
	default:
		return nil
	}
	return errorf(CodeStream, "the transfer is broken: %s", wrong)
}
