package remotetool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/tools"
)

func announcement(size int64) Announcement {
	return Announcement{DeliveryMode: DeliveryMode, WireProtocol: WireProtocol, TransferID: vectorID, DownloadID: vectorID, SizeBytes: size, ChunkBytes: 1024}
}

func TestEveryMismatchFailsATransfer(t *testing.T) {
	chunk := func(sequence int32, offset int64, payload string) frame {
		return frame{kind: frameChunk, id: vectorID, sequence: sequence, offset: offset, payload: []byte(payload)}
	}
	complete := func(sequence int32, offset int64, payload string) frame {
		f := chunk(sequence, offset, payload)
		f.kind = frameComplete
		return f
	}
	for _, c := range []struct {
		name   string
		frames []frame
		want   string // part of the error, "" for none
	}{
		{"two chunks", []frame{chunk(0, 0, "abc"), chunk(1, 3, "de"), complete(2, 5, "")}, ""},
		{"a first chunk that is not 0", []frame{chunk(1, 0, "abc")}, "frame 1 came where 0 was due"},
		{"a chunk twice", []frame{chunk(0, 0, "abc"), chunk(0, 0, "abc")}, "frame 0 came where 1 was due"},
		{"a gap", []frame{chunk(0, 0, "abc"), chunk(2, 3, "de")}, "frame 2 came where 1 was due"},
		{"an offset that is too small", []frame{chunk(0, 0, "abc"), chunk(1, 2, "de")}, "offset 2 came at 3"},
		{"an offset that is too large", []frame{chunk(0, 1, "abc")}, "offset 1 came at 0"},
		{"an empty chunk", []frame{chunk(0, 0, "")}, "empty"},
		{"a chunk larger than announced", []frame{chunk(0, 0, strings.Repeat("a", 1025))}, "1025 bytes"},
		{"more than the declared size", []frame{chunk(0, 0, "abc"), chunk(1, 3, "def")}, "more than the announced 5 bytes"},
		{"less than the declared size", []frame{chunk(0, 0, "abc"), complete(1, 3, "")}, "3 bytes came and 5 were announced"},
		{"a complete with another count", []frame{chunk(0, 0, "abcde"), complete(2, 5, "")}, "frame 2 came where 1 was due"},
		{"a complete with another total", []frame{chunk(0, 0, "abcde"), complete(1, 4, "")}, "offset 4 came at 5"},
		{"a complete with a payload", []frame{chunk(0, 0, "abcde"), complete(1, 5, "x")}, "has a payload"},
		{"an error", []frame{chunk(0, 0, "abc"), {kind: frameFailed, id: vectorID, payload: []byte("no \xff disk")}}, "the sender gave up: no � disk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sink bytes.Buffer
			r, err := newReceiver(announcement(5), &sink, nil)
			require.NoError(t, err)
			var last bool
			for i, f := range c.frames {
				last, err = r.accept(f)
				assert.Equal(t, i == len(c.frames)-1, last || err != nil, "frame %d", i)
			}
			if c.want == "" {
				require.NoError(t, err)
				assert.Equal(t, "abcde", sink.String())
				return
			}
			assertCode(t, CodeStream, err)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

type brokenSink struct{}

var errDisk = errors.New("disk full")

func (brokenSink) Write([]byte) (int, error) { return 0, errDisk }

func TestASinkThatFailsFailsTheTransfer(t *testing.T) {
	r, err := newReceiver(announcement(5), brokenSink{}, nil)
	require.NoError(t, err)
	_, err = r.accept(frame{kind: frameChunk, id: vectorID, payload: []byte("abc")})
	assert.ErrorIs(t, err, errDisk)
}

func TestAFileAboveTheLimitIsNotTaken(t *testing.T) {
	_, err := newReceiver(announcement(6), io.Discard, &ReceiveOptions{MaxBytes: 5})
	assertCode(t, CodeStream, err)
	_, err = newReceiver(announcement(DefaultFileBytes+1), io.Discard, nil)
	assertCode(t, CodeStream, err)
	_, err = newReceiver(announcement(5), io.Discard, &ReceiveOptions{MaxBytes: 5})
	assert.NoError(t, err)
}

func TestAnAnnouncementIsFoundInAResultAndJudged(t *testing.T) {
	const good = `{"deliveryMode":"websocket_binary","wireProtocol":"ansight.file-transfer.v1","transferId":"` + vectorID + `","sizeBytes":5,"chunkBytes":65536}`
	for _, c := range []struct {
		result string
		found  bool
		code   Code
	}{
		{good, true, ""},
		{`{"file":` + good + `,"other":1}`, true, ""},
		{`{"file":{"file":` + good + `}}`, false, ""},
		{`{}`, false, ""}, {`null`, false, ""}, {`[]`, false, ""},
		{strings.Replace(good, "websocket_binary", "mail", 1), false, CodeStream},
		{strings.Replace(good, "1234", "ABCD", 1), false, CodeStream},
		{strings.Replace(good, `":5,`, `":-5,`, 1), false, CodeStream},
		{strings.Replace(good, `":5,`, `":"5",`, 1), false, CodeStream},
		{strings.Replace(good, `65536`, `524289`, 1), false, CodeStream},
		{strings.Replace(good, `65536`, `1023`, 1), false, CodeStream},
	} {
		a, found, err := AnnouncementOf(raw("%s", c.result))
		assert.Equal(t, c.found, found, c.result)
		assert.Equal(t, c.code, CodeOf(err), c.result)
		if found {
			assert.Equal(t, int64(5), a.SizeBytes)
		}
	}
}

func TestOfSeveralAnnouncementsTheFirstByNameIsTaken(t *testing.T) {
	const one = `{"deliveryMode":"websocket_binary","wireProtocol":"ansight.file-transfer.v1","transferId":"` + vectorID + `","sizeBytes":%d}`
	for range 50 {
		a, found, err := AnnouncementOf(raw(`{"c":`+one+`,"a":`+one+`,"b":`+one+`}`, 3, 1, 2))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, int64(1), a.SizeBytes)
	}
}

// framesOf returns all frames of a sender.
func framesOf(t *testing.T, s *sender) ([]frame, error) {
	t.Helper()
	var list []frame
	for {
		b, last, err := s.next()
		f, parseErr := parseFrame(bytes.Clone(b))
		require.NoError(t, parseErr)
		list = append(list, f)
		if last || err != nil {
			return list, err
		}
	}
}

type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func TestASenderCutsAFileIntoChunks(t *testing.T) {
	for _, size := range []int{0, 1, 1023, 1024, 1025, 2048, 5000} {
		content := bytes.Repeat([]byte("x"), size)
		file := &closing{Reader: bytes.NewReader(content)}
		list, err := framesOf(t, &sender{id: vectorID, file: File{Reader: file, Size: int64(size), ChunkBytes: 1024}})
		require.NoError(t, err)
		assert.Len(t, list, (size+1023)/1024+1)
		assert.Equal(t, 1, file.closed)
		var sink bytes.Buffer
		r, err := newReceiver(announcement(int64(size)), &sink, nil)
		require.NoError(t, err)
		for _, f := range list {
			_, err := r.accept(f)
			require.NoError(t, err)
		}
		assert.Equal(t, content, append([]byte{}, sink.Bytes()...))
	}
}

func TestAFileThatIsNotAsAnnouncedEndsWithAnErrorFrame(t *testing.T) {
	for name, c := range map[string]struct {
		reader io.Reader
		want   error
	}{
		"too short":      {strings.NewReader("abc"), errFileSize},
		"too long":       {strings.NewReader("abcdef"), errFileSize},
		"cannot be read": {io.MultiReader(strings.NewReader("ab"), errReader{}), errDisk},
		"fails at once":  {errReader{}, errDisk},
		"nothing at all": {strings.NewReader(""), errFileSize},
	} {
		file := &closing{Reader: c.reader}
		list, err := framesOf(t, &sender{id: vectorID, file: File{Reader: file, Size: 5, ChunkBytes: 1024}})
		assert.ErrorIs(t, err, c.want, name)
		assert.Equal(t, byte(frameFailed), list[len(list)-1].kind, name)
		assert.NotContains(t, string(list[len(list)-1].payload), errDisk.Error(), name)
		assert.LessOrEqual(t, list[len(list)-1].offset, int64(5), "nothing beyond the size is sent: %s", name)
		assert.Equal(t, 1, file.closed, name)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errDisk }

func TestAFileThatComesAfterItsCallIsRefusedAndClosed(t *testing.T) {
	readers := map[string]*closing{}
	send := func(ctx context.Context, name string) error {
		readers[name] = &closing{Reader: strings.NewReader("")}
		_, err := StreamFile(ctx, File{Reader: readers[name], Name: name})
		return err
	}
	var late context.Context
	p := providerOf(t,
		tool("tools.t.good", "", "", func(ctx context.Context, _ json.RawMessage) (any, error) {
			late = ctx
			return nil, send(ctx, "good")
		}, tools.Metadata{}),
		tool("tools.t.bad", "", "", func(ctx context.Context, _ json.RawMessage) (any, error) {
			assertCode(t, CodeStream, send(late, "late"))
			assert.NoError(t, send(ctx, "bad"))
			return nil, errors.New("x")
		}, tools.Metadata{}))
	ctx, box := withOutbox(t.Context())
	kind, _ := p.Handle(ctx, TypeBatch, raw(`{"calls":[{"toolId":"t.good"},{"toolId":"t.bad"}]}`))
	assert.Equal(t, TypeBatchResult, kind)
	assert.Equal(t, 1, readers["bad"].closed)
	assert.Equal(t, 1, readers["late"].closed)
	files := box.take()
	require.Len(t, files, 1)
	assert.Equal(t, "good", files[0].file.Name)
	assert.Equal(t, 0, readers["good"].closed)
	p.Handle(ctx, TypeCall, raw(`{"toolId":"t.good"}`))
	assert.Equal(t, 1, readers["good"].closed, "nobody takes it any more")
}

func TestAFileThatCannotBeSentIsRefusedAndClosed(t *testing.T) {
	ctx, box := withOutbox(t.Context())
	for _, file := range []File{{Size: -1}, {ChunkBytes: 1023}, {ChunkBytes: 524289}} {
		reader := &closing{Reader: strings.NewReader("")}
		file.Reader = reader
		_, err := StreamFile(ctx, file)
		assertCode(t, CodeStream, err)
		assert.Equal(t, 1, reader.closed)
	}
	_, err := StreamFile(ctx, File{})
	assertCode(t, CodeStream, err)
	reader := &closing{Reader: strings.NewReader("")}
	_, err = StreamFile(t.Context(), File{Reader: reader})
	assertCode(t, CodeStreamUnsupported, err)
	assert.Equal(t, 1, reader.closed)
	assert.Empty(t, box.take())
}
