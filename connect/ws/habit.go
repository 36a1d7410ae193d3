package ws

// habit is whether an outbox lets messages wait for each other, learned from how many
// came together when it did. While they come one by one it tries again now and then, and
// more and more seldom. The zero value does not let them wait yet.
type habit struct {
	trust int // above 0 messages wait
	skip  int // how many messages do not wait before the next try
	pause int // what skip was last
}

const (
	// company is from how many messages at once on it has paid to wait: with two a
	// session of few calls at a time loses more than it gains.
	company   = 3
	mostTrust = 32

	firstPause = 16
	lastPause  = 256
)

// waits reports whether a message is to wait for others.
func (h *habit) waits() bool {
	if h.trust > 0 {
		return true
	}
	if h.pause == 0 {
		h.rest(firstPause)
	}
	h.skip--
	return h.skip < 0
}

// learn is told how many messages were written at once after they were let wait.
func (h *habit) learn(messages int) {
	switch {
	case messages >= company:
		h.trust = min(h.trust+2, mostTrust)
		h.pause = firstPause
	case h.trust == 0:
		h.rest(min(2*h.pause, lastPause))
	case messages == 1:
		if h.trust--; h.trust == 0 {
			h.rest(h.pause)
		}
	}
}

// rest lets so many messages not wait.
func (h *habit) rest(messages int) { h.skip, h.pause = messages, messages }
