package connect_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestHandshakeFrameSize(t *testing.T) {
	// sized is a frame with white space in it, so that nothing else is wrong.
	sized := func(t *testing.T, m handmade, size int) []byte {
		frame := m.frame(t)
		return append(append([]byte("{"), bytes.Repeat([]byte(" "), size-len(frame))...), frame[1:]...)
	}
	const most = 256 << 10

	t.Run("a responder accepts a hello of 256 KiB and none that is larger", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			failure := requireRefused(t, responderConfig(), sized(t, appHello(t), most+1), connect.CodeMalformed)
			assert.Equal(t, connect.HandshakeFailed, failure.Kind)
			requireAccepted(t, responderConfig(), sized(t, appHello(t), most), ignoreSession)
		})
	})
	t.Run("a dialer accepts a hello of 256 KiB and none that is larger", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			frames := func(size int) func(string) [][]byte {
				return func(nonce string) [][]byte {
					return [][]byte{sized(t, hostHello(t, nonce), size), hostSession(t).frame(t)}
				}
			}
			requireDialRefuses(t, dialConfig(), connect.CodeMalformed, frames(most+1))
			requireDialAccepts(t, dialConfig(), frames(most), func(*connect.RemoteAdapter) {})
		})
	})
	t.Run("a dialer accepts a session of 256 KiB and none that is larger", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			frames := func(size int) func(string) [][]byte {
				return func(nonce string) [][]byte {
					return [][]byte{hostHello(t, nonce).frame(t), sized(t, hostSession(t), size)}
				}
			}
			requireDialRefuses(t, dialConfig(), connect.CodeMalformed, frames(most+1))
			requireDialAccepts(t, dialConfig(), frames(most), func(*connect.RemoteAdapter) {})
		})
	})
	t.Run("the limit can be set", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Limits.HandshakeFrameBytes = 8000
			requireRefused(t, cfg, sized(t, appHello(t), 8001), connect.CodeMalformed)
			requireAccepted(t, cfg, sized(t, appHello(t), 8000), ignoreSession)
		})
	})
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, _ *connect.Session) {
		args := map[string]string{"text": strings.Repeat("x", 300<<10)}
		got, err := caller.InvokeTool(t.Context(), echoTool, args)
		require.NoError(t, err)
		assert.Greater(t, len(got), 300<<10)
	})
}

func TestMalformedFrames(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat("[", levels) + strings.Repeat("]", levels)
	}
	// insert puts members before those of the frame.
	insert := func(members string) func([]byte) []byte {
		return func(frame []byte) []byte { return append([]byte("{"+members+","), frame[1:]...) }
	}
	becomes := func(text string) func([]byte) []byte {
		return func([]byte) []byte { return []byte(text) }
	}
	inBubbles(t, map[string]func([]byte) []byte{
		"no text at all is refused":               becomes(""),
		"white space only is refused":             becomes(" \n"),
		"text that is no JSON is refused":         becomes("hello"),
		"a torn object is refused":                func(frame []byte) []byte { return frame[:len(frame)-1] },
		"a list is refused":                       func(frame []byte) []byte { return append(append([]byte("["), frame...), ']') },
		"a string is refused":                     becomes(`"hello"`),
		"null is refused":                         becomes("null"),
		"a number is refused":                     becomes("1"),
		"a second document is refused":            func(frame []byte) []byte { return append(frame, frame...) },
		"trailing text is refused":                func(frame []byte) []byte { return append(frame, 'x') },
		"a trailing zero byte is refused":         func(frame []byte) []byte { return append(frame, 0) },
		"a byte order mark is refused":            func(frame []byte) []byte { return append([]byte("\xef\xbb\xbf"), frame...) },
		"a comment is refused":                    func(frame []byte) []byte { return append([]byte("/**/"), frame...) },
		"a trailing comma is refused":             func(frame []byte) []byte { return append(frame[:len(frame)-1], ",}"...) },
		"a duplicate name is refused":             insert(`"extensions":{}`),
		"a duplicate by escape is refused":        insert(`"\u0065xtensions":{}`),
		"a duplicate unknown name is refused":     insert(`"x":1,"x":1`),
		"a duplicate name deep inside is refused": insert(`"x":[{"y":1,"y":1}]`),
		"a number out of range is refused":        insert(`"x":1e400`),
		"a negative number out of range too":      insert(`"x":{"y":[-1e400]}`),
		"a lone high surrogate is refused":        insert(`"x":"\ud800"`),
		"a lone low surrogate is refused":         insert(`"x":"\udc00"`),
		"a lone surrogate in a name is refused":   insert(`"\ud800":1`),
		"invalid UTF-8 is refused":                insert("\"x\":\"\xff\""),
		"an encoded surrogate is refused":         insert("\"x\":\"\xed\xa0\x80\""),
		"a raw control character is refused":      insert("\"x\":\"\n\""),
		"256 levels below the frame are refused":  insert(`"x":` + nested(256)),
		"100000 levels are refused":               insert(`"x":` + nested(100_000)),
	}, func(t *testing.T, spoil func([]byte) []byte) {
		spoiled := func(m handmade) []byte { return spoil(m.frame(t)) }
		failure := requireRefused(t, responderConfig(), spoiled(appHello(t)), connect.CodeMalformed)
		assert.Empty(t, failure.Peer, "a frame that cannot be read claims nothing")
		assert.Equal(t, connect.HandshakeFailed, failure.Kind)
		requireDialRefuses(t, dialConfig(), connect.CodeMalformed, func(nonce string) [][]byte {
			return [][]byte{spoiled(hostHello(t, nonce)), hostSession(t).frame(t)}
		})
		requireDialRefuses(t, dialConfig(), connect.CodeMalformed, func(nonce string) [][]byte {
			return [][]byte{hostHello(t, nonce).frame(t), spoiled(hostSession(t))}
		})
	})

	t.Run("white space around a document is part of it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			frame := append(append([]byte(" \r\n\t"), appHello(t).frame(t)...), " \r\n\t"...)
			requireAccepted(t, responderConfig(), frame, ignoreSession)
		})
	})
	t.Run("255 levels below the frame are accepted", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hello := appHello(t).with("extensions", nested(255))
			requireAccepted(t, responderConfig(), hello.frame(t), ignoreSession)
		})
	})
	t.Run("a manifest may be as deep as a frame allows", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial := dialConfig()
			dial.Manifest.Extensions = spoke.Extensions{"a": raw(`{"n":%s}`, nested(252))}
			connectPair(t, dial, responderConfig()).close()
		})
	})
	t.Run("the depth can be set", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Limits.Depth = 8
			requireRefused(t, cfg, appHello(t).with("extensions", nested(8)).frame(t), connect.CodeMalformed)
			requireAccepted(t, cfg, appHello(t).with("extensions", nested(7)).frame(t), ignoreSession)
		})
	})
}
