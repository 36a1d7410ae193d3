package connect

import "sync/atomic"

// serving counts the requests that handlers are at work on, and their frames' bytes.
// Only the reader admits, so the counts cannot pass their limits.
type serving struct{ count, bytes atomic.Int64 }

func (s *serving) admit(size int, most *Limits) bool {
	bytes := s.bytes.Load()
	if s.count.Load() >= int64(most.Handlers) || bytes > 0 && bytes+int64(size) > int64(most.HandlerBytes) {
		return false
	}
	s.count.Add(1)
	s.bytes.Add(int64(size))
	return true
}

func (s *serving) leave(size int) {
	s.count.Add(-1)
	s.bytes.Add(-int64(size))
}
