package remotetool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/tools"
)

// sending returns a tool that sends what it is given.
func sending(id string, open func(args json.RawMessage) File) *tools.Tool {
	return tool(id, "", "", func(ctx context.Context, args json.RawMessage) (any, error) {
		return StreamFile(ctx, open(args))
	}, tools.Metadata{})
}

func TestAFileIsDownloadedWithProgress(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	sent := make(chan int64, 3)
	var received []int64
	client, _, _ := linked(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: bytes.NewReader(content), Size: int64(len(content)), Name: "n.txt", MimeType: "text/plain", ChunkBytes: 4096,
			Progress: func(n, _ int64) { sent <- n }}
	})), LinkConfig{}, ClientConfig{})
	var sink bytes.Buffer
	result, a, err := client.Download(t.Context(), Call{ID: "t.file"}, &sink, &ReceiveOptions{
		Progress: func(n, size int64) { assert.Equal(t, int64(10000), size); received = append(received, n) }})
	require.NoError(t, err)
	assert.Equal(t, content, sink.Bytes())
	assert.Equal(t, "n.txt", a.FileName)
	assert.Equal(t, a.TransferID, a.DownloadID)
	assert.Equal(t, []int64{4096, 8192, 10000}, received)
	assert.Contains(t, string(result.Result), `"deliveryMode":"websocket_binary"`)
	assert.Equal(t, []int64{4096, 8192, 10000}, []int64{<-sent, <-sent, <-sent})
}

func TestDownloadsInterleave(t *testing.T) {
	var wait sync.WaitGroup
	wait.Add(4)
	client, _, _ := linked(t, providerOf(t, sending("tools.t.file", func(args json.RawMessage) File {
		var in struct{ Fill string }
		_ = json.Unmarshal(args, &in)
		content := strings.Repeat(in.Fill, 100_000)
		return File{Reader: &meeting{Reader: strings.NewReader(content), all: &wait}, Size: 100_000, ChunkBytes: 1024}
	})), LinkConfig{}, ClientConfig{})
	var wg sync.WaitGroup
	for _, fill := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			var sink bytes.Buffer
			_, _, err := client.Download(t.Context(), Call{ID: "t.file", Arguments: map[string]string{"fill": fill}}, &sink, nil)
			assert.NoError(t, err)
			assert.Equal(t, strings.Repeat(fill, 100_000), sink.String())
		})
	}
	wg.Wait()
}

// meeting gives nothing beyond its first read until all have been read from.
type meeting struct {
	io.Reader
	all   *sync.WaitGroup
	reads int
}

func (m *meeting) Read(b []byte) (int, error) {
	m.reads++
	switch m.reads {
	case 1:
		m.all.Done()
	case 2:
		m.all.Wait()
	}
	return m.Reader.Read(b)
}

func TestAMismatchFailsItsTransferOnly(t *testing.T) {
	client, link, peer := script(t, LinkConfig{}, ClientConfig{})
	other := strings.Repeat("0", 32)
	go func() {
		for _, id := range []string{vectorID, other} {
			e := peer.next()
			peer.answer(e, TypeResult, string(raw(echoPayload, `{"deliveryMode":"websocket_binary","wireProtocol":"ansight.file-transfer.v1","transferId":"`+id+`","sizeBytes":5}`)))
		}
		send := func(f frame) { assert.NoError(t, peer.transport.Send(context.Background(), appendFrame(nil, f))) }
		send(frame{kind: frameChunk, id: other, payload: []byte("ab")})
		send(frame{kind: 9, id: vectorID, payload: []byte("ab")})
		send(frame{kind: frameChunk, id: strings.Repeat("f", 32), payload: []byte("nobody's")})
		send(frame{kind: frameChunk, id: other, sequence: 1, offset: 2, payload: []byte("cde")})
		send(frame{kind: frameComplete, id: other, sequence: 2, offset: 5})
	}()
	var sink bytes.Buffer
	first := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		_, _, err := client.Download(context.Background(), Call{ID: "a"}, io.Discard, nil)
		first <- err
	}()
	<-started
	_, _, err := client.Download(t.Context(), Call{ID: "b"}, &sink, nil)
	errs := []error{err, <-first}
	if errs[0] != nil {
		errs[0], errs[1] = errs[1], errs[0]
	}
	assert.NoError(t, errs[0])
	assertCode(t, CodeStream, errs[1])
	_ = link
}

func TestADownloadThatIsNoneSaysSo(t *testing.T) {
	client, _, _ := linked(t, providerOf(t, jsonEcho(), sending("tools.t.big", func(json.RawMessage) File {
		return File{Reader: strings.NewReader("abc"), Size: 3}
	})), LinkConfig{}, ClientConfig{})
	_, _, err := client.Download(t.Context(), Call{ID: "json.echo"}, io.Discard, nil)
	assertCode(t, CodeStream, err)
	_, _, err = client.Download(t.Context(), Call{ID: "t.big"}, io.Discard, &ReceiveOptions{MaxBytes: 2})
	assertCode(t, CodeStream, err)
	_, _, err = client.Download(t.Context(), Call{ID: "json.nope"}, io.Discard, nil)
	assertCode(t, CodeNotFound, err)
}

func TestAFileOfACallThatFailedIsNotSent(t *testing.T) {
	file := &closing{Reader: strings.NewReader("abc")}
	p := providerOf(t, tool("tools.t.half", "", "", func(ctx context.Context, _ json.RawMessage) (any, error) {
		if _, err := StreamFile(ctx, File{Reader: file, Size: 3}); err != nil {
			return nil, err
		}
		return nil, errors.New("after all")
	}, tools.Metadata{}))
	client, _, _ := linked(t, p, LinkConfig{}, ClientConfig{})
	_, err := client.Call(t.Context(), Call{ID: "t.half"})
	assertCode(t, CodeExecutionFailed, err)
	assert.Equal(t, 1, file.closed)
}

func TestASinkThatStandsStillFailsItsTransferAndNotTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, _ := linked(t, providerOf(t, jsonEcho(), sending("tools.t.file", func(json.RawMessage) File {
			return File{Reader: io.LimitReader(zeros{}, 1<<20), Size: 1 << 20, ChunkBytes: 1024}
		})), LinkConfig{}, ClientConfig{})
		release := make(chan struct{})
		failed := make(chan error)
		go func() {
			_, _, err := client.Download(t.Context(), Call{ID: "t.file"}, writerFunc(func(b []byte) (int, error) { <-release; return len(b), nil }), nil)
			failed <- err
		}()
		<-time.After(stall + time.Second)
		_, err := client.Call(t.Context(), Call{ID: "json.echo"})
		require.NoError(t, err)
		close(release)
		assertCode(t, CodeStream, <-failed)
	})
}

func TestADownloadEndsWithItsContextAndItsLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, peer := linked(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
			return File{Reader: io.LimitReader(zeros{}, 1<<30), Size: 1 << 30}
		})), LinkConfig{}, ClientConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := client.Download(ctx, Call{ID: "t.file"}, io.Discard, &ReceiveOptions{Progress: func(n, _ int64) {
			if n > 1<<20 {
				cancel()
			}
		}})
		assertCode(t, CodeCanceled, err)
		_, _, err = client.Download(t.Context(), Call{ID: "t.file"}, io.Discard, &ReceiveOptions{Progress: func(n, _ int64) {
			if n > 1<<20 {
				peer.Close()
			}
		}})
		assertCode(t, CodeClosed, err)
	})
}

func TestAFileThatCameBeforeTheEndOfTheLinkIsWritten(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			client, _, peer := script(t, LinkConfig{}, ClientConfig{})
			go func() {
				peer.answer(peer.next(), TypeResult, string(raw(echoPayload, streamed(10))))
				for i := range 10 {
					peer.frame(frame{kind: frameChunk, id: vectorID, sequence: int32(i), offset: int64(i), payload: []byte("x")})
				}
				peer.frame(frame{kind: frameComplete, id: vectorID, sequence: 10, offset: 10})
				peer.transport.Close()
			}()
			var sink bytes.Buffer
			slow := writerFunc(func(b []byte) (int, error) { <-time.After(time.Second); return sink.Write(b) })
			_, _, err := client.Download(t.Context(), Call{ID: "a"}, slow, nil)
			require.NoError(t, err)
			assert.Equal(t, strings.Repeat("x", 10), sink.String())
		})
	}
}

func TestAFileOfWhichALinkBroughtAPartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, peer := script(t, LinkConfig{}, ClientConfig{})
		go func() {
			peer.answer(peer.next(), TypeResult, string(raw(echoPayload, streamed(10))))
			peer.frame(frame{kind: frameChunk, id: vectorID, payload: []byte("x")})
			peer.transport.Close()
		}()
		_, _, err := client.Download(t.Context(), Call{ID: "a"}, io.Discard, nil)
		assertCode(t, CodeClosed, err)
	})
}

// sick is a file that panics where it is told to, and counts its closings.
type sick struct {
	io.Reader
	inRead, inClose bool
	closed          *atomic.Int32
}

func (s sick) Read(b []byte) (int, error) {
	if s.inRead {
		panic("secret read")
	}
	return s.Reader.Read(b)
}

func (s sick) Close() error {
	s.closed.Add(1)
	if s.inClose {
		panic("secret close")
	}
	return nil
}

// sickFiles are files that panic, by where they do.
func sickFiles(closed *atomic.Int32) map[string]File {
	file := func(s sick) File {
		s.Reader, s.closed = strings.NewReader("abc"), closed
		return File{Reader: s, Size: 3}
	}
	progress := file(sick{})
	progress.Progress = func(int64, int64) { panic("secret progress") }
	return map[string]File{
		"read": file(sick{inRead: true}), "close": file(sick{inClose: true}),
		"read and close": file(sick{inRead: true, inClose: true}), "progress": progress,
	}
}

func TestAFileThatPanicsFailsItsTransferOnly(t *testing.T) {
	var closed atomic.Int32
	for name, file := range sickFiles(&closed) {
		t.Run(name, func(t *testing.T) {
			closed.Store(0)
			var log strings.Builder
			a, b := connect.Pipe()
			app := opened(t, OverTransport(a), LinkConfig{
				Provider: providerOf(t, jsonEcho(), sending("tools.t.file", func(json.RawMessage) File { return file })),
				Logger:   slog.New(slog.NewTextHandler(&log, nil)),
			})
			host := opened(t, OverTransport(b), LinkConfig{})
			client := NewClient(host, ClientConfig{})
			_, _, err := client.Download(t.Context(), Call{ID: "t.file"}, io.Discard, nil)
			assertCode(t, CodeStream, err)
			assert.ErrorContains(t, err, "the file cannot be sent")
			_, err = client.Call(t.Context(), Call{ID: "json.echo"})
			require.NoError(t, err)
			app.Close()
			host.Close()
			app.Wait()
			host.Wait()
			assert.Equal(t, int32(1), closed.Load())
			assert.Contains(t, log.String(), "panic=\"secret ")
			assert.Contains(t, log.String(), "stack=")
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestAGigabyteIsStreamedInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it moves a gigabyte")
	}
	const size = 1 << 30
	client, _, _ := linked(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: io.LimitReader(zeros{}, size), Size: size, ChunkBytes: maxChunkBytes}
	})), LinkConfig{}, ClientConfig{Timeout: -1})
	var most uint64
	var count int64
	_, _, err := client.Download(t.Context(), Call{ID: "t.file"}, writerFunc(func(b []byte) (int, error) {
		count += int64(len(b))
		if count%(64<<20) == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
		return len(b), nil
	}), nil)
	require.NoError(t, err)
	assert.Equal(t, int64(size), count)
	assert.NotZero(t, most)
	assert.Less(t, most, uint64(200<<20))
}
