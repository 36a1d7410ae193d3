package main

import (
	"bytes"
	"regexp"
	"sync"
)

var addressPattern = regexp.MustCompile(`ws://[^\s"]+`)

// watched keeps what is written to it, for others to wait for.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed with the next write
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more != nil {
		close(w.more)
		w.more = nil
	}
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// find returns what was written and matches, "" for nothing, and when to look again.
func (w *watched) find(pattern *regexp.Regexp) (string, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more == nil {
		w.more = make(chan struct{})
	}
	return pattern.FindString(w.text.String()), w.more
}

// until waits for text that matches and returns it, "" when there is none at the end.
func (w *watched) until(pattern *regexp.Regexp, ended <-chan struct{}) string {
	for {
		text, more := w.find(pattern)
		if text != "" {
			return text
		}
		select {
		case <-more:
		case <-ended:
			text, _ := w.find(pattern)
			return text
		}
	}
}
