package remotetool

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/google/uuid"
)

// How an announcement says that a file comes as binary frames.
//
// Source: remote tool spec, section 9.
const (
	DeliveryMode = "websocket_binary"
	WireProtocol = "ansight.file-transfer.v1"
)

// Announcement is the result of a tool that sends a file: it goes first, the file's
// frames follow. Get one from [StreamFile] and return it, alone or as a member of the
// result.
//
// Source: remote tool spec, section 9.
type Announcement struct {
	DeliveryMode string `json:"deliveryMode"`
	WireProtocol string `json:"wireProtocol"`
	TransferID   string `json:"transferId"`
	DownloadID   string `json:"downloadId"`
	FileName     string `json:"fileName,omitempty"`
	MimeType     string `json:"mimeType,omitempty"`
	SizeBytes    int64  `json:"sizeBytes"`
	ChunkBytes   int    `json:"chunkBytes"`
}

// File is what a tool sends.
type File struct {
	// Reader is read while the file is sent and closed afterwards if it is an
	// io.Closer, also when it is never sent.
	Reader io.Reader
	// Size is how many bytes Reader has. More or fewer fail the transfer.
	Size int64
	// Name and MimeType are for the receiver. They may be left out.
	Name, MimeType string
	// ChunkBytes is how much one frame carries, 1024 to 524288. Zero means
	// [DefaultChunkBytes].
	ChunkBytes int
	// Progress, if not nil, is told after each frame how much was sent.
	Progress func(sent, size int64)
}

func (f *File) close() {
	if c, ok := f.Reader.(io.Closer); ok {
		_ = c.Close() // it was read; what was sent stands
	}
}

// errNoReceiver reaches the caller of a tool that lets it through.
var errNoReceiver = errorf(CodeStreamUnsupported, "nobody here can receive a file")

// StreamFile has a file sent once the answer to the call that ctx is of was sent, and
// returns what the answer has to say. It works inside a tool that was called over a
// carrier of this package; elsewhere it fails with [CodeStreamUnsupported], and once the
// tool has returned with [CodeStream]. When the call fails, the file is not sent.
//
// Source: remote tool spec, section 9.
func StreamFile(ctx context.Context, file File) (Announcement, error) {
	if file.ChunkBytes == 0 {
		file.ChunkBytes = DefaultChunkBytes
	}
	box := outgoingOf(ctx)
	var err error
	switch {
	case box == nil:
		err = errNoReceiver
	case file.Reader == nil || file.Size < 0 || file.ChunkBytes < minChunkBytes || file.ChunkBytes > maxChunkBytes:
		err = errorf(CodeStream, "a file needs a reader, a size and chunks of %d to %d bytes", minChunkBytes, maxChunkBytes)
	}
	if err != nil {
		file.close()
		return Announcement{}, err
	}
	id := newTransferID()
	if !box.add(&sender{id: id, file: file}) {
		file.close()
		return Announcement{}, errorf(CodeStream, "the call was answered already")
	}
	return Announcement{
		DeliveryMode: DeliveryMode, WireProtocol: WireProtocol, TransferID: id, DownloadID: id,
		FileName: file.Name, MimeType: file.MimeType, SizeBytes: file.Size, ChunkBytes: file.ChunkBytes,
	}, nil
}

func newTransferID() string {
	id := uuid.New()
	return hex.EncodeToString(id[:])
}

// outbox holds the files of a request, or of one call of it, until it is answered.
type outbox struct {
	mu     sync.Mutex
	files  []*sender
	closed bool
}

type outboxKey struct{}

// withOutbox returns a context in which tools can send files.
func withOutbox(ctx context.Context) (context.Context, *outbox) {
	box := new(outbox)
	return context.WithValue(ctx, outboxKey{}, box), box
}

// outgoingOf returns the outbox of ctx, nil when files cannot be sent.
func outgoingOf(ctx context.Context) *outbox {
	box, _ := ctx.Value(outboxKey{}).(*outbox)
	return box
}

// add puts files in, false when the box is closed.
func (b *outbox) add(list ...*sender) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.files = append(b.files, list...)
	}
	return !b.closed
}

// take empties the box and closes it.
func (b *outbox) take() []*sender {
	b.mu.Lock()
	defer b.mu.Unlock()
	files := b.files
	b.files, b.closed = nil, true
	return files
}

// withCallBox returns a context with an outbox of one call's own, and what ends it: the
// files go on to the outbox of ctx when the call succeeded. Without the latter there is
// none.
func withCallBox(ctx context.Context) (context.Context, func(succeeded bool)) {
	outer := outgoingOf(ctx)
	if outer == nil {
		return ctx, func(bool) {}
	}
	inner, box := withOutbox(ctx)
	return inner, func(succeeded bool) {
		files := box.take()
		if succeeded && outer.add(files...) {
			return
		}
		for _, s := range files {
			s.close()
		}
	}
}

// sender makes the frames of one file, one after the other. It is used by one goroutine
// at a time.
type sender struct {
	id       string
	file     File
	sequence int32
	offset   int64
	done     bool
	buf      []byte
	frame    []byte
}

var errFileSize = errors.New("the file does not have the size that was announced")

// next returns the next frame, valid until the next call, and whether it is the last
// one. An error comes with the frame that tells the receiver.
func (s *sender) next() (frameBytes []byte, last bool, err error) {
	if s.done {
		return nil, true, io.EOF
	}
	if s.buf == nil {
		s.buf = make([]byte, s.file.ChunkBytes)
	}
	n, err := io.ReadFull(s.file.Reader, s.buf)
	switch {
	case n == 0 && errors.Is(err, io.EOF) && s.offset == s.file.Size:
		return s.finish(frame{kind: frameComplete, id: s.id, sequence: s.sequence, offset: s.offset}), true, nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return s.fail("the file cannot be read"), true, fmt.Errorf("read the file: %w", err)
	case n == 0 || s.offset+int64(n) > s.file.Size || s.sequence == math.MaxInt32:
		return s.fail(errFileSize.Error()), true, errFileSize
	}
	s.frame = appendFrame(s.frame[:0], frame{kind: frameChunk, id: s.id, sequence: s.sequence, offset: s.offset, payload: s.buf[:n]})
	s.sequence++
	s.offset += int64(n)
	return s.frame, false, nil
}

func (s *sender) fail(text string) []byte {
	return s.finish(frame{kind: frameFailed, id: s.id, sequence: s.sequence, offset: s.offset, payload: []byte(text)})
}

func (s *sender) finish(f frame) []byte {
	s.close()
	return appendFrame(nil, f)
}

// close gives the file up.
func (s *sender) close() {
	if !s.done {
		s.done = true
		s.file.close()
	}
}

// send writes all frames of the file.
func (s *sender) send(ctx context.Context, write func(ctx context.Context, frame []byte) error) error {
	defer s.close()
	for {
		b, last, err := s.next()
		if b != nil {
			if werr := write(ctx, b); werr != nil {
				return werr
			}
			if s.file.Progress != nil {
				s.file.Progress(s.offset, s.file.Size)
			}
		}
		if last || err != nil {
			return err
		}
	}
}
