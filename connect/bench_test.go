package connect_test

import (
	"testing"

	"github.com/spoke-peer/spoke-go/connect"
)

func BenchmarkInvokePipe(b *testing.B) {
	l := connectPair(b, dialConfig(), responderConfig())
	defer l.close()
	invokeLoop(b, l.app.Session)
}

func invokeLoop(b *testing.B, s *connect.Session) {
	args := raw(`{"count":2,"sides":6}`)
	b.ReportAllocs()
	b.ResetTimer()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.InvokeTool(b.Context(), echoTool, args); err != nil {
				b.Fatal(err)
			}
		}
	})
}
